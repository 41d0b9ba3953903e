import { hash } from "node:crypto";

/**
 * The hash that is stored in place of a secret, or of what only has to be recognised. A plain hash is enough for keys
 * and tokens: nobody can guess 190 or more random bits from it.
 */
export const sha256 = (text: string): Buffer<ArrayBuffer> => hash("sha256", text, "buffer");
