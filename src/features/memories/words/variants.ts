import { LIMITS } from "../../../limits.js";
import type { Variant } from "./concepts.js";
import type { Piece } from "./piece.js";
import type { QueryWord } from "./query-word.js";
import {
  closestWords,
  groupNumber,
  knownPartOf,
  nearSpellings,
  nearestWords,
  otherHexForms,
  splitFromStopWord,
  splitInThree,
  splitWord,
} from "./spelling.js";
import type { AlikeWord, KnownPiece } from "./search-statements.js";
import { TYPE } from "./tsquery.js";
import { KIN_LENGTH_MIN, MISSPELT_LENGTH_MIN } from "./tuning.js";
import { AMBIGUOUS } from "./vocabulary.js";

export type Known = ReadonlyMap<string, KnownPiece>;
/** The other forms of some words. */
export type Forms = ReadonlyMap<string, ReadonlySet<string>>;
type FoundVariant = Variant & { readonly isKnown: boolean };

export const keyOf = (piece: Piece | undefined): string => `${piece?.asWritten ? "=" : "~"}${piece?.text ?? ""}`;

/** The words of the graph that are alike, by what was asked for: as words of a query are many, each is read once. */
export interface Alike {
  /** Those that were looked up as they are, by their text. */
  readonly spelt: ReadonlyMap<string, AlikeWord>;
  /** Those that a word may be a misspelling of. */
  readonly near: ReadonlyMap<string, readonly AlikeWord[]>;
  /** Those that a text begins. */
  readonly longer: ReadonlyMap<string, readonly AlikeWord[]>;
}

export function sortAlike(found: readonly AlikeWord[]): Alike {
  const spelt = new Map<string, AlikeWord>();
  const near = new Map<string, AlikeWord[]>();
  const longer = new Map<string, AlikeWord[]>();
  for (const one of found) {
    const { asked, begins, word } = one;
    const same = begins ? longer : near;
    const others = same.get(asked);
    if (asked === "") spelt.set(word, one);
    else if (others) others.push(one);
    else same.set(asked, [one]);
  }
  return { spelt, near, longer };
}

interface Finds {
  readonly known: Known;
  readonly alike: Alike;
  readonly forms: Forms;
  readonly inflections: Forms;
  readonly isUnknown: boolean;
  /** For the last word of a query: the names that the name at its end begins. */
  readonly named: readonly AlikeWord[];
}

/**
 * How many times as many memories may have an inflection as have the word. A more common one is another word, mostly of
 * another language: "notes" is none of "nota".
 */
const COMMONER_MAX = 30;

/** What a word may stand for: what is written, and the words of the graph that are alike. */
export function findVariants(word: QueryWord, finds: Finds): Variant[] {
  const { known, alike, forms, isUnknown, named } = finds;
  const { spelt } = alike;
  const lookUp = (texts: Iterable<string>) => lookUpIn(spelt, texts);
  const longer = alike.longer.get(word.text)?.filter(({ word: other }) => other !== word.text) ?? [];
  const written = variantsOf(word, known);
  const isName =
    word.parts.length > 0 && (longer.length > 0 || written.some(({ way, isKnown }) => way === "word" && isKnown));
  const isBeginning = word.isLast && longer.length + named.length > 0;
  const { inflected, misspelt } = findOtherForms(word, written, { ...finds, isBeginning });
  const wayOfLonger = isUnknown ? "begun" : "beginning";
  const found: ReadonlyArray<readonly [readonly AlikeWord[], Variant["way"]]> = [
    [mostCommon(lookUp(forms.get(word.text) ?? [])), "spelling"],
    [isUnknown ? lookUp(otherHexForms(word.text)) : [], "abbreviation"],
    [misspelt, "spelling"],
    [mostCommon(inflected), "form"],
    // "due" is no "dü" where the graph has the word itself.
    [lookUp(word.otherScripts), word.isPair || isUnknown ? "word" : "form"],
    [lookUp(word.composed), "parts"],
    [mostCommon(word.composed.flatMap((compound) => alike.longer.get(compound) ?? [])), "begun"],
    [named, "begun"],
    [longer, isName ? "name" : wayOfLonger],
    [lookUp(kinOf(word, known)).filter(isStem), "word"],
  ];
  const variants: Variant[] = [
    ...written.map((variant) => (isName && variant.way === "parts" ? { ...variant, way: "apart" as const } : variant)),
    ...(isUnknown && fitsLexicon(word) ? splitsOf(word, spelt) : []),
  ];
  const isUnlike = isUnknown && variants.length === written.length && found.every(([words]) => words.length === 0);
  if (isUnlike && fitsLexicon(word)) {
    const parts = knownPartOf(word.text, (part) => spelt.has(part));
    variants.push(...knownSplits(parts, spelt, "apart"));
  }
  variants.push(...knownSplits(word.inOtherScripts, spelt, "form"), ...typesOf(word, spelt));
  for (const made of found.flatMap(([words, way]) => words.map((other) => variantOfAlike(other, way)))) {
    if (!variants.some((variant) => stemsOf(variant) === stemsOf(made))) variants.push(made);
  }
  return variants;
}

