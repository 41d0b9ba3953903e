import { LIMITS } from "../../limits.js";
import { type Piece, type QueryWord, type SearchQuery } from "./search-query.js";
import { editDistance, nearSpellings, wrongLettersMax } from "./search-spelling.js";
import type { AlikeWord, KnownPiece } from "./search-statements.js";
import { BEGINNING_LENGTH_MIN, MISSPELT_LENGTH_MIN, TUNING } from "./search-tuning.js";

/** Words of the index that must be there together, and how many memories are expected to have them. */
export interface Variant {
  readonly lexemes: readonly string[];
  readonly way: keyof typeof TUNING.ways;
  readonly documents: number;
}

/** One thing that is looked for, and all that may stand for it. */
export interface Concept {
  readonly text: string;
  readonly variants: readonly Variant[];
  /** How much it tells: the fewer memories have it, the more. */
  readonly weight: number;
  /** A name as a whole: worth something beside its parts, but nothing that a memory must have. */
  readonly isExtra: boolean;
  /** Whether any memory is known to have it. */
  readonly isKnown: boolean;
}

export interface Concepts {
  readonly concepts: readonly Concept[];
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
  const memories = rows[0]?.memories ?? 0;
  const words = query.words.filter(({ piece }) => (known.get(keyOf(piece))?.lexemes.length ?? 0) > 0);
  const unknown = words.filter((word) => !variantsOf(word, known).some(({ isKnown }) => isKnown));
  const alike = await alikeOf(words, unknown, lookups);
  const found = words.map((word) => ({
    word,
    variants: withAlike(word, { known, alike, isUnknown: unknown.includes(word) }),
  }));
  const concepts = found.map(({ word, variants }) => ({
    ...conceptOf(word.text, variants, memories),
    isKnown: !unknown.includes(word) || variants.length > 1,
  }));
  const names = query.names.flatMap((piece) => {
    const row = known.get(keyOf(piece));
    if (!row?.known || row.lexemes.length === 0) return [];
    const variant: Variant = { lexemes: row.lexemes, way: "word", documents: Math.max(1, row.documents) };
    // A name of stop words alone, such as "and/or", is all that the query says.
    return [{ ...conceptOf(piece.text, [variant], memories), isExtra: concepts.length > 0 }];
  });
  return { concepts: [...concepts, ...names], memories };
}

const keyOf = (piece: Piece | undefined): string => `${piece?.asWritten ? "=" : "~"}${piece?.text ?? ""}`;

function piecesOf({ words, names }: SearchQuery): Piece[] {
  const all = [...words.flatMap(({ piece, parts, synonyms }) => [piece, ...parts, ...synonyms.flat()]), ...names];
  return [...new Map(all.map((piece) => [keyOf(piece), piece])).values()];
}

type Known = ReadonlyMap<string, KnownPiece>;
type FoundVariant = Variant & { readonly isKnown: boolean };

/** The word itself, the parts that it is made of, and the names that mean the same. */
function variantsOf({ piece, parts, synonyms }: QueryWord, known: Known): FoundVariant[] {
  const own = variantOf([piece], "word", known);
  const others = [
    ...(parts.length > 0 ? [variantOf(parts, "parts", known)] : []),
    ...synonyms.map((pieces) => variantOf(pieces, "abbreviation", known)),
  ];
  return [own, ...others.filter(({ isKnown }) => isKnown)];
}

function variantOf(pieces: readonly Piece[], way: Variant["way"], known: Known): FoundVariant {
  const rows = pieces.map((piece) => known.get(keyOf(piece)));
  const telling = rows.filter((row) => (row?.lexemes.length ?? 0) > 0);
  return {
    lexemes: [...new Set(telling.flatMap((row) => row?.lexemes ?? []))],
    way,
    documents: Math.max(1, Math.min(...telling.map((row) => row?.documents ?? 0))),
    isKnown: telling.length > 0 && telling.every((row) => row?.known),
  };
}

