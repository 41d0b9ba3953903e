import { LIMITS } from "../../../limits.js";
import { type Apart, namesApart, wordsApart } from "./apart.js";
import { type Lexicon, EVERY_MEMORY, findAlike, findFurther } from "./alike.js";
import { formsOf, hasForms } from "./endings.js";
import { COMMON_WORDS, inflectionsOf, languagesIn, mayInflect } from "./inflections.js";
import type { Modifier } from "./modifiers.js";
import { isTelling, patternOfInitials, patternOfNames, patternOfPhrase } from "./names.js";
import type { Piece } from "./piece.js";
import type { SearchQuery } from "./query.js";
import type { QueryWord } from "./query-word.js";
import type { ShortenedName } from "./word-runs.js";
import { TITLE, TYPE } from "./tsquery.js";
import type { TUNING } from "./tuning.js";
import { LISTING } from "./vocabulary.js";
import {
  type Alike,
  type Known,
  findVariants,
  fitsLexicon,
  keyOf,
  sortAlike,
  variantOfAlike,
  variantsOf,
} from "./variants.js";

/** Words of the index that a memory must have together, and how many memories are expected to have them. */
export interface Variant {
  /** As people write it. */
  readonly text: string;
  readonly lexemes: readonly string[];
  readonly way: keyof typeof TUNING.ways;
  readonly documents: number;
}

/** One thing that a query asks for, and all variants that may stand for it. */
export interface Concept {
  readonly text: string;
  readonly variants: readonly Variant[];
  /** Its weight in the score: the fewer memories have it, the higher. */
  readonly weight: number;
  /**
   * The share of the weight for words that it only begins, for forms with other stems, and for the parts of a name
   * elsewhere: counting these, more memories have it, so it tells less.
   */
  readonly besideShare: number;
  /** Whether it is a name as a whole: it scores in addition to its parts, but a memory need not have it. */
  readonly isExtra: boolean;
  /** Whether any memory is known to have it. */
  readonly isKnown: boolean;
  /** Its place among all words of the query, with those that are not looked up. */
  readonly position?: number;
}

/** A name whose signs matter, a number of several parts or a phrase, as memories of the graph may have it. */
export interface FoundName {
  /** A regular expression of PostgreSQL that finds it as it is written. */
  readonly pattern: string;
  /** The concepts that it is made of; if they are stop words, the name itself. */
  readonly parts: readonly Concept[];
  /** Concepts for the whole name, to look up in the index. */
  readonly wholes: readonly Concept[];
}

/** A word of the query that the lexicon lacks, and what is looked for instead. */
export interface TakenWord {
  readonly word: string;
  readonly takenAs: readonly Variant[];
}

export interface Concepts {
  readonly concepts: readonly Concept[];
  readonly names: readonly FoundName[];
  readonly unknown: readonly TakenWord[];
  /** The words that are worth a look by their parts: these names in any case, these words if nothing is found. */
  readonly apart: { readonly names: Apart; readonly words: Apart };
  readonly memories: number;
}

/** A word that more memories have is not looked up in other forms: some would be other words, as "date" for "data". */
const ENOUGH = 20;

/** Looks up the words of a query in a graph, and the words of the graph that may be meant. */
async function lookUp(query: SearchQuery, lexicon: Lexicon) {
  const pieces = piecesOf(query);
  const rows = pieces.length > 0 ? await lexicon.words(pieces) : [];
  const known = new Map(rows.map((row) => [keyOf(pieces[row.place - 1]), row]));
  const words = query.words.filter(({ piece }) => (known.get(keyOf(piece))?.lexemes.length ?? 0) > 0);
  const written = new Map(words.map((word) => [word, variantsOf(word, known)]));
  const unknown = words.filter((word) => !written.get(word)?.some(({ isKnown }) => isKnown));
  const signs = query.signed.flatMap((name) => name.signs).filter(isCounted);
  const inflected = words.filter(({ text }) => hasForms(text)).slice(0, LIMITS.search.inflected);
  const begun = query.lastName && !known.get(keyOf(query.lastName))?.known ? query.lastName : undefined;
  const forms = new Map(inflected.map(({ text }) => [text, formsOf(text)]));
  const rare = words.filter((word) => !written.get(word)?.some(({ documents }) => documents > ENOUGH));
  const inflectable = rare.filter(({ text }) => mayInflect(text)).slice(0, LIMITS.search.inflected);
  const languageWords = inflectable.length > 0 ? COMMON_WORDS : [];
  const halves = await findAlike({ words, unknown, begun, known, signs, forms, languageWords }, lexicon);
  const near = sortAlike(halves);
  const languages = languagesIn((word) => near.spelt.has(word));
  const inflections = new Map(inflectable.map(({ text }) => [text, inflectionsOf(text, languages)]));
  const alike = sortAlike([...halves, ...(await findFurther({ unknown, inflections }, near, lexicon))]);
  const memories = rows[0]?.memories ?? alike.spelt.get(EVERY_MEMORY)?.documents ?? 0;
  const isFound = ({ inOtherScripts }: QueryWord): boolean =>
    inOtherScripts.some((pairs) => pairs.every((pair) => alike.spelt.has(pair)));
  return {
    words,
    typed: new Set(words.filter(({ types }) => types.some((type) => alike.spelt.has(TYPE + type)))),
    unknown: unknown.filter((word) => !isFound(word)),
    begun,
    known,
    alike,
    forms,
    inflections,
    memories,
  };
}