/** The inflections of a word that the graph has, and the words that an unknown one may be a misspelling of. */
function findOtherForms(
  word: QueryWord,
  written: readonly FoundVariant[],
  { alike, inflections, isUnknown, isBeginning }: Finds & { readonly isBeginning: boolean },
) {
  const isMisspelt = isUnknown && !isBeginning && mayBeMisspelt(word);
  const near = isMisspelt ? mostCommon(nearestWords(word.text, comparedWith(word, alike))) : [];
  const meant = [...written.filter(({ isKnown }) => isKnown), ...near].map(({ documents }) => documents);
  const most = meant.length > 0 ? COMMONER_MAX * Math.max(...meant) : Infinity;
  const forms: ReadonlySet<string> = inflections.get(word.text) ?? new Set();
  const inflected = lookUpIn(alike.spelt, forms).filter(({ documents }) => documents <= most);
  // Where the graph has other forms of an unknown word, it is not misspelt: "pagar" is "pago", and no "dagar".
  return { inflected, misspelt: inflected.length > 0 ? near.filter((other) => forms.has(other.word)) : near };
}

const lookUpIn = (spelt: Alike["spelt"], texts: Iterable<string>): AlikeWord[] =>
  Array.from(texts).flatMap((text) => spelt.get(text) ?? []);

/** The types of memories that a word names. */
const typesOf = ({ types }: QueryWord, spelt: Alike["spelt"]): Variant[] =>
  types.flatMap((type) => {
    const known = spelt.get(TYPE + type);
    return known
      ? [{ text: type, lexemes: [known.word], way: "type", documents: Math.max(1, known.documents) } as const]
      : [];
  });

/** A memory that has all of these has the others anyway: "30 second" beside "30". */
const hasAll = (lexemes: readonly string[], others: readonly string[]): boolean =>
  others.length > 0 && others.every((lexeme) => lexemes.includes(lexeme));

export const stemsOf = ({ lexemes }: Variant): string => lexemes.join(" ");

/** Whether a word of the graph is a stem itself: "files" is not, so "filesy" (which begins "filesystem") is no kin of it. */
const isStem = ({ word, stem }: AlikeWord): boolean => stem.length === 0 || stem.includes(word);

const mostCommon = (words: readonly AlikeWord[]): AlikeWord[] =>
  words.toSorted((one, other) => other.documents - one.documents).slice(0, LIMITS.search.alike);

/** The words of the graph with which a word that may be misspelt is compared. */
const comparedWith = ({ text }: QueryWord, { near, spelt }: Alike): readonly AlikeWord[] => [
  ...(near.get(text) ?? []),
  ...lookUpIn(spelt, nearSpellings(text)),
];

/** Whether the graph has words of which a word is a misspelling by few letters. */
export const hasSpellings = (word: QueryWord, alike: Alike): boolean =>
  closestWords(word.text, comparedWith(word, alike)).length > 0;

/** The word itself, its parts, the compounds that it is a part of, and the names that mean the same. */
export function variantsOf(
  { piece, parts, asWritten, groups, forms, compounds, acronyms, synonyms }: QueryWord,
  known: Known,
): FoundVariant[] {
  const own = variantOf([piece], "word", known);
  // Initials stand for no stop words. Initials that are more common than the word are a word of their own.
  const initials = acronyms
    .filter(({ of, isKnown }) => isKnown || of.every((other) => (known.get(keyOf(other))?.lexemes.length ?? 0) > 0))
    .map((short) => variantOf([short.piece], short.isKnown ? "abbreviation" : "initials", known))
    .filter(({ way, documents }) => way === "abbreviation" || !own.isKnown || documents <= own.documents);
  const same = synonyms.map((pieces) => variantOf(pieces, wayOfName(pieces, known), known));
  const isKnown = own.isKnown || same.some((other) => other.isKnown);
  const others = [
    ...asWritten.map((whole) => variantOf([whole], "word", known)),
    ...(parts.length > 0 ? [variantOf(parts, "parts", known)] : []),
    ...compounds.map((compound) => variantOf([compound], "parts", known)),
    ...same,
    // If the graph has a number in none of its other forms, it is split like any unknown word.
    ...(groups.length > 0 && isKnown ? [variantOf(groups, own.isKnown ? "apart" : "parts", known)] : []),
    ...initials,
    ...forms.map((form) => variantOf(form, "form", known)),
  ].filter(({ isKnown, lexemes }) => isKnown && !hasAll(lexemes, own.lexemes));
  const found = [own];
  // Each once: the memories that have it are counted for each variant.
  for (const other of others) if (!found.some((one) => stemsOf(one) === stemsOf(other))) found.push(other);
  return found;
}

