import { LIMITS } from "../../../limits.js";
import { dateOf } from "./dates.js";
import { join } from "./german.js";
import { pieceAsWritten, pieceToStem } from "./piece.js";
import type { QueryWord } from "./query-word.js";
import { namesLike, typesNamed } from "./synonyms.js";
import { AMBIGUOUS, PARTICLES } from "./vocabulary.js";

/** A name of several words, or a word that means one: memories that have it as it is written rank higher. */
export interface ShortenedName {
  /** All forms of it, of one word or several. */
  readonly names: readonly string[];
  /** The words of the query that are one of these. */
  readonly words: readonly QueryWord[];
  /** It only counts if the graph has one of the words by a variant of these; undefined if it counts anyway. */
  readonly foundAs: readonly string[] | undefined;
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

/** Names of several words in the query that have another form, and words that are one. */
export function shortenedOf(words: readonly QueryWord[]): ShortenedName[] {
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
export function withNeighbours(words: readonly QueryWord[]): QueryWord[] {
  const first = words.slice(0, LIMITS.search.joined);
  const threes = runsOf(first, [3]);
  const joined = [...[...runsOf(words, [2]), ...threes].filter((run) => !isOfNumbers(run)), ...numbersOf(first)]
    .filter((run) => !run.some(({ isPair }) => isPair))
    .map((run) => ({ run, piece: pieceToStem(run.map(({ text }) => text).join("")) }));
  const versions = runsOf(first, [2]).flatMap((run) => {
    const [name = "", version = ""] = run.map(({ text }) => text);
    return NAME.test(name) && VERSION.test(version) ? [{ run, piece: pieceToStem(`${name}v${version}`) }] : [];
  });
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
    compounds: [...joined, ...versions, ...dated].filter(({ run }) => run.includes(word)).map(({ piece }) => piece),
    composed: composed.filter(({ of }) => of.includes(word)).map(({ text }) => text),
    acronyms: [...named, ...initials]
      .filter(({ run }) => run.includes(word))
      .map(({ run, piece, isKnown }) => ({ piece, of: run.map((other) => other.piece), isKnown })),
  }));
}

/** A name and its version, which some write as one: "TLS 1.2" is "TLSv1.2", but no "de 1" is "dev1". */
const [NAME, VERSION] = [/^\p{L}{3,}$/u, /^\d\d?$/];

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
export function distinct(words: readonly QueryWord[]): QueryWord[] {
  const found = new Map<string, QueryWord>();
  for (const word of words) {
    const first = found.get(word.text);
    const { compounds = [], composed = [], acronyms = [], types = [], synonyms = [] } = first ?? {};
    found.set(word.text, {
      ...word,
      position: first?.position ?? word.position,
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
