import type { LIMITS } from "../limits.js";

/** The bounds of the HTTP server: `LIMITS.http`, but where a test gives smaller ones. */
export type HttpLimits = { readonly [Name in keyof typeof LIMITS.http]: number };
