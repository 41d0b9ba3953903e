import { LIMITS } from "../../../limits.js";
import { SIGNED_UNIT_NAMES, UNITS, isIndexed, otherAmounts, otherUnits, patternOfAmount } from "./amounts.js";
import { dateIn } from "./dates.js";
import { fold, setApart } from "./fold.js";
import { umlautsIn } from "./german.js";
import { idleAmong, withoutAsking } from "./idle-words.js";
import { type SignedName, patternOfForms, signedNamesOf } from "./names.js";
import { type Modifier, isModifier, modifiersIn } from "./modifiers.js";
import { type Piece, pieceAsWritten, pieceToStem } from "./piece.js";
import { type QueryWord, wordsAlone } from "./query-word.js";
import { otherTimes } from "./times.js";
import { AMOUNTS } from "./vocabulary.js";
import { type ShortenedName, distinct, shortenedOf, withNeighbours } from "./word-runs.js";

export interface SearchQuery {
  readonly words: readonly QueryWord[];
  /** Names of several parts, such as `src/app.ts`, as one: worth more than their parts. */
  readonly names: readonly Piece[];
  /** The name that the query ends with: it may be the beginning of longer ones. */
  readonly lastName?: Piece;
  /** Names whose signs matter, such as `c++`. */
  readonly signed: ReadonlyArray<SignedName & { readonly words: readonly QueryWord[] }>;
  /** Numbers and times of which some form has several parts, such as "5k" and "5,000": these stand side by side. */
  readonly numbers: ReadonlyArray<{ readonly pattern: string; readonly words: readonly QueryWord[] }>;
  /** Names of several words that have another form: "out of memory" and "oom", "set up" and "setup". */
  readonly shortened: readonly ShortenedName[];
  /** Quoted texts, whose words must stand in this order. */
  readonly phrases: readonly string[];
  /** The words of each, to look for as they are written. */
  readonly quoted: ReadonlyArray<readonly string[]>;
  /** Words that change what those beside them mean, as in "not found" and "server down". */
  readonly modifiers: readonly Modifier[];
  /** Words in capitals that may be initials, such as "IT". */
  readonly initials: ReadonlySet<string>;
  /** Characters that are neither letters nor digits, where the query has nothing else. */
  readonly signs: readonly string[];
}

/** Quotes as phones, word processors and other languages write them. */
const QUOTES = /[“”„‟«»]/g;
/** Matches only at the start of a run: otherwise a run without joints would be read again from each of its letters. */
const NAME = /(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?:(?:[-_./\\]|::)[\p{L}\p{N}]+)+/gu;
const NAME_AT_END = /[\p{L}\p{N}](?:[-_./\\]|::)[\p{L}\p{N}]+\s*$/u;
/** A time, an amount or a number with a unit is one term, also after signs: "5 pm", "$1.5 million", "(30 s". */
const MANY_WORDS = [
  String.raw`\d{1,2}(?::\d\d)?\s+[ap]\.?m`,
  String.raw`\d{1,6}(?:[.,]\d{1,2})?\s+million`,
  String.raw`\d{1,6}(?:[.,]\d{1,2})?\s+(?:${UNITS.flat().join("|")})`,
  String.raw`\d{1,6}(?:[.,]\d{1,3}){0,4}\s+(?:${SIGNED_UNIT_NAMES.join("|")})`,
  String.raw`(?:${SIGNED_UNIT_NAMES.join("|")})\s+\d{1,6}(?:[.,]\d{1,3}){0,4}`,
];
const SIGNS_BEFORE = String.raw`(?<!\S)[^\s\p{L}\p{N}\p{M}".,]*`;
const PHRASE_OR_TERM = new RegExp(
  String.raw`"([^"]+)"|${SIGNS_BEFORE}(?:${MANY_WORDS.join("|")})\b(?![-_./\\:]+\w)|\S+`,
  "giu",
);