function wayOfName(pieces: readonly Piece[], known: Known): Variant["way"] {
  if (pieces.some((piece) => known.get(keyOf(piece))?.lexemes.length === 0)) return "rest";
  return pieces.length === 1 && pieces.every(({ text }) => AMBIGUOUS.has(text)) ? "initials" : "abbreviation";
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
export function kinOf({ piece }: QueryWord, known: Known): readonly string[] {
  const [stem = "", ...more] = known.get(keyOf(piece))?.lexemes ?? [];
  if (more.length > 0 || !/^[a-z]+$/.test(stem)) return [];
  const others = /[ia]$/.test(stem) ? [stem.slice(0, -1)] : [`${stem}i`, `${stem}a`];
  const kin = [...(NO_KIN.test(stem) ? [] : others), ...germanKinOf(stem)];
  return kin.filter((other) => Math.min(stem.length, other.length) >= KIN_LENGTH_MIN);
}

/** Stems of pairs that are not related: "factor" and "factory", "director" and "directory", "police" and "policy". */
const NO_KIN = /^(?:director|factor|inventor|polic)i?$/;

/** German nouns with a plural in -n or -en, by endings that tell them from other languages. */
const GERMAN_NOUN = /^(.+(?:(er|el)|ung|ei|ion|heit|keit|schaft|tat|or))(e?n)?$/;

/** The plural of such a noun, or its singular. */
function germanKinOf(stem: string): string[] {
  const [, singular, weak, plural] = GERMAN_NOUN.exec(stem) ?? [];
  if (singular === undefined) return [];
  return [plural ? singular : `${singular}${weak ? "n" : "en"}`];
}

/** The lexicon has no longer words, in characters: `learn_words`. */
const LEXICON_LENGTH_MAX = 40;

/** Whether the lexicon has a word that memories have. Two signs of a script without spaces are no word. */
export const fitsLexicon = ({ text, isPair }: QueryWord): boolean => !isPair && text.length <= LEXICON_LENGTH_MAX;

export const mayBeMisspelt = (word: QueryWord): boolean =>
  fitsLexicon(word) && word.text.length >= MISSPELT_LENGTH_MIN && /\p{L}{3}/u.test(word.text);

export const variantOfAlike = (alike: AlikeWord, way: Variant["way"]): Variant => ({
  text: alike.word,
  lexemes: lexemesOf(alike),
  way,
  documents: Math.max(1, alike.documents),
});

const lexemesOf = ({ word, stem }: AlikeWord): readonly string[] => (stem.length > 0 ? stem : [word]);

/**
 * The ways to split a word into two words that are known, else into three, else into groups of a number, else into one
 * and a stop word.
 */
export function splitsOf({ text }: QueryWord, spelt: ReadonlyMap<string, AlikeWord>): Variant[] {
  const isKnown = (part: string): boolean => spelt.has(part);
  for (const split of [splitWord, splitInThree, groupNumber, splitFromStopWord]) {
    const found = knownSplits(split(text, isKnown), spelt);
    if (found.length > 0) return found;
  }
  return [];
}

function knownSplits(
  splits: ReadonlyArray<readonly string[]>,
  spelt: ReadonlyMap<string, AlikeWord>,
  way: Variant["way"] = "parts",
): Variant[] {
  return splits.flatMap((parts) => {
    const found = parts.flatMap((part) => spelt.get(part) ?? []);
    if (found.length < parts.length) return [];
    const lexemes = [...new Set(found.flatMap(lexemesOf))];
    const documents = Math.max(1, Math.min(...found.map((part) => part.documents)));
    return [{ text: parts.join(" "), lexemes, way, documents }];
  });
}
