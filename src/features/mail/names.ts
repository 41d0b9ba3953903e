import { oneLine } from "./letter.js";

/*
 * Inviters choose the names that our mails contain: a name such as "Prize: evil.example" must not become a link. Mail
 * programs turn much more than web addresses into links, so a name counts as a link if it has a colon, a dot or an at
 * sign before a letter or digit, or as many digits as a telephone number.
 */
const DOTS = ".\u2024\u3002\uFE52\uFF0E\uFF61";
const LINK_LIKE = new RegExp(`[${DOTS}@\uFE6B\uFF20:\uFE55\uFF1A](?=[\\p{L}\\p{N}/\\\\])|//|\\\\\\\\`, "gu");
const WWW = /(?<![\p{L}\p{N}])www(?=[\p{P}\p{S}])/iu;
const TELEPHONE_DIGITS = 7;
/** Begins a word that mail programs decode in a subject (RFC 2047): what it says then is not what was checked here. */
const ENCODED_WORD = "=?";

/** A letter of another script than Latin, or an emoji. Some letters are invisible. */
const SHAPED =
  "(?!\\p{Script=Latin}|\\p{Default_Ignorable_Code_Point})[\\p{L}\\p{M}\\p{Extended_Pictographic}\\p{Emoji_Modifier}]";
/** After it, such a character chooses its form, and belongs to the spelling. */
const FORM = `(?<=${SHAPED}\\p{Variation_Selector}?)[\\p{Join_Control}\\p{Variation_Selector}]`;
const INVISIBLE = new RegExp(`(?!${FORM})\\p{Default_Ignorable_Code_Point}`, "gu");

/** A name on one line, without other invisible characters, which could hide a link from this check. */
const removeInvisible = (name: string): string => oneLine(name.replaceAll(INVISIBLE, ""));

/** The name on one line, for a subject; null if a mail program could turn it into a link or decode it. */
export function nameForSubject(name: string): string | null {
  const read = removeInvisible(name);
  const digits = read.replaceAll(/\P{Nd}/gu, "").length;
  const isLinkLike = read.search(LINK_LIKE) >= 0 || WWW.test(read) || digits >= TELEPHONE_DIGITS;
  return isLinkLike || read.includes(ENCODED_WORD) ? null : read;
}

/** Letters that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

/**
 * The name on one line, with brackets around characters that would make it a link: `evil[.]example`, `https[:]//`. A
 * name with letters from right to left is isolated by invisible characters, so it does not move the words around it.
 */
export function nameForText(name: string): string {
  const text = removeInvisible(name).replaceAll(LINK_LIKE, (sign) => `[${sign}]`);
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}
