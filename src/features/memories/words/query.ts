import { LIMITS } from "../../../limits.js";
import { SIGNED_UNIT_NAMES, UNITS, isIndexed, otherAmounts, otherUnits, patternOfAmount } from "./amounts.js";
import { dateIn, dateOf } from "./dates.js";
import { NEIGHBOURS, UNSPACED, fold, setApart } from "./fold.js";
import { join, separate, umlautsIn, withUmlauts } from "./german.js";
import { otherScripts } from "./han.js";
import { idleAmong, withoutAsking } from "./idle-words.js";
import { type SignedName, patternOfForms, signedNamesOf } from "./names.js";
import { type Modifier, modifiersIn } from "./modifiers.js";
import { type Piece, pieceAsWritten, pieceToStem } from "./piece.js";
import { splitWord } from "./spelling.js";
import { namesLike, synonymsOf, typesNamed } from "./synonyms.js";
import { otherTimes } from "./times.js";
import { AMBIGUOUS, AMOUNTS, FORMS, PARTICLES, WRITTEN_FORMS } from "./vocabulary.js";
import { otherWritings, writingsAt, writingsIn } from "./writings.js";

/** A short form of several words: their initials, or another name. */
export interface Acronym {
  readonly piece: Piece;
  readonly of: readonly Piece[];
  /** Whether it is known to mean the same: other words may have the same initials by chance. */
  readonly isKnown: boolean;
}

/** One word of a query, with what else may stand for it. */
export interface QueryWord {
  readonly text: string;
  readonly piece: Piece;
  /** The parts of a name in camelCase, which stand for it together. */
  readonly parts: readonly Piece[];
  /** A name in camelCase without stemming: the index has the ends of longer names in this form. */
  readonly asWritten: readonly Piece[];
  /** The groups of a number, or the number and the unit: "3400" is also "3,400", "500ms" also "500 ms". */
  readonly groups: readonly Piece[];
  /** Its irregular forms, and words of other stems made of it, such as "froze", "failure" and "meldet ab". */
  readonly forms: ReadonlyArray<readonly Piece[]>;
  /** In kana and hangul, by pairs of neighbours as the index has them: "server" as "サー", "ーバ". */
  readonly inOtherScripts: ReadonlyArray<readonly string[]>;
  /** Words that it forms together with one or two neighbours in the query. */
  readonly compounds: readonly Piece[];
  /** The same as German forms it, perhaps in the other order, and how a verb with its particle begins. */
  readonly composed: readonly string[];
  /** Chinese characters in traditional or simplified script; German umlauts as two letters or one. */
  readonly otherScripts: readonly string[];
  /** Short forms of several words of the query, this one among them. */
  readonly acronyms: readonly Acronym[];
  /** Types of memories that it may name, perhaps together with a neighbour: "decisions", "code pattern". */
  readonly types: readonly string[];
  /** Names that mean the same; all pieces of one must be there. */
  readonly synonyms: ReadonlyArray<readonly Piece[]>;
  /** Whether it is two or three neighbours in a script without spaces, which only match as they are. */
  readonly isPair: boolean;
  readonly isLast: boolean;
}

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
  /** Characters that are neither letters nor digits, where the query has nothing else. */
  readonly signs: readonly string[];
}

/** Quotes as phones, word processors and other languages write them. */
const QUOTES = /[“”„‟«»]/g;
const RUN = new RegExp(`${UNSPACED}+`, "gu");
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
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

/** A name of several words, or a word that means one: memories that have it as it is written rank higher. */
export interface ShortenedName {
  /** All forms of it, of one word or several. */
  readonly names: readonly string[];
  /** The words of the query that are one of these. */
  readonly words: readonly QueryWord[];
  /** It only counts if the graph has one of the words by a variant of these; undefined if it counts anyway. */
  readonly foundAs: readonly string[] | undefined;
}

/** Reads a query: what to look up in a graph, before it is known which words the graph has. */
export function readQuery(written: string): SearchQuery {
  const query = written.replace(QUOTES, '"');
  const text = setApart(withoutAsking(fold(query)));
  const terms = Array.from(text.matchAll(PHRASE_OR_TERM), ([term, phrase]) => ({
    term: phrase ?? term,
    isPhrase: phrase !== undefined,
  }));
  const kept = terms.slice(0, LIMITS.search.terms);
  const read = kept.map(({ term }) => ({ term, words: wordsOf(term) }));
  const all = read.flatMap((one) => one.words);
  const isAmount = (place: number): boolean =>
    AMOUNTS.get(all[place - 1]?.text ?? "")?.has(all[place]?.text ?? "") ?? false;
  const idle = idleAmong(all.map(({ text: word }) => word));
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
    numbers: read.flatMap(numberOf),
    shortened: shortenedOf(words),
    phrases: phrases.map(({ term }) => term),
    quoted: phrases.flatMap(quotedOf),
    modifiers: modifiersIn(all.map(({ text: word }) => word)),
    signs: words.length > 0 ? [] : [...new Set(text.replace(/\s/g, ""))],
  };
}

