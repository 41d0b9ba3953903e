import { LIMITS } from "../../limits.js";
import { type Piece, type QueryWord, type SearchQuery } from "./search-query.js";
import { formsOf, hasForms } from "./search-endings.js";
import { UNSPACED } from "./search-fold.js";
import { nearSpellings, nearestWords, shortHashes, splitInThree, splitWord } from "./search-spelling.js";
import { isTelling } from "./search-names.js";
import type { AlikeWord, KnownPiece } from "./search-statements.js";
import { TITLE } from "./search-tsquery.js";
import { BEGINNING_LENGTH_MIN, KIN_LENGTH_MIN, MISSPELT_LENGTH_MIN, TUNING } from "./search-tuning.js";

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
  /** The share of the weight for words that it only begins: counting these, more memories have it, so it tells less. */
  readonly begunShare: number;
  /** Whether it is a name as a whole: it scores in addition to its parts, but a memory need not have it. */
  readonly isExtra: boolean;
  /** Whether any memory is known to have it. */
  readonly isKnown: boolean;
}

/** A name whose signs matter, as memories of the graph may have it. */
export interface FoundName {
  /** A regular expression of PostgreSQL that finds it as it is written. */
  readonly pattern: string;
  /** The concepts that it is made of; if they are stop words, the name itself. */
  readonly parts: readonly Concept[];
  /** Concepts for the whole name, to look up in the index. */
  readonly wholes: readonly Concept[];
}

export interface Concepts {
  readonly concepts: readonly Concept[];
  readonly names: readonly FoundName[];
  readonly memories: number;
}

export interface Lookups {
  readonly words: (pieces: readonly Piece[]) => Promise<readonly KnownPiece[]>;
  readonly alike: (
    words: readonly string[],
    spellings: readonly string[],
    beginnings: readonly string[],
  ) => Promise<readonly AlikeWord[]>;
}

/** Finds out what the words of a query stand for in a graph. */
export async function resolve(query: SearchQuery, lookups: Lookups): Promise<Concepts> {
  const pieces = piecesOf(query);
  const rows = pieces.length > 0 ? await lookups.words(pieces) : [];
  const known = new Map(rows.map((row) => [keyOf(pieces[row.place - 1]), row]));
  const words = query.words.filter(({ piece }) => (known.get(keyOf(piece))?.lexemes.length ?? 0) > 0);
  const unknown = words.filter((word) => !variantsOf(word, known).some(({ isKnown }) => isKnown));
  const signs = query.signed.flatMap((name) => name.signs).filter(isCounted);
  const inflected = words.filter(({ text }) => hasForms(text)).slice(0, LIMITS.search.inflected);
  const begun = query.lastName && !known.get(keyOf(query.lastName))?.known ? query.lastName : undefined;
  const forms = new Map(inflected.map(({ text }) => [text, formsOf(text)]));
  const halves = await alikeOf({ words, unknown, begun, known, signs, forms }, lookups);
  const alike = [...halves, ...(await middlesOf(unknown, halves, lookups))];
  const memories = rows[0]?.memories ?? speltOf(halves).get(EVERY_MEMORY)?.documents ?? 0;
  const found = words.map((word) => ({
    word,
    variants: withAlike(word, { known, alike, forms, isUnknown: unknown.includes(word) }),
  }));
  const concepts = found.map(({ word, variants }) => ({
    ...conceptOf(word.text, variants, memories),
    isKnown: !unknown.includes(word) || variants.length > 1,
  }));
  const names = query.names.flatMap((piece) => {
    const row = known.get(keyOf(piece));
    if (!row?.known || row.lexemes.length === 0) return [];
    const { text } = piece;
    const variant: Variant = { text, lexemes: row.lexemes, way: "word", documents: Math.max(1, row.documents) };
    // In a query without other concepts, a name of stop words such as "and/or" is required.
    return [{ ...conceptOf(text, [variant], memories), isExtra: concepts.length > 0 }];
  });
  const longer = alike.filter(({ begins, asked }) => begins && asked === begun?.text);
  if (begun && longer.length > 0 && concepts.length > 0) {
    const variants = longer.map((name) => variantOfAlike(name, "begun"));
    names.push({ ...conceptOf(begun.text, variants, memories), isExtra: true });
  }
  const signed = query.signed.flatMap((name) => signedName(name, { concepts, known, alike, memories }));
  return { concepts: [...concepts, ...names, ...signed.flatMap(({ wholes }) => wholes)], names: signed, memories };
}

