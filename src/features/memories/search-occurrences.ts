import type { Concept } from "./search-concepts.js";
import { FOLDED_MARKS, UNSPACED, fold } from "./search-fold.js";
import { isSign } from "./search-tsquery.js";

/** A place of a text that has something which was looked for. */
export interface Occurrence {
  readonly at: number;
  readonly concept: Concept;
}

/**
 * Finds the places of a text that have what was looked for, in their order: of each concept the first few, a hundred in
 * all.
 */
export type Finder = (text: string) => Occurrence[];

const OCCURRENCES_MAX = 100;
/** Of one concept: a word that stands in each line must not hide a rare one far behind. */
const OF_CONCEPT_MAX = 25;
/** Letters that are compared for each letter of a text. Prose needs less than one; a text made for it any number. */
const COMPARED_PER_LETTER = 10;
/** By so many letters the places are found at which lexemes are compared. */
const BEGINNING_LENGTH = 4;
/** Joins the parts of a name, which the index has as one word. */
const JOINT = "[-_./]";
const IS_JOINT = new RegExp(JOINT);
/** Concepts have a few variants each; those of one that is the beginning of many words, up to twenty. */
const LEXEMES_MAX = 200;
/**
 * What has a plain form: marks, Latin, Greek, Cyrillic and Arabic letters, digits, signs like letters, and their other
 * forms.
 */
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
 * A finder for concepts of a search. The index has stems, and does not say where in a text they stand. So a place
 * counts if a name or word begins there like the stem, and ends not much later. At worst, this marks a word that only
 * looks alike.
 */
export function finderOf(concepts: readonly Concept[]): Finder {
  const owners = new Map<string, Sought>();
  for (const concept of concepts) {
    for (const { lexemes, way } of concept.variants) {
      // The signs of a name stand elsewhere, too; in the text they stand as they were asked for.
      const parts = isSigned(lexemes) ? lexemes : [];
      for (const lexeme of parts.length > 0 ? [concept.text] : lexemes) {
        if (owners.size < LEXEMES_MAX && !owners.has(lexeme))
          owners.set(lexeme, { concept, way, lexeme, letters: lettersOf(lexeme), parts });
      }
    }
  }
  if (owners.size === 0) return () => [];
  const longestFirst = [...owners.values()].toSorted((one, other) => other.letters.length - one.letters.length);
  const byFirst = groupsOf(longestFirst, ({ letters: [first = ""] }) => first);
  const sought: Beginnings = {
    pattern: new RegExp(byFirst.map(([, some]) => `(${beginningOf(some, 0)})`).join("|"), "giu"),
    lexemes: byFirst.map(([, some]) => some),
    all: longestFirst,
  };
  return (text) => {
    const plain = plainOf(text);
    return placedIn(plain, occurrencesIn(plain.text, sought, text.length * COMPARED_PER_LETTER));
  };
}

const isSigned = (lexemes: readonly string[]): boolean => lexemes.some(isSign) && !lexemes.every(isSign);

interface Sought {
  readonly concept: Concept;
  readonly way: Concept["variants"][number]["way"];
  readonly lexeme: string;
  readonly letters: readonly string[];
  /** What else is found where it is. */
  readonly parts: readonly string[];
}

interface Beginnings {
  /** Finds places at which lexemes may begin. It has a group for each of `lexemes`. */
  readonly pattern: RegExp;
  /** Lexemes with the same first letter, longest first. */
  readonly lexemes: ReadonlyArray<readonly Sought[]>;
  readonly all: readonly Sought[];
}

/** In the form in which letters are compared: the end of a Greek word has a letter of its own. */
const comparable = (text: string): string => text.toLowerCase().replaceAll("ς", "σ");
const lettersOf = (lexeme: string): string[] => [...comparable(lexeme)];

/** Whether texts may have a stem with another last letter, or without it. */
const isLoose = ({ length }: { readonly length: number }, last: string | undefined): boolean =>
  (last === "i" && length > 2) || (last === "e" && length > SHORT);

/**
 * A pattern for how lexemes begin, in which common beginnings stand once: so it takes about the same time for each
 * letter of any text. One for whole lexemes took minutes for a text that was made for it.
 */
