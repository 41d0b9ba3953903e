import type { Concept } from "./search-concepts.js";
import { FOLDED_MARKS, UNSPACED, fold } from "./search-fold.js";
import { isSign } from "./search-tsquery.js";

/** A place of a text that has something which was looked for. */
export interface Occurrence {
  readonly at: number;
  readonly concept: Concept;
}

/** Finds the places of a text that have what was looked for, in their order: of each concept the first few, a hundred in all. */
export type Finder = (text: string) => Occurrence[];

const OCCURRENCES_MAX = 100;
/** Of one concept: a word that stands in each line must not hide a rare one far behind. */
const OF_CONCEPT_MAX = 25;
/** Places that are looked at: a text made for it has one at every letter. */
const TRIES_MAX = 300;
/** Concepts have a few variants each; those of one that is the beginning of many words, up to twenty. */
const LEXEMES_MAX = 200;
/** What has a plain form: marks, Latin, Greek, Cyrillic and Arabic letters, digits, signs like letters, and their other forms. */
const FOLDED = new RegExp(
  String.raw`[${FOLDED_MARKS}\u00aa-\u052f\u0622-\u06cc\u06f0-\u06f9\u0966-\u096f\u0e33\u0e50-\u0e59\u0eb3` +
    String.raw`\u1e00-\u1fff\u2100-\u218f\ufb00-\ufdff\ufe70-\uffef\u{1d400}-\u{1d7ff}]`,
  "gu",
);
const UNSPACED_LETTER = new RegExp(`^${UNSPACED}`, "u");
/** What may follow the stem of a short word: more of it would be another word, as "google" is to "go". */
const SHORT_ENDING = /^\p{L}?(?:e|y|s|es|ed|er|ers|ing|ings|ies|ly)?$/u;
const SHORT = 3;
const ENDING_MAX = 6;

/**
 * A finder for concepts of a search. The index has stems, of which no text says where they stand, so a place counts that
 * begins like a part of a name or word, and ends not much later. In the worst case it marks a word that only looks alike.
 */
export function finderOf(concepts: readonly Concept[]): Finder {
  const owners = new Map<string, Sought>();
  for (const concept of concepts) {
    for (const { lexemes, way } of concept.variants) {
      // The signs of a name stand elsewhere, too; in the text they stand as they were asked for.
      const parts = isSigned(lexemes) ? lexemes : [];
      for (const lexeme of parts.length > 0 ? [concept.text] : lexemes) {
        if (owners.size < LEXEMES_MAX && !owners.has(lexeme)) owners.set(lexeme, { concept, way, lexeme, parts });
      }
    }
  }
  const longestFirst = [...owners.values()].toSorted((one, other) => other.lexeme.length - one.lexeme.length);
  if (longestFirst.length === 0) return () => [];
  // Texts of one search leave out the same concepts, so few patterns are made.
  const patterns = new Map<string, RegExp>();
  const patternFor = (sought: readonly Sought[]): RegExp => {
    const source = sought.map(({ lexeme }) => `(${patternOf(lexeme)})`).join("|");
    const pattern = patterns.get(source) ?? new RegExp(source, "giu");
    patterns.set(source, pattern);
    return pattern;
  };
  return (text) => {
    const plain = plainOf(text);
    const found = occurrencesIn(plain.text, longestFirst, patternFor);
    return found.map(({ at, concept }) => ({ at: placeIn(plain, at), concept }));
  };
}

const isSigned = (lexemes: readonly string[]): boolean => lexemes.some(isSign) && !lexemes.every(isSign);

interface Sought {
  readonly concept: Concept;
  readonly way: Concept["variants"][number]["way"];
  readonly lexeme: string;
  /** What else is found where it is. */
  readonly parts: readonly string[];
}