/**
 * The words of a query whose stem another one has, so that "allocated" after "allocate" does not count twice. Only the
 * last word may be the beginning of others, so it counts.
 */
function repeatedAmong(words: readonly QueryWord[], known: Known): ReadonlySet<QueryWord> {
  const stemOf = ({ text, piece }: QueryWord): string =>
    /^\p{L}+$/u.test(text) ? (known.get(keyOf(piece))?.lexemes.join(" ") ?? "") : "";
  const ofStem = new Map<string, QueryWord>();
  for (const word of words) if (word.isLast || !ofStem.has(stemOf(word))) ofStem.set(stemOf(word), word);
  return new Set(words.filter((word) => !word.isPair && stemOf(word) !== "" && ofStem.get(stemOf(word)) !== word));
}

/** Finds out what the words of a query stand for in a graph. */
export async function resolve(query: SearchQuery, lexicon: Lexicon): Promise<Concepts> {
  const { words, typed, unknown, begun, memories, ...meant } = await lookUp(query, lexicon);
  const { known, alike } = meant;
  const named = alike.longer.get(begun?.text ?? "") ?? [];
  const all = limitVariants(
    words.map((word) => {
      const isUnknown = unknown.includes(word) && !typed.has(word);
      return findVariants(word, { ...meant, isUnknown, named: word.isLast ? named : [] });
    }),
  );
  const isKnown = (word: QueryWord, found: readonly Variant[]): boolean => !unknown.includes(word) || found.length > 1;
  const subjects = words.flatMap((word, place) =>
    typed.has(word) || LISTING.has(word.text) ? [] : [isKnown(word, all[place] ?? [])],
  );
  // If no memory has the subject of "election problems", those of the type are about something else.
  const areTypesMeant = subjects.length === 0 || subjects.includes(true);
  const variants = areTypesMeant ? all : all.map((some) => some.filter(({ way }) => way !== "type"));
  const repeated = repeatedAmong(words, known);
  const concepts = words.map((word, place) => {
    const found = variants[place] ?? [];
    const concept = conceptOf(word.text, found, memories, word.parts.length > 0 || isTypeToo(word, found, known));
    return {
      ...concept,
      ...(repeated.has(word) && { weight: 0 }),
      isKnown: isKnown(word, found),
      position: word.position,
    };
  });
  const wordsFound = words.map((word, place) => ({
    word,
    variants: variants[place] ?? [],
    isKnown: known.get(keyOf(word.piece))?.known === true,
  }));
  const resolved = { concepts, known, alike, memories };
  const names = [...findNames(query, resolved), ...findBegunName(begun, resolved)];
  const signed = query.signed.flatMap((name) => findSignedName(name, resolved));
  const numbers = query.numbers.flatMap((number) => findNumber(number, resolved));
  // The forms of a number are worth the same with its signs and without.
  const inNumbers = new Set(numbers.flatMap(({ parts }) => parts));
  const quoted = query.quoted.flatMap((phrase) => findQuoted(phrase, resolved));
  const meanings = query.shortened.map((name) => ({ words: name.words, found: findShortened(name, resolved) }));
  const shortened = meanings.flatMap(({ found }) => found);
  // "set up" is also "setup", in which no word stands beside another.
  const inShortened = meanings.flatMap(({ words: run, found }) =>
    found.length > 0 ? run.map(({ text }) => text) : [],
  );
  const modified = query.modifiers
    .filter(({ forms }) => !forms.some((word) => inShortened.includes(word)))
    .flatMap((place) => findModified(place, resolved));
  const others = signed.filter(({ parts }) => !parts.every((part) => inNumbers.has(part)));
  return {
    concepts: [...concepts, ...names, ...signed.flatMap(({ wholes }) => wholes)],
    names: [...quoted, ...numbers, ...others, ...shortened, ...modified, ...findInitials(query, resolved)].slice(
      0,
      LIMITS.search.names,
    ),
    unknown: unknown
      .filter(fitsLexicon)
      .slice(0, LIMITS.search.unknownWords)
      .map((word) => ({ word: word.text, takenAs: insteadOf(variants[words.indexOf(word)] ?? []) })),
    apart: { names: namesApart(wordsFound), words: wordsApart(wordsFound) },
    memories,
  };
}

