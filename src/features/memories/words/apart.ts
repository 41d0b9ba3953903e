import { LIMITS } from "../../../limits.js";
import { fold } from "./fold.js";
import type { QueryWord } from "./query-word.js";
import type { Variant } from "./concepts.js";

/** Words as they are understood, each with its parts as people write a name: "sendreminder" is "send_reminder". */
export type Apart = ReadonlyMap<string, string>;

const PHRASE_OR_WORD = /["“”„‟«»][^"“”„‟«»]+["“”„‟«»]|[\p{L}\p{N}\p{M}]+/gu;

/** A query with some of its words in parts. What is quoted stays as it is. */
export const spellApart = (query: string, apart: Apart): string =>
  query.replace(PHRASE_OR_WORD, (word) => apart.get(fold(word).toLowerCase()) ?? word);

/** Shorter names, such as "GitHub", have mostly little to do with their parts. */
const NAME_LENGTH_MIN = 10;
/** What has more is no name: a thousand letters could have five hundred parts, each to be looked up. */
const NAME_PARTS_MAX = 8;

/** A word of a query, and what it may stand for; the first variant is the word itself. */
export interface WordFound {
  readonly word: QueryWord;
  readonly variants: readonly Variant[];
  /** Whether a memory has the word as it is written. */
  readonly isKnown: boolean;
}

/**
 * Names in camelCase that no memory has as a whole, in no spelling: it may have some of their parts. Only the first ones,
 * as the parts of many would leave no room for other words.
 */
export const namesApart = (words: readonly WordFound[]): Apart =>
  new Map(
    words
      .filter(({ word, variants: [, ...others], isKnown }) => {
        const { length } = word.parts;
        const isName = length > 0 && length <= NAME_PARTS_MAX && word.text.length >= NAME_LENGTH_MIN;
        return isName && !isKnown && others.every(({ way }) => way === "parts");
      })
      .slice(0, LIMITS.search.misspelt)
      .map(({ word }) => [word.text, word.parts.map(({ text }) => text).join("_")]),
  );

/** Unknown words that known ones form, which perhaps no memory has together: "adr21" beside "ADR 7" and "Room 21". */
export const wordsApart = (words: readonly WordFound[]): Apart =>
  new Map(
    words.flatMap(({ word, variants: [, ...others], isKnown }) => {
      const isSplit = ({ way, text }: Variant) => way === "parts" || text.replaceAll(" ", "") === word.text;
      const split = others.find((variant) => variant.lexemes.length > 1 && isSplit(variant));
      return split && !isKnown ? [[word.text, split.text.replaceAll(" ", "_")] as const] : [];
    }),
  );