/**
 * Longer phrases have enough words that the index has. In texts made to be slow, a pattern of 50 words takes ten times as
 * long as one of six.
 */
const QUOTED_MAX = { words: 6, length: 100 };

function quotedOf({ term, words }: { readonly term: string; readonly words: readonly QueryWord[] }): string[][] {
  const isShort = words.length <= QUOTED_MAX.words && term.length <= QUOTED_MAX.length;
  return isShort && !words.some(({ isPair }) => isPair) ? [words.map(({ text }) => text)] : [];
}

function numberOf({ term, words }: { readonly term: string; readonly words: readonly QueryWord[] }) {
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

/** How many words initials are made of. */
const ACRONYM_LENGTHS = [3, 4, 5];
/** How many words a name with a short form has. */
const NAME_LENGTHS = [2, 3, 4];
/** A word that gives an initial: shorter ones are initials themselves. */
const SPELT_OUT = /^[a-z]\p{L}{3}/u;

/** All runs of so many neighbours. */
const runsOf = (words: readonly QueryWord[], lengths: readonly number[]): QueryWord[][] =>
  lengths.flatMap((length) => words.slice(length - 1).map((_, place) => words.slice(place, place + length)));

function shortenedOf(words: readonly QueryWord[]): ShortenedName[] {
  const runs = [...words.map((word) => [word]), ...runsOf(words.slice(0, LIMITS.search.joined), NAME_LENGTHS)];
  return runs.flatMap((run) => {
    const isApart = run.length > 1;
    const name = run.map(({ text }) => text).join(" ");
    const names = namesLike(name);
    if (names) return [{ names, words: run, foundAs: isApart ? undefined : names.filter((one) => one.includes(" ")) }];
    const [, verb, particle] = WITH_PARTICLE.exec(name) ?? [];
    if (!verb || !particle) return [];
    const [joined, apart] = [verb + particle, `${verb} ${particle}`];
    return [{ names: [joined, apart], words: run, foundAs: isApart ? [joined] : [verb, apart] }];
  });
}

/** A verb with a particle, or the noun made of both. */
const WITH_PARTICLE = new RegExp(String.raw`^(\p{L}{3,}?) ?(${PARTICLES})s?$`, "u");

/**
 * Adds to each word its compounds with neighbours, and short forms of several words: "sign up" is "signup", "open api
 * server" "openapiserver", "dead letter queue" "dlq".
 */
function withNeighbours(words: readonly QueryWord[]): QueryWord[] {
  const first = words.slice(0, LIMITS.search.joined);
  const threes = runsOf(first, [3]);
  const joined = [...[...runsOf(words, [2]), ...threes].filter((run) => !isOfNumbers(run)), ...numbersOf(first)]
    .filter((run) => !run.some(({ isPair }) => isPair))
    .map((run) => ({ run, piece: pieceToStem(run.map(({ text }) => text).join("")) }));
  const dates = [...runsOf(first, [2]), ...threes].flatMap((run) => {
    const date = dateOf(run.map(({ text }) => text));
    return date ? [{ run, ...date }] : [];
  });
  const dated = dates.flatMap(({ run, joined: all }) => all.map((text) => ({ run, piece: pieceAsWritten(text) })));
  const named = runsOf(first, NAME_LENGTHS).flatMap((run) => {
    const name = run.map(({ text }) => text).join(" ");
    const short = namesLike(name)?.filter((other) => !other.includes(" ")) ?? [];
    return short.map((text) => ({ run, piece: pieceToStem(text), isKnown: !AMBIGUOUS.has(text) }));
  });
  const initials = runsOf(first, ACRONYM_LENGTHS)
    .filter((run) => run.every(({ text }) => SPELT_OUT.test(text)))
    .map((run) => ({ run, piece: pieceAsWritten(run.map(({ text }) => text.charAt(0)).join("")), isKnown: false }))
    .filter(({ piece }) => !named.some((other) => other.piece.text === piece.text));
  const composed = [...composedOf(first), ...separatedOf(words)];
  const neighbours = runsOf(first, [2]);
  return words.map((word) => ({
    ...word,
    types: [
      ...word.types,
      ...neighbours
        .filter((run) => run.includes(word))
        .flatMap((run) => typesNamed(run.map(({ text }) => text).join("_"))),
    ],
    synonyms: [
      ...word.synonyms,
      ...[...new Set(dates.flatMap(({ run, others }) => others[run.indexOf(word)] ?? []))].map((other) => [
        pieceToStem(other),
      ]),
    ],
    compounds: [...joined, ...dated].filter(({ run }) => run.includes(word)).map(({ piece }) => piece),
    composed: composed.filter(({ of }) => of.includes(word)).map(({ text }) => text),
    acronyms: [...named, ...initials]
      .filter(({ run }) => run.includes(word))
      .map(({ run, piece, isKnown }) => ({ piece, of: run.map((other) => other.piece), isKnown })),
  }));
}

/** Numbers as of a time, such as "2" and "30" of "2:30": "230" is something else. */
const isOfNumbers = (run: readonly QueryWord[]): boolean =>
  run.length === 2 && run.every(({ text }) => /^\d\d?$/.test(text));

const GROUP = /^(?=\p{L}*\d)[\p{L}\d]{1,8}$/u;
const LETTERS_OF_NUMBER = /^\p{L}{1,4}$/u;

/**
 * Numbers in four groups or more, such as "4111 1111 1111 1111", also with letters before or after them: they may be
 * stored as one word.
 */
function numbersOf(words: readonly QueryWord[]): QueryWord[][] {
  const isGroup = (place: number): boolean => GROUP.test(words[place]?.text ?? "");
  const hasLetters = (place: number): boolean => LETTERS_OF_NUMBER.test(words[place]?.text ?? "");
  const starts = words.flatMap((_, place) => (isGroup(place) && !isGroup(place - 1) ? [place] : []));
  return starts
    .flatMap((start) => {
      let end = start;
      while (isGroup(end)) end++;
      const begins = hasLetters(start - 1) ? [start, start - 1] : [start];
      const ends = hasLetters(end) ? [end, end + 1] : [end];
      return begins.flatMap((from) => ends.map((to) => words.slice(from, to)));
    })
    .filter(({ length }) => length >= 4);
}

/** Words that may be a part of a German compound. */
const COMPOSABLE = /^\p{L}{4,}$/u;
const LINKS = ["", "s", "n"];

/**
 * German compounds of two words that are neighbours or have one word between: "Nummer der Rechnung" is also
 * "Rechnungsnummer".
 */
function composedOf(words: readonly QueryWord[]) {
  return runsOf(words, [2, 3]).flatMap((run) => {
    const of = run.filter((_, place) => place === 0 || place === run.length - 1);
    const [one, other] = of.map(({ text }) => text);
    if (!one || !other || !of.every(({ text, isPair }) => !isPair && COMPOSABLE.test(text))) return [];
    return LINKS.flatMap((link) => [other + link + one, one + link + other]).map((text) => ({ of, text }));
  });
}

/** How many words may stand between a German verb and its particle. */
const BETWEEN_MAX = 4;

/** German verbs whose particle the query ends with: "meldet sich ab" is also "abmelden". */
function separatedOf(words: readonly QueryWord[]) {
  const last = words.at(-1);
  return words
    .slice(-2 - BETWEEN_MAX, -1)
    .flatMap((verb) => (last ? join(verb.text, last.text).map((text) => ({ of: [verb, last], text })) : []));
}

/** Each word once, with what may stand for it at any of its places, such as "webhook" and "websocket" for "web". */
function distinct(words: readonly QueryWord[]): QueryWord[] {
  const found = new Map<string, QueryWord>();
  for (const word of words) {
    const { compounds = [], composed = [], acronyms = [], types = [], synonyms = [] } = found.get(word.text) ?? {};
    found.set(word.text, {
      ...word,
      compounds: onceEach([...compounds, ...word.compounds], ({ text, asWritten }) => `${text} ${asWritten}`),
      composed: [...new Set([...composed, ...word.composed])],
      acronyms: onceEach([...acronyms, ...word.acronyms], ({ piece }) => piece.text),
      types: [...new Set([...types, ...word.types])],
      synonyms: onceEach([...synonyms, ...word.synonyms], (name) => name.map(({ text }) => text).join(" ")),
    });
  }
  return [...found.values()];
}

const onceEach = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] => [
  ...new Map(items.map((item) => [keyOf(item), item])).values(),
];