/** Whether memories have the word, and others are of the type that it names. */
const isTypeToo = ({ piece }: QueryWord, variants: readonly Variant[], known: Known): boolean =>
  known.get(keyOf(piece))?.known === true && variants.some(({ way }) => way === "type");

/** What an unknown word was taken as; the first variant is the word itself. */
const insteadOf = ([, ...others]: readonly Variant[]): Variant[] => others.slice(0, LIMITS.search.takenAs);

/**
 * Keeps the first variants of each word. PostgreSQL looks up each in several places, and a graph may have all words that
 * are near to those of a query. So there is a limit for all words together, by which those with most variants lose some.
 */
function limitVariants(all: ReadonlyArray<readonly Variant[]>): Variant[][] {
  let most = Math.max(1, ...all.map(({ length }) => length));
  while (sum(all.map(({ length }) => Math.min(length, most) - 1)) > LIMITS.search.variants) most--;
  return all.map((variants) => variants.slice(0, most));
}

interface Resolved {
  readonly concepts: readonly Concept[];
  readonly known: Known;
  readonly alike: Alike;
  readonly memories: number;
}

/** Concepts for the names of a query, in addition to those of their parts. */
function findNames({ names }: SearchQuery, { concepts, known, memories }: Resolved): Concept[] {
  return names.flatMap((piece) => {
    const row = known.get(keyOf(piece));
    if (!row?.known || row.lexemes.length === 0) return [];
    const { text } = piece;
    const variant: Variant = { text, lexemes: row.lexemes, way: "word", documents: Math.max(1, row.documents) };
    // In a query without other concepts, a name of stop words such as "and/or" is required.
    return [{ ...conceptOf(text, [variant], memories), isExtra: concepts.length > 0 }];
  });
}

/** A concept for the longer names that the last name of a query begins. */
function findBegunName(begun: Piece | undefined, { concepts, alike, memories }: Resolved): Concept[] {
  const longer = alike.longer.get(begun?.text ?? "") ?? [];
  if (!begun || longer.length === 0 || concepts.length === 0) return [];
  const variants = longer.map((name) => variantOfAlike(name, "begun"));
  return [{ ...conceptOf(begun.text, variants, memories), isExtra: true }];
}

/** Resolves a name with signs; empty if the graph is known to lack a part of it. */
function findSignedName(
  { text, pattern, words, signs: all }: SearchQuery["signed"][number],
  { concepts, known, alike, memories }: Resolved,
): FoundName[] {
  const rows = words.flatMap(({ piece }) => known.get(keyOf(piece)) ?? []).filter(({ lexemes }) => lexemes.length > 0);
  // The index has stop words of titles only. So for a name of stop words, all signs count.
  const signs = rows.length > 0 ? all.filter(isTelling) : all;
  const counts = signs.filter(isCounted).map((sign) => alike.spelt.get(sign)?.documents);
  if (rows.some((row) => !row.known) || counts.includes(undefined)) return [];
  const documents = Math.min(memories, ...rows.map((row) => row.documents), ...counts.map((count) => count ?? 0));
  const concept = (lexemes: readonly string[], having: number): Concept =>
    conceptOf(text, [{ text: lexemes.join(" "), lexemes, way: "word", documents: Math.max(1, having) }], memories);
  const parts = concepts.filter(({ text: part }) => words.some((word) => word.text === part));
  const whole = concept([...new Set([...rows.flatMap(({ lexemes }) => lexemes), ...signs])], documents);
  const titled = concept([...words.map((word) => TITLE + word.text), ...signs], 1);
  const isExtra = concepts.length > 0;
  const wholes = [
    ...(signs.length > 0 ? [{ ...whole, isExtra }] : []),
    ...(rows.length === 0 && words.length > 0 ? [{ ...titled, weight: whole.weight, isExtra: true }] : []),
  ];
  return [{ pattern, parts: parts.length > 0 ? parts : [whole], wholes }];
}

/** A number that the graph may have in parts: "5k" is "5,000", but no 5 and 000 apart. */
function findNumber({ pattern, words }: SearchQuery["numbers"][number], { concepts }: Resolved): FoundName[] {
  const parts = concepts.filter(({ text }) => words.some((word) => word.text === text));
  const isInParts = ({ text, lexemes }: Variant): boolean => lexemes.length > 1 && /^\d/.test(text);
  const mayBeApart = words.length > 1 || parts.some(({ variants }) => variants.some(isInParts));
  return mayBeApart && parts.length > 0 ? [{ pattern, parts, wholes: [] }] : [];
}