function occurrencesIn(
  text: string,
  all: readonly Sought[],
  patternFor: (sought: readonly Sought[]) => RegExp,
): Occurrence[] {
  const found: Occurrence[] = [];
  const counts = new Map<Concept, number>();
  let [sought, pattern, at] = [all, patternFor(all), 0];
  for (let tries = 0; tries < TRIES_MAX && found.length < OCCURRENCES_MAX && sought.length > 0; tries++) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (!match) break;
    const [said] = match;
    const which = sought[match.findIndex((part, index) => index > 0 && part !== undefined) - 1];
    if (which && fits(text, match.index, said, which)) {
      at = pattern.lastIndex;
      for (const { concept } of [which, ...all.filter(({ lexeme }) => which.parts.includes(lexeme))]) {
        found.push({ at: match.index, concept });
        counts.set(concept, (counts.get(concept) ?? 0) + 1);
      }
      if ((counts.get(which.concept) ?? 0) >= OF_CONCEPT_MAX) {
        sought = sought.filter(({ concept }) => concept !== which.concept);
        pattern = patternFor(sought);
      }
    } else at = match.index + ((said.codePointAt(0) ?? 0) > 0xffff ? 2 : 1);
  }
  return found;
}

/** A stem as texts have it: with another last letter, or as a name whose parts are joined by signs. */
function patternOf(lexeme: string): string {
  const letters = [...lexeme].map((letter) => letter.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&"));
  const last = letters.at(-1);
  if (letters.length > 2 && last === "i") letters[letters.length - 1] = "[iy]";
  if (letters.length > SHORT && last === "e") letters[letters.length - 1] = "e?";
  return letters.join("[-_./]?");
}

function fits(text: string, at: number, said: string, { way, lexeme }: Sought): boolean {
  if (UNSPACED_LETTER.test(lexeme) || !/[\p{L}\p{N}]/u.test(lexeme)) return true;
  if (!beginsPart(text, at)) return false;
  if (way === "beginning" || way === "begun" || way === "name") return true;
  const rest = restOfPart(text, at + said.length);
  return lexeme.length <= SHORT ? SHORT_ENDING.test(rest) : rest.length <= ENDING_MAX;
}

/** Whether a word, or a part of a name such as getUserById, begins here. */
function beginsPart(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 1), at);
  if (!/[\p{L}\p{N}]/u.test(before) || UNSPACED_LETTER.test(before)) return true;
  const here = text.slice(at, at + 2);
  if (!/^\p{Lu}/u.test(here)) return /^\p{N}/u.test(here) !== /\p{N}/u.test(before);
  return !/\p{Lu}/u.test(before) || /^\p{Lu}\p{Ll}/u.test(here);
}

const restOfPart = (text: string, from: number): string =>
  /^(?:\p{Ll}|\p{M}|\p{Lu}(?!\p{Ll}))*/u.exec(text.slice(from, from + ENDING_MAX + 2))?.[0] ?? "";

interface PlainText {
  readonly text: string;
  /** Where a letter became longer or shorter: the place behind it in the plain text, and in the text as it was. */
  readonly shifts: ReadonlyArray<readonly [plain: number, at: number]>;
}

/** A text in its plain form, which may be shorter or longer. */
function plainOf(text: string): PlainText {
  const shifts: [number, number][] = [];
  let longer = 0;
  const plain = text.replace(FOLDED, (letter, at: number) => {
    const made = plainLetter(letter);
    if (made.length !== letter.length) {
      longer += made.length - letter.length;
      shifts.push([at + letter.length + longer, at + letter.length]);
    }
    return made;
  });
  return { text: plain, shifts };
}

/** Where a place of the plain text is in the text as it was. */
function placeIn({ shifts }: PlainText, place: number): number {
  const [plain, at] = shifts.findLast(([behind]) => behind <= place) ?? [0, 0];
  return at + place - plain;
}

const plainLetters = new Map<string, string>();
function plainLetter(letter: string): string {
  const known = plainLetters.get(letter);
  if (known !== undefined) return known;
  const made = fold(letter);
  plainLetters.set(letter, made);
  return made;
}