interface Resolved {
  readonly concepts: readonly Concept[];
  readonly known: Known;
  readonly alike: readonly AlikeWord[];
  readonly memories: number;
}

/** Resolves a name with signs; empty if the graph is known to lack a part of it. */
function signedName(
  { text, pattern, words, signs: all }: SearchQuery["signed"][number],
  { concepts, known, alike, memories }: Resolved,
): FoundName[] {
  const rows = words.flatMap(({ piece }) => known.get(keyOf(piece)) ?? []).filter(({ lexemes }) => lexemes.length > 0);
  // The index has stop words of titles only. So for a name of stop words, all signs count.
  const signs = rows.length > 0 ? all.filter(isTelling) : all;
  const counts = signs
    .filter(isCounted)
    .map((sign) => alike.find(({ asked, word }) => asked === "" && word === sign)?.documents);
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

/** The word of the lexicon that counts the memories of the graph. */
const EVERY_MEMORY = "";

/** Whether the lexicon can count a sign: it has no words that begin like a mark of the index. */
export const isCounted = (sign: string): boolean => !/^[\^#=:]/.test(sign);

const keyOf = (piece: Piece | undefined): string => `${piece?.asWritten ? "=" : "~"}${piece?.text ?? ""}`;

function piecesOf({ words, names }: SearchQuery): Piece[] {
  const all = [
    ...words.flatMap(({ piece, parts, asWritten, compounds, acronyms, synonyms }) => [
      ...[piece, ...parts, ...asWritten, ...compounds, ...synonyms.flat()],
      ...acronyms.map((acronym) => acronym.piece),
    ]),
    ...names,
  ];
  return [...new Map(all.map((piece) => [keyOf(piece), piece])).values()];
}

type Known = ReadonlyMap<string, KnownPiece>;
/** The other forms of some words. */
type Forms = ReadonlyMap<string, ReadonlySet<string>>;
type FoundVariant = Variant & { readonly isKnown: boolean };

/** The word itself, its parts, the compounds that it is a part of, and the names that mean the same. */
function variantsOf(
  { piece, parts, asWritten, compounds, acronyms, synonyms }: QueryWord,
  known: Known,
): FoundVariant[] {
  const own = variantOf([piece], "word", known);
  // Initials stand for no stop words. Initials that are more common than the word are a word of their own.
  const initials = acronyms
    .filter(({ of, isKnown }) => isKnown || of.every((other) => (known.get(keyOf(other))?.lexemes.length ?? 0) > 0))
    .map((short) => variantOf([short.piece], short.isKnown ? "abbreviation" : "initials", known))
    .filter(({ way, documents }) => way === "abbreviation" || !own.isKnown || documents <= own.documents);
  const others = [
    ...asWritten
      .map((whole) => variantOf([whole], "word", known))
      .filter(({ lexemes }) => lexemes.join(" ") !== own.lexemes.join(" ")),
    ...(parts.length > 0 ? [variantOf(parts, "parts", known)] : []),
    ...compounds.map((compound) => variantOf([compound], "parts", known)),
    ...synonyms.map((pieces) => variantOf(pieces, "abbreviation", known)),
    ...initials,
  ];
  return [own, ...others.filter(({ isKnown }) => isKnown)];
}

function variantOf(pieces: readonly Piece[], way: Variant["way"], known: Known): FoundVariant {
  const rows = pieces.map((piece) => known.get(keyOf(piece)));
  const telling = rows.filter((row) => (row?.lexemes.length ?? 0) > 0);
  return {
    text: pieces.map(({ text }) => text).join(" "),
    lexemes: [...new Set(telling.flatMap((row) => row?.lexemes ?? []))],
    way,
    documents: Math.max(1, Math.min(...telling.map((row) => row?.documents ?? 0))),
    isKnown: telling.length > 0 && telling.every((row) => row?.known),
  };
}

/**
 * Stems of related words that the stemmer keeps apart: a noun in -y or -a and its verb, as in "expiri" and "expir",
 * "replica" and "replic"; German nouns and their plural, as in "Rechnung" and "Rechnungen".
 */
function kinOf({ piece }: QueryWord, known: Known): readonly string[] {
  const [stem = "", ...more] = known.get(keyOf(piece))?.lexemes ?? [];
  if (more.length > 0 || !/^[a-z]+$/.test(stem)) return [];
  const kin = [...(/[ia]$/.test(stem) ? [stem.slice(0, -1)] : [`${stem}i`, `${stem}a`]), ...germanKinOf(stem)];
  return kin.filter((other) => Math.min(stem.length, other.length) >= KIN_LENGTH_MIN);
}

/** German nouns with a plural in -n or -en, by endings that tell them from other languages. */
const GERMAN_NOUN = /^(.+(?:(er|el)|ung|ei|ion|heit|keit|schaft|tat|or))(e?n)?$/;

/** The plural of such a noun, or its singular. */
function germanKinOf(stem: string): string[] {
  const [, singular, weak, plural] = GERMAN_NOUN.exec(stem) ?? [];
  if (singular === undefined) return [];
  return [plural ? singular : `${singular}${weak ? "n" : "en"}`];
}

interface Asked {
  readonly words: readonly QueryWord[];
  readonly unknown: readonly QueryWord[];
  readonly begun: Piece | undefined;
  readonly known: Known;
  readonly signs: readonly string[];
  readonly forms: Forms;
}

async function alikeOf(
  { words, unknown, begun, known, signs, forms }: Asked,
  lookups: Lookups,
): Promise<readonly AlikeWord[]> {
  const misspelt = unknown
    .filter(mayBeMisspelt)
    .slice(0, LIMITS.search.misspelt)
    .map(({ text }) => text);
  const mayBegin = words.filter((word) => word.isLast || word.parts.length > 0 || unknown.includes(word));
  const beginnings = [...(begun ? [begun] : []), ...mayBegin]
    .map(({ text }) => text)
    .filter((text) => [...text].length >= BEGINNING_LENGTH_MIN || isUnspaced(text));
  const kin = words.flatMap((word) => kinOf(word, known));
  const parts = unknown
    .filter(mayBeSplit)
    .slice(0, LIMITS.search.misspelt)
    .flatMap(({ text }) => splitWord(text).flat());
  const spellings = [
    ...new Set([
      ...misspelt.flatMap(nearSpellings),
      ...kin,
      ...[...forms.values()].flatMap((all) => [...all]),
      ...parts,
      ...words.flatMap(({ composed, otherScripts }) => [...composed, ...otherScripts]),
      ...unknown.slice(0, LIMITS.search.misspelt).flatMap(({ text }) => shortHashes(text)),
      ...signs,
      // Usually the words tell.
      ...(known.size === 0 ? [EVERY_MEMORY] : []),
    ]),
  ];
  if (misspelt.length + beginnings.length + spellings.length === 0) return [];
  return lookups.alike(misspelt, spellings, beginnings.slice(0, LIMITS.search.misspelt));
}

/** Looks up the middle parts of words that may be formed of three known words, and are not formed of two. */
async function middlesOf(
  unknown: readonly QueryWord[],
  halves: readonly AlikeWord[],
  lookups: Lookups,
): Promise<readonly AlikeWord[]> {
  const spelt = speltOf(halves);
  const middles = unknown
    .filter((word) => mayBeSplit(word) && splitsOf(word, spelt).length === 0)
    .slice(0, LIMITS.search.misspelt)
    .flatMap(({ text }) => splitInThree(text, (part) => spelt.has(part)).flatMap(([, middle = ""]) => middle))
    .filter((middle, place, all) => !spelt.has(middle) && all.indexOf(middle) === place)
    .slice(0, LIMITS.search.middles);
  return middles.length > 0 ? lookups.alike([], middles, []) : [];
}

/** The words that were looked up as they are, by their text. */
const speltOf = (alike: readonly AlikeWord[]): ReadonlyMap<string, AlikeWord> =>
  new Map(alike.flatMap((found) => (found.asked === "" ? [[found.word, found] as const] : [])));

const RUN = new RegExp(UNSPACED, "u");
const isUnspaced = (text: string): boolean => RUN.test(text);

const mayBeMisspelt = ({ text, isPair }: QueryWord): boolean =>
  !isPair && text.length >= MISSPELT_LENGTH_MIN && text.length <= 40 && /\p{L}{3}/u.test(text);

const mayBeSplit = ({ text, isPair }: QueryWord): boolean => !isPair && text.length <= 40;

interface Finds {
  readonly known: Known;
  readonly alike: readonly AlikeWord[];
  readonly forms: Forms;
  readonly isUnknown: boolean;
}

function withAlike(word: QueryWord, { known, alike, forms, isUnknown }: Finds): Variant[] {
  const longer = alike.filter(({ begins, asked, word: other }) => begins && asked === word.text && other !== word.text);
  const wordVariants = variantsOf(word, known);
  const isName =
    word.parts.length > 0 && (longer.length > 0 || wordVariants.some(({ way, isKnown }) => way === "word" && isKnown));
  const variants: Variant[] = wordVariants.map((variant) =>
    isName && variant.way === "parts" ? { ...variant, way: "apart" } : variant,
  );
  const spelt = speltOf(alike);
  const lookedUp = (texts: readonly string[]) => texts.flatMap((text) => spelt.get(text) ?? []);
  const near =
    isUnknown && mayBeMisspelt(word) && !(word.isLast && longer.length > 0)
      ? nearestWords(word.text, [
          ...alike.filter(({ begins, asked }) => !begins && asked === word.text),
          ...lookedUp(nearSpellings(word.text)),
        ])
      : [];
  if (isUnknown && mayBeSplit(word)) variants.push(...splitsOf(word, spelt));
  const kin = kinOf(word, known);
  const inflected = forms.get(word.text);
  const add = (found: readonly AlikeWord[], way: Variant["way"]) => {
    for (const made of found.map((other) => variantOfAlike(other, way))) {
      if (variants.some((variant) => variant.lexemes.join(" ") === made.lexemes.join(" "))) continue;
      variants.push(made);
    }
  };
  add(
    lookedUp([...(inflected ?? [])])
      .toSorted((one, other) => other.documents - one.documents)
      .slice(0, LIMITS.search.alike),
    "spelling",
  );
  if (isUnknown) add(lookedUp(shortHashes(word.text)), "abbreviation");
  add(near, "spelling");
  add(lookedUp(word.otherScripts), "word");
  add(lookedUp(word.composed), "parts");
  const wordWay = isUnknown ? "begun" : "beginning";
  add(longer, isName ? "name" : wordWay);
  add(lookedUp(kin), "word");
  return variants;
}

const variantOfAlike = ({ word, stem, documents }: AlikeWord, way: Variant["way"]): Variant => ({
  text: word,
  lexemes: stem.length > 0 ? stem : [word],
  way,
  documents: Math.max(1, documents),
});

/** The ways to split a word into two words that are known, else into three. */
function splitsOf({ text }: QueryWord, spelt: ReadonlyMap<string, AlikeWord>): Variant[] {
  const inTwo = knownSplits(splitWord(text), spelt);
  return inTwo.length > 0
    ? inTwo
    : knownSplits(
        splitInThree(text, (part) => spelt.has(part)),
        spelt,
      );
}

function knownSplits(splits: readonly string[][], spelt: ReadonlyMap<string, AlikeWord>): Variant[] {
  return splits.flatMap((parts) => {
    const found = parts.flatMap((part) => spelt.get(part) ?? []);
    if (found.length < parts.length) return [];
    const lexemes = [...new Set(found.flatMap(({ word, stem }) => (stem.length > 0 ? stem : [word])))];
    const documents = Math.max(1, Math.min(...found.map((part) => part.documents)));
    return [{ text: parts.join(" "), lexemes, way: "parts", documents }];
  });
}

function conceptOf(text: string, variants: readonly Variant[], memories: number): Concept {
  const sure = variants.filter(({ way }) => way !== "beginning");
  const having = (some: readonly Variant[]): number => sum(some.map(({ documents }) => documents));
  const everywhere = rarity(having(variants), memories);
  const weight = sure.some(({ documents }) => documents > 1) ? rarity(having(sure), memories) : everywhere;
  return { text, variants, weight, begunShare: everywhere / weight, isExtra: false, isKnown: true };
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