function beginningOf(some: readonly Sought[], at: number): string {
  const ends = ({ letters }: Sought): boolean =>
    at >= letters.length || (at === letters.length - 1 && isLoose(letters, letters[at]));
  if (at === BEGINNING_LENGTH || some.some(ends)) return "";
  const sources = groupsOf(some, ({ letters }) => letters[at] ?? "").map(
    ([letter, those]) => letter.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&") + beginningOf(those, at + 1),
  );
  return `${at > 0 ? `${JOINT}?` : ""}(?:${sources.join("|")})`;
}

function groupsOf<Item>(items: readonly Item[], keyOf: (item: Item) => string): [string, Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups];
}

function occurrencesIn(text: string, { pattern, lexemes, all }: Beginnings, comparedMax: number): Occurrence[] {
  const lower = comparable(text);
  const comparing: Comparing = { text: lower.length === text.length ? lower : text, compared: 0 };
  const found: Occurrence[] = [];
  const counts = new Map<Concept, number>();
  pattern.lastIndex = 0;
  while (found.length < OCCURRENCES_MAX && comparing.compared < comparedMax) {
    const match = pattern.exec(text);
    if (!match) break;
    const { index: at } = match;
    const [said] = match;
    const candidates = lexemes[match.findIndex((part, group) => group > 0 && part !== undefined) - 1] ?? [];
    const hit = firstAt(comparing, at, { of: candidates, counts, text });
    pattern.lastIndex = hit?.end ?? at + ((said.codePointAt(0) ?? 0) > 0xffff ? 2 : 1);
    if (!hit) continue;
    const { which } = hit;
    for (const { concept } of [which, ...all.filter(({ lexeme }) => which.parts.includes(lexeme))]) {
      found.push({ at, concept });
      counts.set(concept, (counts.get(concept) ?? 0) + 1);
    }
  }
  return found;
}

interface Comparing {
  readonly text: string;
  /** How many letters were compared. */
  compared: number;
}

interface Candidates {
  readonly of: readonly Sought[];
  readonly counts: ReadonlyMap<Concept, number>;
  readonly text: string;
}

/** The longest of some lexemes that a place of a text has, and where it ends there. */
function firstAt(comparing: Comparing, at: number, { of, counts, text }: Candidates) {
  for (const which of of) {
    if ((counts.get(which.concept) ?? 0) >= OF_CONCEPT_MAX) continue;
    const end = endOf(which.letters, comparing, at);
    if (end !== undefined && fits(text, at, end, which)) return { which, end };
  }
  return undefined;
}

/**
 * Where a stem ends that a text has at a place: maybe with another last letter, or with joints, as the parts of a name.
 */
function endOf(letters: readonly string[], comparing: Comparing, at: number): number | undefined {
  const { text } = comparing;
  let end = at;
  for (let index = 0; index < letters.length; index++) {
    const letter = letters[index] ?? "";
    comparing.compared++;
    const isJoined = index > 0 && !text.startsWith(letter, end) && IS_JOINT.test(text.charAt(end));
    const place = isJoined ? end + 1 : end;
    if (text.startsWith(letter, place)) end = place + letter.length;
    else if (index < letters.length - 1 || !isLoose(letters, letter)) return undefined;
    else if (letter === "i" && text.charAt(place) === "y") end = place + 1;
    else return letter === "i" ? undefined : end;
  }
  return end;
}

function fits(text: string, at: number, end: number, { way, lexeme }: Sought): boolean {
  if (UNSPACED_LETTER.test(lexeme) || !/[\p{L}\p{N}]/u.test(lexeme)) return true;
  if (!beginsPart(text, at)) return false;
  if (way === "beginning" || way === "begun" || way === "name") return true;
  const rest = restOfPart(text, end);
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

/** The same where they are in the text as it was. They are in their order, as the shifts are. */
function placedIn({ shifts }: PlainText, found: readonly Occurrence[]): Occurrence[] {
  let passed = 0;
  return found.map(({ at: place, concept }) => {
    while ((shifts[passed]?.[0] ?? Infinity) <= place) passed++;
    const [plain, at] = shifts[passed - 1] ?? [0, 0];
    return { at: at + place - plain, concept };
  });
}

const plainLetters = new Map<string, string>();
function plainLetter(letter: string): string {
  const known = plainLetters.get(letter);
  if (known !== undefined) return known;
  const made = fold(letter);
  plainLetters.set(letter, made);
  return made;
}
