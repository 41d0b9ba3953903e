import type { Concept } from "../words/concepts.js";
import { FOLDED_MARKS, UNSPACED, fold } from "../words/fold.js";
import { isSign } from "../words/tsquery.js";

/** A place in a text that has a concept of the query. */
export interface Occurrence {
  readonly at: number;
  readonly concept: Concept;
}

/**
 * Finds the places in a text that have a concept of the query, in order: of each concept the first few, a hundred in
 * all, and further ones that are next to one of these.
 */
export type Finder = (text: string) => Occurrence[];

const OCCURRENCES_MAX = 100;
/** The same for one concept: a word that stands in each line must not hide a rare one further down. */
const OF_CONCEPT_MAX = 25;
/** How far apart places are next to each other, in UTF-16 units: both have room in a snippet. */
const NEAR = 200;
/**
 * How many letters are compared for each letter of a text. Prose needs less than one, a text made to be slow any
 * number.
 */
const COMPARED_PER_LETTER = 10;
/**
 * One place is looked at for so many letters of a text, and at least `OCCURRENCES_MAX` in all. Prose and logs have
 * fewer; a text of one repeated letter has five times as many, each of which takes a microsecond.
 */
const LETTERS_PER_PLACE = 10;
/** Lexemes are compared only at places where this many of their first letters match. */
const BEGINNING_LENGTH = 4;
/** The signs that join the parts of a name; the index has such a name as one word. */
const JOINT = "[-_./]";
const IS_JOINT = new RegExp(JOINT);
/** Most concepts have a few variants; a concept that is the beginning of many words has up to twenty. */
const LEXEMES_MAX = 200;
/**
 * Characters that have a plain form: marks; Latin, Greek, Cyrillic and Arabic letters; digits; symbols like letters;
 * compatibility forms.
 */
const FOLDED = new RegExp(
  String.raw`[${FOLDED_MARKS}\u00aa-\u052f\u0622-\u06cc\u06f0-\u06f9\u0966-\u096f\u0e33\u0e50-\u0e59\u0eb3` +
    String.raw`\u1e00-\u1fff\u2100-\u218f\ufb00-\ufdff\ufe70-\uffef\u{1d400}-\u{1d7ff}]`,
  "gu",
);
const UNSPACED_LETTER = new RegExp(`^${UNSPACED}`, "u");
/** What may follow the stem of a short word. With a longer ending it is another word, as "google" is not "go". */
const SHORT_ENDING = /^\p{L}?(?:e|y|s|es|ed|er|ers|ing|ings|ies|ly)?$/u;
const SHORT = 3;
const NUMBER_GOES_ON = /^\p{N}{2}$/u;
const ENDING_MAX = 6;

/**
 * Makes a finder for the concepts of a search. The index has stems, and does not say where in a text they stand. So a
 * place counts if a name or word begins there like the stem, and ends not much later. At worst, this marks a word that
 * only looks alike.
 */
export function finderOf(concepts: readonly Concept[]): Finder {
  const owners = new Map<string, Sought>();
  for (const concept of concepts) {
    for (const { lexemes, way } of concept.variants) {
      // The signs of a name also stand elsewhere in a text, so the name is looked for as it was written in the query.
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
  /** The lexemes that are found together with it. */
  readonly parts: readonly string[];
}

interface Beginnings {
  /** Finds places at which lexemes may begin. It has one group for each list of `lexemes`. */
  readonly pattern: RegExp;
  /** Lexemes with the same first letter, longest first. */
  readonly lexemes: ReadonlyArray<readonly Sought[]>;
  readonly all: readonly Sought[];
}

/** The form in which letters are compared. Greek has another letter for a sigma at the end of a word. */
const comparable = (text: string): string => text.toLowerCase().replaceAll("ς", "σ");
const lettersOf = (lexeme: string): string[] => [...comparable(lexeme)];

/** Whether a text may have the stem with another last letter, or without its last letter. */
const isLoose = ({ length }: { readonly length: number }, last: string | undefined): boolean =>
  (last === "i" && length > 2) || (last === "e" && length > SHORT);

/**
 * A pattern for the beginnings of lexemes, as a trie: common beginnings stand once, so matching takes about the same
 * time for each letter of any text. A pattern of whole lexemes took minutes for a text made to be slow.
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
  const comparing: Comparing = { text, lower: comparable(text), compared: 0 };
  const found: Occurrence[] = [];
  const counted = new Set<Occurrence>();
  const counts = new Map<Concept, number>();
  const countedMax = Math.min(OCCURRENCES_MAX, OF_CONCEPT_MAX * new Set(all.map(({ concept }) => concept)).size);
  let last = -Infinity;
  pattern.lastIndex = 0;
  let places = Math.max(OCCURRENCES_MAX, text.length / LETTERS_PER_PLACE);
  while (comparing.compared < comparedMax && places-- > 0) {
    const match = pattern.exec(text);
    if (!match) break;
    const { index: at } = match;
    if (counted.size === countedMax && at > last + NEAR) break;
    const [said] = match;
    const candidates = lexemes[match.findIndex((part, group) => group > 0 && part !== undefined) - 1] ?? [];
    const hit = firstAt(comparing, at, candidates);
    pattern.lastIndex = hit?.end ?? at + ((said.codePointAt(0) ?? 0) > 0xffff ? 2 : 1);
    if (!hit) continue;
    const { which } = hit;
    for (const { concept } of [which, ...all.filter(({ lexeme }) => which.parts.includes(lexeme))]) {
      const place = { at, concept };
      found.push(place);
      const count = counts.get(concept) ?? 0;
      if (count === OF_CONCEPT_MAX || counted.size === countedMax) continue;
      counts.set(concept, count + 1);
      counted.add(place);
      last = at;
    }
  }
  const kept = new Set([...counted, ...firstAfter(found, counted), ...firstAfter(found.toReversed(), counted)]);
  return found.filter((place) => kept.has(place));
}

/** After each counted place, in the order given: the first other place of each concept, if it is near. */
function* firstAfter(places: readonly Occurrence[], counted: ReadonlySet<Occurrence>): Generator<Occurrence> {
  let last = -Infinity;
  const concepts = new Set<Concept>();
  for (const place of places) {
    if (counted.has(place)) {
      last = place.at;
      concepts.clear();
    } else if (Math.abs(place.at - last) <= NEAR && !concepts.has(place.concept)) {
      concepts.add(place.concept);
      yield place;
    }
  }
}

interface Comparing {
  readonly text: string;
  /** The text in the form in which letters are compared, at the same places. */
  readonly lower: string;
  /** How many letters were compared. */
  compared: number;
}

/** The first of the lexemes, which is the longest, that the text has at a place, and where it ends. */
function firstAt(comparing: Comparing, at: number, candidates: readonly Sought[]) {
  for (const which of candidates) {
    const end = endOf(which.letters, comparing, at);
    if (end !== undefined && fits(comparing.text, at, end, which)) return { which, end };
  }
  return undefined;
}

/**
 * Where the stem ends if the text has it at a place; undefined if not. The text may have another last letter, or joints
 * between letters, as in a name of several parts.
 */
function endOf(letters: readonly string[], comparing: Comparing, at: number): number | undefined {
  const { lower: text } = comparing;
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
  if (NUMBER_GOES_ON.test(text.slice(end - 1, end + 1))) return false;
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
  /**
   * Where the plain form of a letter is longer or shorter: the place after it in the plain text, and in the original
   * text.
   */
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

/** Converts places in the plain text to places in the original text. Both lists are in the order of the text. */
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
