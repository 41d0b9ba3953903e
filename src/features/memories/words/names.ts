import { LIMITS } from "../../../limits.js";
import { fold } from "./fold.js";
import { PARTICLES } from "./vocabulary.js";

/** A name whose signs matter, such as `c++`, `.net`, `--no-cache` or `3.5%`, or an operator such as `&&`. */
export interface SignedName {
  readonly text: string;
  readonly signs: readonly string[];
  /** A regular expression of PostgreSQL that finds it as it is written, in any case. */
  readonly pattern: string;
}

const LETTERS = /[\p{L}\p{N}]/u;
const SIGNS = /[^\p{L}\p{N}\p{M}\s]/gu;
/** Signs that prose has as well. */
const PROSE = /^(?:[-_./,:;'"()!?]|(?![!-~])\p{P})$/u;
const PUNCTUATION = /^(?:[-.,;!?'"()]|(?![!-~])\p{P})+$/u;
/** Quotes and punctuation around a word in a sentence, except brackets. */
const AROUND = /^(?:["'`]|(?![!-~])\p{P})+|(?<!["'`.,:;!?]|(?![!-~])\p{P})(?:["'`.,:;!?]|(?![!-~])\p{P})+$/gu;
const NAME_MAX = 200;
const BRACKETS = ["()", "[]", "{}"] as const;

/**
 * The names with signs in a text, folded. Signs that only join words, as in `node.js`, `src/app.ts` and "don't", do not
 * count: the index has such names as one word.
 */
export function signedNamesOf(text: string): SignedName[] {
  const isAlone = !LETTERS.test(text);
  const terms = (text.toLowerCase().match(/\S+/g) ?? [])
    .filter(({ length }) => length <= NAME_MAX)
    .map((term) => (isAlone ? term : withoutProse(term)));
  const names = new Map(terms.map((term) => [fold(term).trim(), term]));
  return [...names]
    .filter(([name]) => name.length <= NAME_MAX && (isAlone || !PUNCTUATION.test(name)))
    .filter(([name]) => withoutJoints(name).search(SIGNS) >= 0)
    .slice(0, LIMITS.search.names)
    .map(([name, written]) => ({
      text: name,
      signs: [...new Set(name.match(SIGNS))],
      pattern: [...new Set([name, written])].map(patternOf).join("|"),
    }));
}

/** Whether a sign is distinctive: prose does not have it. */
export const isTelling = (sign: string): boolean => !PROSE.test(sign);

/**
 * Removes quotes, punctuation at the end of a sentence, and brackets that are around the term or have no other half.
 */
function withoutProse(term: string): string {
  let [text, before] = [term, ""];
  while (text !== before) {
    before = text;
    text = text.replace(AROUND, "") || text;
    for (const [open = "", close = ""] of BRACKETS) {
      const [begins, ends] = [text.startsWith(open), text.endsWith(close)];
      if (begins && (ends || !text.includes(close))) text = text.slice(1);
      if (ends && (begins || !text.includes(open))) text = text.slice(0, -1);
    }
  }
  return text || term;
}

/**
 * A pattern for any form of a number, each of letters, digits and spaces, where these stand side by side and not within
 * a longer number: "5,000" is none of "5,000,000", but it is in "5000,5001", ":5000" and "5,000.00", and "14:05" in
 * "14:05:33" and "T14:05Z". It does not look behind: for two characters that takes PostgreSQL 20 times as long.
 */
export function patternOfForms(forms: readonly string[], isTime: boolean): string {
  const spelt = forms.map((form) => form.replaceAll(" ", "[^a-z0-9]{0,2}"));
  const any = [...new Set(isTime ? spelt.map(spellTime) : spelt)].join("|");
  return isTime
    ? `(?:^|[^a-z0-9.,:]|(?:^|[^0-9])[.,:]|[0-9]t)(?:${any})(?:$|[^a-z0-9.,]|[.,](?:$|[^0-9]))`
    : `(?:^|[^a-z0-9.,]|(?:^|[^0-9]|[0-9]{4})[.,])(?:${any})(?:$|[^a-z0-9.,]|[.,](?:[0-9]{0,2}(?:$|[^0-9])|[0-9]{4}))`;
}

/**
 * A pattern for any of some names of one word or several, in any English form: "oom" and "out of memory", "login" and
 * "logged in", "gc" and "garbage collectors"; also in camelCase, as in "OutOfMemoryError". It need not be exact: a text
 * has the words of a name anyway. But there are too many words that begin like a name of two letters, such as "process"
 * for "pr".
 */
export const patternOfNames = (names: readonly string[]): string => names.map(patternOfWords).join("|");

const BEFORE_WORD = "(?:^|[^a-z0-9])";
const AFTER_WORD = "(?:$|[^a-z0-9])";
const ENDING = "[a-z]{0,4}";
const PARTICLE = new RegExp(`^(?:${PARTICLES})$`);

/** A pattern for a word in capitals, the only one that tells them from other letters. */
export const patternOfInitials = (word: string): string =>
  `(?c)(?:^|[^A-Za-z0-9])${word.toUpperCase()}(?:$|[^A-Za-z0-9])`;

function patternOfWords(name: string): string {
  const [first = "", ...others] = name.split(" ");
  const last = others.pop();
  if (last === undefined) return patternOfWord(first);
  const inner = others.map((word) => (word.length > 3 ? word + ENDING : word));
  const end = PARTICLE.test(last) ? last + AFTER_WORD : last.slice(0, Math.max(4, last.length - 3));
  return BEFORE_WORD + [withoutEnd(first) + ENDING, ...inner, end].join("[^a-z0-9]{0,3}");
}

function patternOfWord(word: string): string {
  if (word.length > 3) return withoutEnd(word);
  return BEFORE_WORD + (word.length > 2 ? word : `${word}s?${AFTER_WORD}`);
}

/**
 * A pattern for words side by side. Of those in a list, each will do, and up to two short words may follow, as in "not
 * yet been paid". Only those that `inflects` may have other endings: "not found" is in neither "notes found" nor
 * "nothing found", but "no error" is in "no errors". Texts are compared as they are stored, so each letter may have an
 * accent.
 */
export function patternOfPhrase(
  words: ReadonlyArray<string | readonly string[]>,
  inflects: (word: string) => boolean,
): string {
  const patternOfOne = (word: string): string => {
    const [begin, end] = inflects(word) ? [word.slice(0, Math.max(4, word.length - 3)), endingOf(word)] : [word, ""];
    return begin.replace(/[a-z]/g, `[$&${ACCENTED}]`).replace(/[еиіуα-ω]/g, `[$&${ACCENTED_OTHERS}]`) + end;
  };
  const patterns = words.map((word) =>
    typeof word === "string"
      ? patternOfOne(word)
      : `(?:${word.map(patternOfOne).join("|")})(?:${APART}{1,3}[${LETTER}]{1,7}){0,2}`,
  );
  return `(?:^|${APART})${patterns.join(`${APART}{1,3}`)}(?:$|${APART})`;
}

/** Latin letters with accents. */
const ACCENTED = "À-ſ";
/** Cyrillic and Greek letters that folding turns into others. */
const ACCENTED_OTHERS = "йё-џΐά-ΰϊ-ώ";
/** Latin, Greek and Cyrillic letters. */
const LETTER = `a-z${ACCENTED}Ͱ-џ`;
const APART = `[^${LETTER}0-9]`;
const endingOf = ({ length }: string): string => (length > 3 ? `[${LETTER}]*` : "s?");

/** Without what some of its forms lack: "throttling", "timing out", "carried over". */
const withoutEnd = (word: string): string => word.replace(/(?<=...)[ey]$/, "");

/** With what a time may have besides, as in "5 p.m.", "17 h 30" and "14:05Z". */
const spellTime = (form: string): string =>
  form
    .replace(/m$/, "[.]?m")
    .replace(/(?<=\d)h(?=\d)/, "[^a-z0-9]?h[^a-z0-9]?")
    .replace(/(?<=\d)$/, "z?");

const withoutJoints = (name: string): string =>
  name
    .replace(/(?<=[\p{L}\p{N}])[-_/'’]+(?=[\p{L}\p{N}])/gu, "")
    .replace(/(?<=\p{L})\.(?=[\p{L}\p{N}])|(?<=\p{N})\.(?=\p{L})/gu, "");

/**
 * A pattern that does not match within a longer name: not next to a letter if the name begins or ends with a letter,
 * nor within a longer number, nor next to the same sign.
 */
function patternOf(name: string): string {
  const escaped = Array.from(name, (letter) => (/[!-/:-@[-`{-~]/.test(letter) ? `\\${letter}` : letter));
  const [first = "", last = ""] = [escaped[0], escaped.at(-1)];
  const besides = (letter: string) => (LETTERS.test(letter) ? "[a-z0-9]" : letter);
  // What reads one character behind is quick, see `patternOfForms`.
  const before = /^\d/.test(first) ? "(?:^|[^a-z0-9.,]|(?:^|[^0-9])[.,])" : `(?<!${besides(first)})`;
  const after = /^\d/.test(last) ? "[a-z0-9]|[.,][0-9]" : besides(last);
  // "3.5%" is also "3,5 %".
  const written = escaped
    .join("")
    .replace(/(?<=\d)(?:\\[.]|\\,)(?=\d)/g, "[.,]")
    .replace(/(?<=\d)\\%$/, " ?%");
  return `${before}${written}(?!${after})`;
}