/** A phrase with words that the index lacks, such as "not found": it finds all memories that have the others. */
function findQuoted(words: readonly string[], { concepts }: Resolved): FoundName[] {
  const parts = concepts.filter(({ text }) => words.includes(text));
  const has = (word: string): boolean => parts.some(({ text }) => text === word);
  return words.every(has) || parts.length === 0 ? [] : [{ pattern: patternOfPhrase(words, has), parts, wholes: [] }];
}

/** Words of which one changes what the next or the one before means: "not found", "server down". */
function findModified({ forms, isAdverb, isBehind, after, before }: Modifier, { concepts }: Resolved): FoundName[] {
  const has = (word: string): boolean => concepts.some(({ text }) => text === word);
  const [next, last] = [after.find(has), before.find(has)];
  // "Out of date" is a name, but who denies "an admin" may also deny "the admin".
  const between = isAdverb ? after.slice(0, after.findIndex(has)) : [];
  const phrases = [
    ...(next === undefined ? [] : [[forms, ...between, next]]),
    ...(isBehind && last !== undefined ? [[[last], forms]] : []),
  ];
  // Both, since a text without the word between them has them side by side, which counts for it.
  const parts = concepts.filter(({ text }) => text === next || text === last);
  const pattern = phrases.map((words) => patternOfPhrase(words, has)).join("|");
  return phrases.length > 0 ? [{ pattern, parts, wholes: [] }] : [];
}

/** A name of several words: the memories that have its words may have them apart. */
function findShortened({ names, words, foundAs }: ShortenedName, { concepts }: Resolved): FoundName[] {
  const parts = concepts.filter(({ text }) => words.some((word) => word.text === text));
  const isFound = parts.some(({ variants }) => variants.some(({ text }) => foundAs?.includes(text) ?? true));
  return isFound ? [{ pattern: patternOfNames(names), parts, wholes: [] }] : [];
}

/**
 * Initials that are also a stop word, such as "IT" of "IT budget": they belong to the word that is nearest to them. The
 * index has "us", so "US" belongs to this as well.
 */
function findInitials({ words, initials }: SearchQuery, { concepts, known }: Resolved): FoundName[] {
  const isStop = ({ text, piece }: QueryWord) => text === "us" || known.get(keyOf(piece))?.lexemes.length === 0;
  const far = (concept: Concept, { position }: QueryWord) => Math.abs((concept.position ?? 0) - position);
  return words
    .filter((word) => initials.has(word.text) && isStop(word))
    .flatMap((word) => {
      const nearest = concepts.toSorted((one, other) => far(one, word) - far(other, word));
      const parts = nearest.slice(0, nearest[0]?.text === word.text ? 2 : 1);
      return parts.length > 0 ? [{ pattern: patternOfInitials(word.text), parts, wholes: [] }] : [];
    });
}

/** Whether a sign is counted by the lexicon: not if it is a mark of the index. */
export const isCounted = (sign: string): boolean => !/^[\^#=:]/.test(sign);

function piecesOf({ words, names }: SearchQuery): Piece[] {
  const all = [
    ...words.flatMap(({ piece, parts, asWritten, groups, forms, compounds, acronyms, synonyms }) => [
      piece,
      ...parts,
      ...asWritten,
      ...groups,
      ...forms.flat(),
      ...compounds,
      ...synonyms.flat(),
      ...acronyms.map((acronym) => acronym.piece),
    ]),
    ...names,
  ];
  return [...new Map(all.map((piece) => [keyOf(piece), piece])).values()];
}

/** Whether memories with the word itself are worth as much as if no others matched in this way. */
export const isBeside = (way: Variant["way"]): boolean => ["beginning", "form", "apart", "rest", "type"].includes(way);

function conceptOf(text: string, variants: readonly Variant[], memories: number, isName = false): Concept {
  const sure = variants.filter(({ way }) => !isBeside(way));
  const having = (some: readonly Variant[]): number => sum(some.map(({ documents }) => documents));
  const everywhere = rarity(having(variants), memories);
  const weight = isName || sure.some(({ documents }) => documents > 1) ? rarity(having(sure), memories) : everywhere;
  return { text, variants, weight, besideShare: everywhere / weight, isExtra: false, isKnown: true };
}

/** One concept for a query of signs alone, or of stop words alone. */
export function literalConcept({ signs, words }: SearchQuery): Concept | undefined {
  const lexemes = signs.length > 0 ? signs : words.map(({ text }) => text);
  const text = lexemes.join(signs.length > 0 ? "" : " ");
  const variant: Variant = { text, lexemes, way: "word", documents: 1 };
  return lexemes.length > 0 ? conceptOf(text, [variant], 0) : undefined;
}

/** The inverse document frequency by Robertson and Spärck Jones; 1 if no words have been counted yet. */
function rarity(documents: number, memories: number): number {
  if (memories === 0) return 1;
  const having = Math.min(documents, memories);
  return Math.log(1 + (memories - having + 0.5) / (having + 0.5));
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
