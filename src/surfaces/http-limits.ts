import type { LIMITS } from "../limits.js";

/** The limits of the HTTP server: `LIMITS.http`, or smaller ones in tests. */
export type HttpLimits = { readonly [Name in keyof typeof LIMITS.http]: number };
