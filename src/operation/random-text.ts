import { randomInt } from "node:crypto";

export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** As many random letters and digits as have 256 bits. */
export const SECRET_LENGTH = 43;

/**
 * Random letters and digits, of almost 6 bits each. People copy secrets: many programs leave out a dash or underscore at
 * the end of a link, a double click selects only up to a dash, and commands take a word that begins with one as an option.
 */
export const randomText = (length: number): string =>
  Array.from({ length }, () => BASE62.charAt(randomInt(BASE62.length))).join("");
