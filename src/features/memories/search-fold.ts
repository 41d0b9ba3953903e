const PLAIN_LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ ø: "o", Ø: "O", ł: "l", Ł: "L", đ: "d", Đ: "D", ı: "i", "™": " ", "℠": " " },
    ...{ ß: "ss", ẞ: "SS", æ: "ae", Æ: "Ae", œ: "oe", Œ: "Oe" },
  }),
);
const LETTERS = new RegExp(`[${[...PLAIN_LETTERS.keys()].join("")}]`, "g");

/** Marks that may be left out, as a part of a class: accents, Arabic and Hebrew vowels, characters that are not seen. */
export const FOLDED_MARKS =
  String.raw`\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670` +
  String.raw`\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff`;
const MARKS = new RegExp(`[${FOLDED_MARKS}]+`, "g");

/** Each letter in its plain form, as the index has it: `fold_accents` of the migration `search_names` does the same. */
export const fold = (text: string): string =>
  text
    .replace(LETTERS, (letter) => PLAIN_LETTERS.get(letter) ?? letter)
    .normalize("NFKD")
    .replace(MARKS, "")
    .normalize("NFC");