/** Places inside Node.js and Java in a pasted stack: they differ by version, and tell nothing of the subject. */
const FRAMES =
  /\bat (?:async |new )?(?:\S{1,200} (?:\[as \S{1,200}\] )?\(node:[^\s()"]{1,200}\)|node:[^\s"]+:\d+|java\.base\/[^\s"]+)/gu;

/** A query without such places, unless it has nothing else. */
function withoutFrames(query: string): string {
  const rest = query.replace(FRAMES, " ");
  return /[\p{L}\p{N}]/u.test(rest) ? rest : query;
}

/** Longer words in capitals are mostly stressed, or keywords: "WARUM", "WHERE". */
const INITIALS = /(?<![\p{L}\p{N}])\p{Lu}{2,3}(?![\p{L}\p{N}])/gu;
/** Operators of other search engines. */
const OPERATORS = new Set(["and", "or", "und", "et", "ou"]);

/** Short words in capitals, such as "NAS", unless all of a text is in capitals. Denials and the like are stressed. */
function initialsIn(text: string): ReadonlySet<string> {
  const words = /\p{Ll}/u.test(text) ? (text.match(INITIALS) ?? []) : [];
  return new Set(words.map((word) => word.toLowerCase()).filter((word) => !OPERATORS.has(word) && !isModifier(word)));
}

/** Reads a query: what to look up in a graph, before it is known which words the graph has. */
export function readQuery(written: string): SearchQuery {
  const query = withoutFrames(written.replace(QUOTES, '"'));
  const text = setApart(withoutAsking(fold(query)));
  const terms = Array.from(text.matchAll(PHRASE_OR_TERM), ([term, phrase]) => ({
    term: phrase ?? term,
    isPhrase: phrase !== undefined,
  }));
  const kept = terms.slice(0, LIMITS.search.terms);
  const read = kept.map(({ term }) => ({ term, words: wordsOf(term) }));
  const all = read.flatMap((one) => one.words).map((word, position) => ({ ...word, position }));
  const isAmount = (place: number): boolean =>
    AMOUNTS.get(all[place - 1]?.text ?? "")?.has(all[place]?.text ?? "") ?? false;
  const initials = initialsIn(text);
  const idle = idleAmong(all.flatMap(({ text: word }) => (initials.has(word) ? [] : [word])));
  const telling = all.filter(({ text: word }, place) => !idle.has(word) && !isAmount(place) && !isAmount(place + 1));
  const words = distinct(withNeighbours(telling.length > 0 ? telling : all)).slice(0, LIMITS.search.terms);
  const last = words.at(-1);
  const endsInWord = /[\p{L}\p{N}]\s*$/u.test(text);
  const names = kept.flatMap(({ term }) =>
    Array.from(term.matchAll(NAME), ([name]) => name.replace(/[^\p{L}\p{N}]/gu, ""))
      .flatMap((name) => (VERSION.test(term) ? [otherVersion(name), name] : [name]))
      .map(pieceAsWritten),
  );
  const endsInName = NAME_AT_END.exec(text);
  const lastName = endsInName && names.at(-1);
  const umlauts = umlautsIn(query);
  const phrases = kept
    .flatMap(({ term, isPhrase }) => (isPhrase ? [{ term, words: wordsAlone(term) }] : []))
    .filter(({ words: several }) => several.length > 1);
  return {
    ...(lastName && { lastName }),
    words: words.map((word, place) => {
      const inTwoLetters = umlauts.get(word.text);
      const writings = inTwoLetters === undefined ? word.otherScripts : [...word.otherScripts, inTwoLetters];
      const isLast = endsInWord && word === last;
      // Of a long query, only the first words are looked up in all ways.
      const fewer =
        word.isPair || place < LIMITS.search.inflected ? {} : { forms: word.forms.filter(isOneWord), types: [] };
      return { ...word, ...fewer, otherScripts: writings, isLast };
    }),
    names,
    signed: signedNamesOf(setApart(query.replaceAll('"', " "))).map((name) => ({
      ...name,
      words: wordsOf(name.text),
    })),
    numbers: read.flatMap((one) => [one, ...amountsWithin(one)]).flatMap(numberOf),
    shortened: shortenedOf(words),
    phrases: phrases.map(({ term }) => term),
    quoted: phrases.flatMap(quotedOf),
    modifiers: modifiersIn(all.map(({ text: word }) => word)),
    initials,
    signs: words.length > 0 ? [] : [...new Set(text.replace(/\s/g, ""))],
  };
}

/**
 * Longer phrases have enough words that the index has. In texts made to be slow, a pattern of 50 words takes ten times as
 * long as one of six.
 */
const QUOTED_MAX = { words: 6, length: 100 };

function quotedOf({ term, words }: Term): string[][] {
  const isShort = words.length <= QUOTED_MAX.words && term.length <= QUOTED_MAX.length;
  return isShort && !words.some(({ isPair }) => isPair) ? [words.map(({ text }) => text)] : [];
}

interface Term {
  readonly term: string;
  readonly words: readonly QueryWord[];
}

/** The amounts that are parts of a term, as "30s" of "timeout=30s". */
const amountsWithin = ({ words }: Term): Term[] =>
  words.length > 1
    ? words.filter(({ text }) => otherUnits(text).length > 0).map((word) => ({ term: word.text, words: [word] }))
    : [];

function numberOf({ term, words }: Term) {
  const pattern = patternOfAmount(term);
  if (pattern !== undefined) return [{ pattern, words }];
  const date = dateIn(term);
  if (date) return [{ pattern: patternOfForms(date.written, false), words }];
  const [word, ...more] = words;
  const groups = word && more.length === 0 ? word.groups.map(({ text }) => text).join(" ") : "";
  const others = [...otherNumbers(term), ...(groups ? [groups] : [])];
  const forms = [words.map(({ text }) => text).join(" "), ...others];
  return others.length > 0 && forms.some((form) => form.includes(" "))
    ? [{ pattern: patternOfForms(forms, otherTimes(term).length > 0), words }]
    : [];
}

/** A version, with the "v" that some write before it and others do not; "2.x" is any version 2. */
const VERSION = /^[^\p{L}\p{N}]*(v?\d+)(?:\.\d+)*(\.x)?[^\p{L}\p{N}]*$/iu;
const otherVersion = (version: string): string => (/^v/i.test(version) ? version.slice(1) : `v${version}`);

function wordsOf(term: string): QueryWord[] {
  const [, major, anyMinor] = VERSION.exec(term.toLowerCase()) ?? [];
  const amounts = piecesOfAmounts(otherNumbers(term));
  const words = wordsAlone(term).slice(0, anyMinor ? -1 : undefined);
  const date = dateIn(term);
  return words.map((word, place) => {
    const version = place === 0 && major ? [[pieceToStem(otherVersion(major))]] : [];
    const dated = (date?.others[place] ?? []).map((other) => [pieceToStem(other)]);
    const within = words.length > 1 ? piecesOfAmounts(otherUnits(word.text)) : [];
    return { ...word, synonyms: [...word.synonyms, ...version, ...amounts, ...within, ...dated] };
  });
}

const piecesOfAmounts = (amounts: readonly string[]): Piece[][] =>
  amounts.filter(isIndexed).map((amount) => amount.split(" ").map(pieceToStem));

const otherNumbers = (term: string): string[] => [...otherAmounts(term), ...otherUnits(term), ...otherTimes(term)];

const isOneWord = ({ length }: readonly Piece[]): boolean => length === 1;
