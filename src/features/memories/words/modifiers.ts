import { fold } from "./fold.js";

const wordsOf = (list: string): readonly string[] => fold(list).split(" ");

/** Words that deny what follows: in a language, each may stand for the others, such as "without" for "no". */
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
const MODIFIERS = new Map<string, readonly string[]>([
  ...NEGATIONS.flat().map((word) => [word, NEGATIONS.filter((some) => some.includes(word)).flat()] as const),
  ...[...PREPOSITIONS, ...ADVERBS].map((word) => [word, [word]] as const),
]);

/** Whether a word changes what those beside it mean. */
export const isModifier = (word: string): boolean => MODIFIERS.has(word);

/** How many words may stand between such a word and the next, or the last, that the index has: "not an admin". */
const BETWEEN_MAX = 2;

/** A query seldom has more. In texts of a megabyte, the pattern of one takes twice as long as that of a quoted phrase. */
const MODIFIERS_MAX = 2;

/** A word of a query that changes what the words beside it mean. */
export interface Modifier {
  /** The word, and those that may stand for it. */
  readonly forms: readonly string[];
  readonly isAdverb: boolean;
  /** Whether it may change the word before it, as adverbs do. */
  readonly isBehind: boolean;
  /** The words after it. */
  readonly after: readonly string[];
  /** The words before it, the nearest first. */
  readonly before: readonly string[];
}

/**
 * The first words of a query that change what those beside them mean, as in "not found" and "server down". The index has
 * none of them.
 */
export function modifiersIn(words: readonly string[]): Modifier[] {
  const all = words.flatMap((word, place) => {
    const forms = MODIFIERS.get(word);
    // Of "don't", but not of "a t test".
    if (!forms || (word === "t" && !words[place - 1]?.endsWith("n"))) return [];
    const after = words.slice(place + 1, place + 2 + BETWEEN_MAX);
    const before = words.slice(Math.max(0, place - 1 - BETWEEN_MAX), place).reverse();
    const isAdverb = ADVERBS.includes(word);
    return [{ forms, isAdverb, isBehind: isAdverb || DENIALS_BEHIND.includes(word), after, before }];
  });
  return all.slice(0, MODIFIERS_MAX);
}
