import { oneLine } from "./letter.js";

/*
 * Names are written by whoever invites, and stand in a mail that comes from us: a name such as "Prize: evil.example"
 * must not become a link in it. Mail programs make links of much more than web addresses, so a name counts as a link
 * when it has a scheme, a dot or an at sign before a letter or digit, or as many digits as a telephone number.
 */
const DOTS = ".\u2024\u3002\uFE52\uFF0E\uFF61";
const LINK_LIKE = new RegExp(`[${DOTS}@\uFE6B\uFF20:\uFE55\uFF1A](?=[\\p{L}\\p{N}/\\\\])|//|\\\\\\\\`, "gu");
const WWW = /(?<![\p{L}\p{N}])www(?=[\p{P}\p{S}])/iu;
const TELEPHONE_DIGITS = 7;

/** A name on one line, as it is read: without characters that nobody sees, which hide what it says from this check. */
const asRead = (name: string): string => oneLine(name.replaceAll(/\p{Default_Ignorable_Code_Point}+/gu, ""));

/** The name on one line if it may stand in a subject, which no program then makes a link of; else null. */
export function nameForSubject(name: string): string | null {
  const read = asRead(name);
  const digits = read.replaceAll(/\P{Nd}/gu, "").length;
  const isLinkLike = read.search(LINK_LIKE) >= 0 || WWW.test(read) || digits >= TELEPHONE_DIGITS;
  return isLinkLike ? null : read;
}

/** The name on one line, with what would make a link of it in brackets: `evil[.]example`, `https[:]//`. */
export const nameForText = (name: string): string => asRead(name).replaceAll(LINK_LIKE, (sign) => `[${sign}]`);