/** A version, with the "v" that some write before it and others do not; "2.x" is any version 2. */
const VERSION = /^[^\p{L}\p{N}]*(v?\d+)(?:\.\d+)*(\.x)?[^\p{L}\p{N}]*$/iu;
const otherVersion = (version: string): string => (/^v/i.test(version) ? version.slice(1) : `v${version}`);

function wordsOf(term: string): QueryWord[] {
  const [, major, anyMinor] = VERSION.exec(term.toLowerCase()) ?? [];
  const amounts = otherNumbers(term)
    .filter(isIndexed)
    .map((amount) => amount.split(" ").map(pieceToStem));
  const words = wordsAlone(term).slice(0, anyMinor ? -1 : undefined);
  const date = dateIn(term);
  return words.map((word, place) => {
    const version = place === 0 && major ? [[pieceToStem(otherVersion(major))]] : [];
    const dated = (date?.others[place] ?? []).map((other) => [pieceToStem(other)]);
    return { ...word, synonyms: [...word.synonyms, ...version, ...amounts, ...dated] };
  });
}

const otherNumbers = (term: string): string[] => [...otherAmounts(term), ...otherUnits(term), ...otherTimes(term)];

function wordsAlone(term: string): QueryWord[] {
  return (term.match(WORD) ?? []).flatMap((word) => {
    const rest = word.replace(RUN, " ").match(WORD) ?? [];
    const twos = (word.match(NEIGHBOURS.two) ?? []).flatMap((run) => neighboursOf(run, 2));
    const threes = (word.match(NEIGHBOURS.three) ?? []).flatMap((run) => neighboursOf(run, 3));
    return [...rest.map(plainWord), ...twos, ...threes];
  });
}

