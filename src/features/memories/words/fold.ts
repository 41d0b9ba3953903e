const PLAIN_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ø: "o",
    Ø: "O",
    ł: "l",
    Ł: "L",
    đ: "d",
    Đ: "D",
    ı: "i",
    "™": " ",
    "℠": " ",
    ß: "ss",
    ẞ: "SS",
    æ: "ae",
    Æ: "Ae",
    œ: "oe",
    Œ: "Oe",
    // Arabic letters that people write for each other, and Persian forms of Arabic letters.
    "\u0649": "\u064a",
    "\u06cc": "\u064a",
    "\u06a9": "\u0643",
    "\u0629": "\u0647",
    "\u0671": "\u0627",
    // The digits of Arabic, Persian, Hindi and Thai.
    ...Object.fromEntries(
      [0x660, 0x6f0, 0x966, 0xe50].flatMap((zero) =>
        Array.from({ length: 10 }, (_, digit) => [String.fromCodePoint(zero + digit), String(digit)]),
      ),
    ),
  }),
);
const LETTERS = new RegExp(`[${[...PLAIN_LETTERS.keys()].join("")}]`, "g");

/**
 * Characters that folding removes, for the class of a regular expression: accents, Arabic and Hebrew vowels, invisible
 * characters.
 */
export const FOLDED_MARKS =
  String.raw`\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670` +
  String.raw`\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff`;
const MARKS = new RegExp(`[${FOLDED_MARKS}]+`, "g");

/**
 * Replaces each letter by its plain form, as the index has it: `fold_accents` of the migration `quick_folding` does
 * the same.
 */
export const fold = (text: string): string =>
  text
    .replace(LETTERS, (letter) => PLAIN_LETTERS.get(letter) ?? letter)
    .normalize("NFKD")
    .replace(MARKS, "")
    .normalize("NFC");

/**
 * Scripts without spaces between words, for the class of a regular expression: Chinese, Japanese and Korean, which have
 * many characters.
 */
const MANY = String.raw`\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\u{20000}-\u{3134f}`;
/** The same for Thai, Lao, Burmese and Khmer, which have few letters. */
const FEW = String.raw`\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff`;
/** A character of any of them, as a class of a regular expression. */
export const UNSPACED = `[${MANY}${FEW}]`;
/**
 * Runs of such characters. The index has each two neighbours in scripts of many characters, each three in those of few.
 */
export const NEIGHBOURS = { two: new RegExp(`[${MANY}]+`, "gu"), three: new RegExp(`[${FEW}]+`, "gu") };
const RUNS = new RegExp(`${UNSPACED}+`, "gu");

/** Puts spaces around runs of such characters, as the index does. */
export const setApart = (text: string): string => text.replace(RUNS, " $& ");
