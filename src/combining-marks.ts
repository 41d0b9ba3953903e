import { LIMITS } from "./limits.js";

/** The lookbehind matches only at the start of a run: else the search would start again at each mark of a long run. */
const TOO_MANY = new RegExp(`(?<!\\p{M})\\p{M}{${LIMITS.text.combiningMarks + 1}}`, "u");

/**
 * Whether more combining marks follow each other than any language needs (UAX #15, Stream-Safe). The service refuses
 * such a text: NFC takes time in the square of a run's length.
 */
export const hasTooManyMarks = (text: string): boolean => TOO_MANY.test(text);