/** What most words do not have. */
const NOTHING_ELSE: Omit<QueryWord, "text" | "piece"> = {
  ...{ parts: [], asWritten: [], groups: [], forms: [], inOtherScripts: [], compounds: [], composed: [] },
  ...{ otherScripts: [], acronyms: [], types: [], synonyms: [], isPair: false, isLast: false },
};

/** A number that may be written in groups, or apart from its unit. */
const GROUPED = /^(?:\d{4,12}|\d{1,6}\p{L}{2,3})$/u;

/** "JWTs" is no name in camelCase. */
const PLURAL_OF_INITIALS = /^\p{Lu}{2,}s$/u;

function plainWord(word: string): QueryWord {
  const parts = (PLURAL_OF_INITIALS.test(word) ? word.toLowerCase() : word)
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .split(" ");
  const same = synonymsOf(word.toLowerCase());
  const otherForms = [...(FORMS.get(word.toLowerCase()) ?? []).map((form) => [form]), ...separate(word.toLowerCase())];
  return {
    ...NOTHING_ELSE,
    text: word.toLowerCase(),
    piece: pieceToStem(word),
    parts: parts.length > 1 ? parts.map(pieceToStem) : [],
    asWritten: parts.length > 1 ? [pieceAsWritten(word)] : [],
    groups: GROUPED.test(word) ? (splitWord(word)[0] ?? []).map(pieceToStem) : [],
    forms: [
      ...otherForms.map((form) => form.map(pieceToStem)),
      ...(WRITTEN_FORMS.get(word.toLowerCase()) ?? []).map((form) => [pieceAsWritten(form)]),
    ],
    inOtherScripts: otherWritings(word.toLowerCase()).map((pieces) => pieces.map(({ text }) => text)),
    otherScripts: withUmlauts(word.toLowerCase()),
    types: typesNamed(word.toLowerCase()),
    synonyms: same.map((name) => name.split(" ").map(pieceToStem)),
  };
}

const isOneWord = ({ length }: readonly Piece[]): boolean => length === 1;

/** Splits a run of characters without spaces between words: into each `many` neighbours. */
function neighboursOf(run: string, many: number): QueryWord[] {
  const characters = [...run];
  const places = Math.max(1, characters.length - many + 1);
  const parts = characters.slice(0, places).map((_, place) => characters.slice(place, place + many).join(""));
  // In runs of characters of two code units, places would differ.
  const names = characters.length === run.length ? writingsIn(run) : [];
  return parts.map((part, place) => ({
    ...NOTHING_ELSE,
    ...{ text: part, piece: pieceAsWritten(part), otherScripts: otherScripts(part), isPair: true },
    ...writingsAt(names.filter(({ name, start }) => start <= place && place + many <= start + name.length)),
  }));
}
