import { NEIGHBOURS, UNSPACED } from "./fold.js";
import { separate, withUmlauts } from "./german.js";
import { otherScripts } from "./han.js";
import { type Piece, pieceAsWritten, pieceToStem } from "./piece.js";
import { splitWord } from "./spelling.js";
import { synonymsOf, typesNamed } from "./synonyms.js";
import { FORMS, WRITTEN_FORMS } from "./vocabulary.js";
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
  /** Chinese characters in traditional or simplified script; German umlauts as two letters or one; zeros of numbers. */
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
  /** Its place among all words of the query, with those that are not looked up. */
  readonly position: number;
}

const RUN = new RegExp(`${UNSPACED}+`, "gu");
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** The words of a text, and what may stand for each by itself. */
export function wordsAlone(term: string): QueryWord[] {
  return (term.match(WORD) ?? []).flatMap((word) => {
    const rest = word.replace(RUN, " ").match(WORD) ?? [];
    const twos = (word.match(NEIGHBOURS.two) ?? []).flatMap((run) => neighboursOf(run, 2));
    const threes = (word.match(NEIGHBOURS.three) ?? []).flatMap((run) => neighboursOf(run, 3));
    return [...rest.map(plainWord), ...twos, ...threes];
  });
}

/** What most words do not have. */
const NOTHING_ELSE: Omit<QueryWord, "text" | "piece"> = {
  parts: [],
  asWritten: [],
  groups: [],
  forms: [],
  inOtherScripts: [],
  compounds: [],
  composed: [],
  otherScripts: [],
  acronyms: [],
  types: [],
  synonyms: [],
  isPair: false,
  isLast: false,
  position: 0,
};

/** A number that may be written in groups, or apart from its unit. */
const GROUPED = /^(?:\d{4,12}|\d{1,6}\p{L}{2,3})$/u;

/** A number with zeros before it, as in "ADR-0021", and without. Not of two digits: these are mostly parts of a date. */
function otherZeros(word: string): string[] {
  const digits = /^(?!0\d$)0{0,5}([1-9]\d{0,3})$/.exec(word)?.[1];
  if (digits === undefined) return [];
  const padded = [3, 4, 5, 6].map((length) => digits.padStart(length, "0"));
  return [...new Set([digits, ...padded])].filter((other) => other !== word);
}

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
    otherScripts: [...withUmlauts(word.toLowerCase()), ...otherZeros(word)],
    types: typesNamed(word.toLowerCase()),
    synonyms: same.map((name) => name.split(" ").map(pieceToStem)),
  };
}

/** Splits a run of characters without spaces between words: into each `many` neighbours. */
function neighboursOf(run: string, many: number): QueryWord[] {
  const characters = [...run];
  const places = Math.max(1, characters.length - many + 1);
  const parts = characters.slice(0, places).map((_, place) => characters.slice(place, place + many).join(""));
  // In runs of characters of two code units, places would differ.
  const names = characters.length === run.length ? writingsIn(run) : [];
  return parts.map((part, place) => ({
    ...NOTHING_ELSE,
    text: part,
    piece: pieceAsWritten(part),
    otherScripts: otherScripts(part),
    isPair: true,
    ...writingsAt(names.filter(({ name, start }) => start <= place && place + many <= start + name.length)),
  }));
}
