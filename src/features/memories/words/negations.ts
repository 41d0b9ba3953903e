import { LIMITS } from "../../../limits.js";
import { fold } from "./fold.js";

const wordsOf = (list: string): readonly string[] => fold(list).split(" ");

/** Words that deny what follows: in a language, each may stand for the after, such as "without" for "no". */
const NEGATIONS: ReadonlyArray<readonly string[]> = [
  wordsOf("not no nor never without cannot t"),
  wordsOf("nicht kein keine keinen keinem keiner nie ohne"),
  wordsOf("ne pas sans jamais"),
  wordsOf("no nunca sin ningún ninguna"),
  wordsOf("não nunca sem nenhum nenhuma"),
  wordsOf("non mai senza nessun nessuna"),
  wordsOf("niet geen nooit zonder"),
  wordsOf("nie bez nigdy"),
  wordsOf("inte ikke ingen inget inga utan uden uten"),
  wordsOf("не без нет немає ніколи никогда"),
];

/** Of these, those that stand behind what they deny: "antwortet nicht". */
const DENIALS_BEHIND = wordsOf("nicht pas niet inte ikke");

/** Stop words that say where or when the next one is, of which another one says something else. */
const PREPOSITIONS = wordsOf("before after above below under between during against until only");
/** The same for what is before them: "server down", "build times out". */
const ADVERBS = wordsOf("up down out off over again once");

/** Each of all these words, with those that may stand for it. */
const TURNING = new Map<string, readonly string[]>([
  ...NEGATIONS.flat().map((word) => [word, NEGATIONS.filter((some) => some.includes(word)).flat()] as const),
  ...[...PREPOSITIONS, ...ADVERBS].map((word) => [word, [word]] as const),
]);

/** How many words may stand between such a word and the next, or the last, that the index has: "not an admin". */
const BETWEEN_MAX = 2;

/** A place of a query where a word changes what others mean. */
export interface Turned {
  /** The word, and those that may stand for it. */
  readonly turning: readonly string[];
  readonly isAdverb: boolean;
  /** Whether it may change the word before it, as adverbs do. */
  readonly isBehind: boolean;
  /** The words after it. */
  readonly after: readonly string[];
  /** The words before it, the nearest first. */
  readonly before: readonly string[];
}

/**
 * The first places of a query where a word changes what others mean, such as "not found" and "server down". The index
 * has no such words.
 */
export function turnedIn(words: readonly string[]): Turned[] {
  const all = words.flatMap((word, place) => {
    const turning = TURNING.get(word);
    // Of "don't", but not of "a t test".
    if (!turning || (word === "t" && !words[place - 1]?.endsWith("n"))) return [];
    const after = words.slice(place + 1, place + 2 + BETWEEN_MAX);
    const before = words.slice(Math.max(0, place - 1 - BETWEEN_MAX), place).reverse();
    const isAdverb = ADVERBS.includes(word);
    return [{ turning, isAdverb, isBehind: isAdverb || DENIALS_BEHIND.includes(word), after, before }];
  });
  return all.slice(0, LIMITS.search.names);
}