async function alikeOf(
  words: readonly QueryWord[],
  unknown: readonly QueryWord[],
  lookups: Lookups,
): Promise<readonly AlikeWord[]> {
  const misspelt = unknown
    .filter(mayBeMisspelt)
    .slice(0, LIMITS.search.misspelt)
    .map(({ text }) => text);
  const begun = words.filter((word) => word.isLast || unknown.includes(word));
  const beginnings = begun
    .map(({ text }) => text)
    .filter((text) => [...text].length >= BEGINNING_LENGTH_MIN || isCjk(text));
  if (misspelt.length + beginnings.length === 0) return [];
  return lookups.alike(misspelt, misspelt.flatMap(nearSpellings), beginnings.slice(0, LIMITS.search.misspelt));
}

const isCjk = (text: string): boolean => /[\u3040-\u9fff\uac00-\ud7a3\u{20000}-\u{3134f}]/u.test(text);

const mayBeMisspelt = ({ text, isPair }: QueryWord): boolean =>
  !isPair && text.length >= MISSPELT_LENGTH_MIN && text.length <= 40 && /\p{L}{3}/u.test(text);

interface Finds {
  readonly known: Known;
  readonly alike: readonly AlikeWord[];
  readonly isUnknown: boolean;
}

function withAlike(word: QueryWord, { known, alike, isUnknown }: Finds): Variant[] {
  const variants: Variant[] = variantsOf(word, known);
  const near =
    isUnknown && mayBeMisspelt(word)
      ? nearest(
          word.text,
          alike.filter(({ begins }) => !begins),
        )
      : [];
  const longer = alike.filter(({ begins, asked, word: other }) => begins && asked === word.text && other !== word.text);
  const add = (found: readonly AlikeWord[], way: Variant["way"]) => {
    for (const { word: other, stem, documents } of found) {
      const lexemes = stem.length > 0 ? stem : [other];
      if (variants.some((variant) => variant.lexemes.join(" ") === lexemes.join(" "))) continue;
      variants.push({ lexemes, way, documents: Math.max(1, documents) });
    }
  };
  add(near, "spelling");
  add(longer, "beginning");
  return variants;
}

/** The known words that a misspelt one may have been meant to be: those with the fewest wrong letters. */
function nearest(word: string, candidates: readonly AlikeWord[]): AlikeWord[] {
  const measured = candidates.map((candidate) => ({
    candidate,
    // Who misspells a word mostly begins it rightly.
    wrong: editDistance(word, candidate.word) + (candidate.word.startsWith(word.slice(0, 3)) ? 0 : 0.5),
  }));
  const close = measured.filter(({ wrong }) => Math.floor(wrong) <= wrongLettersMax(word));
  const fewest = Math.min(...close.map(({ wrong }) => wrong));
  const best = close.filter(({ wrong }) => wrong === fewest).map(({ candidate }) => candidate);
  if (best.length > 0) return best;
  // A part of a longer name, such as "pullbackoff" of "imagepullbackoff".
  return candidates.filter(
    ({ word: other }) => word.length >= 5 && (other.includes(word) || (other.length >= 5 && word.includes(other))),
  );
}

function conceptOf(text: string, variants: readonly Variant[], memories: number): Concept {
  const sure = variants.filter(({ way }) => way !== "beginning");
  const documents = sum(
    (sure.some(({ documents: known }) => known > 1) ? sure : variants).map(({ documents: known }) => known),
  );
  return { text, variants, weight: rarity(documents, memories), isExtra: false, isKnown: true };
}

/** Robertson's and Spärck Jones's idf; 1 for each where nothing has been counted yet. */
function rarity(documents: number, memories: number): number {
  if (memories === 0) return 1;
  const having = Math.min(documents, memories);
  return Math.log(1 + (memories - having + 0.5) / (having + 0.5));
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
