import fc from "fast-check";
import { expect, it, vi } from "vitest";
import type { Lexicon } from "../../../src/features/memories/words/alike.js";
import { resolve } from "../../../src/features/memories/words/concepts.js";
import { finderOf } from "../../../src/features/memories/search/occurrences.js";
import { planSearch } from "../../../src/features/memories/words/plan.js";
import { readQuery } from "../../../src/features/memories/words/query.js";
import { findGrowth } from "../../support/growth.js";
import { snippetOf } from "../../../src/features/memories/search/snippet.js";
import { LIMITS } from "../../../src/limits.js";
import { withinEffort } from "../../support/effort.js";
import { roundsOf } from "../../support/rounds.js";

/** CPU time for work that takes up to 0.1 s: one request must not block all others. */
const EFFORT_MAX_MS = 1_000;
/** Four times the maximum of a query: work that grows with the square of the length takes sixteen times as long. */
const QUERY_LENGTH = 4 * LIMITS.search.queryLength;
const TEXT_LENGTH = 10_000;

/** What a search treats differently: letters, punctuation, brackets, quotes, other scripts, characters for several. */
const PARTS = ["a", "B", "1", "中", "ก", "㌖", "ﷺ", "。", "\u0301", "-", ".", "+", "(", "]", '"', ",", " "];

/** How a query is made: runs of two parts, followed by an end, repeated with something in between. */
interface Recipe {
  readonly one: string;
  readonly other: string;
  readonly end: string;
  readonly between: string;
}

const recipes: fc.Arbitrary<Recipe> = fc.record({
  one: fc.constantFrom(...PARTS),
  other: fc.constantFrom(...PARTS),
  end: fc.constantFrom("", "x", "+x", '"'),
  between: fc.constantFrom("", " ", "-"),
});
/** Each part alone, and each after opening brackets, which are removed one by one. */
const PLAIN = ["", "("].flatMap((one) => PARTS.map((other): [Recipe] => [{ one, other, end: "+x", between: " " }]));

/** A query with runs of this length, and a text that nearly matches it everywhere. */
function prepare({ one, other, end, between }: Recipe, times: number) {
  const run = one.repeat(times) + other.repeat(times);
  const query = (run + end + between).repeat(QUERY_LENGTH / times / 2).slice(0, QUERY_LENGTH - end.length) + end;
  const text = `${run.repeat(2)}${between}x`;
  return { query, text: text.repeat(TEXT_LENGTH / text.length + 1).slice(0, TEXT_LENGTH) };
}

/** A graph that has every word. */
const EVERY_WORD: Lexicon = {
  words: async (pieces) =>
    pieces.map(({ text }, index) => ({ place: index + 1, lexemes: [text], documents: 1, known: true, memories: 1 })),
  alike: async (_words, spellings) =>
    spellings.map((word) => ({ asked: "", word, stem: [word], documents: 1, begins: false })),
};

/** A graph that has all words that may be meant instead of those of a query. */
const OTHER_WORDS: Lexicon = {
  words: async (pieces) =>
    pieces.map(({ text }, index) => ({ place: index + 1, lexemes: [text], documents: 0, known: false, memories: 9 })),
  alike: async (words, spellings, beginnings) => [
    ...(await EVERY_WORD.alike(words, spellings, beginnings)),
    ...beginnings.flatMap((asked) =>
      Array.from({ length: LIMITS.search.alike }, (_, end) => {
        const word = `${asked}${end}`;
        return { asked, word, stem: [word], documents: 1, begins: true };
      }),
    ),
  ],
};

const ANYWHERE = { types: [], tags: [], anyTag: false, isFiltered: false };

it("reads any query and finds its words in texts within little CPU time", async () => {
  await fc.assert(
    fc.asyncProperty(recipes, async (recipe) => {
      for (const times of [30, QUERY_LENGTH / 2]) {
        const { query, text } = prepare(recipe, times);
        const read = withinEffort(EFFORT_MAX_MS, () => readQuery(query));
        const resolved = await resolve(read, EVERY_WORD);
        const { scored } = planSearch(resolved, ANYWHERE, { isPhrase: false, bounds: LIMITS.search });
        withinEffort(EFFORT_MAX_MS, () => snippetOf({ text, goesOn: false, summary: null }, finderOf(scored)));
      }
    }),
    { numRuns: PLAIN.length + roundsOf(100), examples: PLAIN, endOnFailure: true },
  );
});

it.each([
  ["once all words were found often enough", "w", TEXT_LENGTH / 50],
  ["in search of another word", "w rare", TEXT_LENGTH / 5],
])("looks at few places of a text that repeats a word, %s", async (_when, query, most) => {
  const resolved = await resolve(readQuery(query), EVERY_WORD);
  const { scored } = planSearch(resolved, ANYWHERE, { isPhrase: false, bounds: LIMITS.search });
  const find = finderOf(scored);
  const text = "w ".repeat(TEXT_LENGTH / 2);
  using looks = vi.spyOn(RegExp.prototype, "exec");

  expect(find(text).length).toBeGreaterThan(0);
  expect(looks.mock.calls.filter(([searched]) => searched.length === text.length).length).toBeLessThanOrEqual(most);
});

it("folds each accented letter once, however many of them and however many texts there are", async () => {
  const resolved = await resolve(readQuery("café"), EVERY_WORD);
  const find = finderOf(planSearch(resolved, ANYWHERE, { isPhrase: false, bounds: LIMITS.search }).scored);
  const text = "Được đặt ở một quán café. ".repeat(100);
  find(text);
  using folds = vi.spyOn(String.prototype, "normalize");

  expect(find(text).length).toBeGreaterThan(10);
  expect(folds).not.toHaveBeenCalled();
});

it.each([
  ["misspelt words", "qzvkxtolm jxwbrfudk vqhgzlimp zkdwcnaxb xjtfmpouv wpbqsgeck"],
  [
    "long words",
    ["a", "b", "c", "d", "e", "f"].map((letter) => `${letter}rechnungsverbindungsserverumstellung`).join(" "),
  ],
  ["Chinese characters that are written in several ways", "干台发复历系只后面里钟松卷制冲升游范余岳".repeat(50)],
  ["neighbours that form words", "Nummer Rechnung Server Umstellung Kunde Daten Verbindung Sequenz Ablauf Zeitung"],
])("looks up few words instead of %s, also in a graph that has all of them", async (_what, query) => {
  const { concepts } = await resolve(readQuery(query.slice(0, LIMITS.search.queryLength)), OTHER_WORDS);

  const others = concepts.reduce((sum, { variants }) => sum + variants.length - 1, 0);
  expect(others).toBeGreaterThan(LIMITS.search.variants / 3);
  expect(others).toBeLessThanOrEqual(LIMITS.search.variants);
});

it("looks for the beginnings of few compounds, however many words a query has", async () => {
  const asked: number[] = [];
  const counted: Lexicon = {
    words: OTHER_WORDS.words,
    alike: async (words, spellings, beginnings) => {
      asked.push(beginnings.length);
      return OTHER_WORDS.alike(words, spellings, beginnings);
    },
  };
  await resolve(readQuery("Regeln der Passwörter im Zugriff auf Konten, Server und Archive für Kunden"), counted);

  expect(asked[0]).toBe(LIMITS.search.misspelt + LIMITS.search.composed);
});

it("reads each word that may be meant a few times, however many words the query has", async () => {
  let reads = 0;
  let rows = 0;
  const counted: Lexicon = {
    words: OTHER_WORDS.words,
    alike: async (...asked) => {
      const found = await OTHER_WORDS.alike(...asked);
      rows += found.length;
      return found.map((row) => new Proxy(row, { get: (target, name) => (reads++, Reflect.get(target, name)) }));
    },
  };
  const words = Array.from({ length: LIMITS.search.terms }, (_, place) =>
    `w${String(place).repeat(4)}ord`.slice(0, 14),
  );

  await resolve(
    readQuery(words.map((word) => word.replaceAll(/\d/g, (digit) => "abcdefghij".charAt(Number(digit)))).join(" ")),
    counted,
  );

  expect(rows).toBeGreaterThan(1_000);
  expect(reads).toBeLessThan(12 * rows);
});

it.each(["1.12.2025", "pull requests of December 2025", "sign up, then continuous integration", "dead letter queue"])(
  "counts each word that %s may stand for once",
  async (query) => {
    const { concepts } = await resolve(readQuery(query), EVERY_WORD);

    for (const { text, variants } of concepts) {
      const lexemes = variants.map((variant) => variant.lexemes.join(" "));
      expect([text, lexemes]).toEqual([text, [...new Set(lexemes)]]);
    }
  },
);

it("looks up all that one incomplete word may mean", async () => {
  const { concepts } = await resolve(readQuery("conn"), OTHER_WORDS);

  expect(concepts[0]?.variants.length).toBeGreaterThan(LIMITS.search.alike);
});

it("looks up only the first words of a long query in all ways", () => {
  const verbs = Array.from(
    { length: 60 },
    (_, n) => `aufschreib${String.fromCharCode(97 + (n % 26), 97 + (n % 25))}en`,
  );

  const { words } = readQuery(verbs.join(" ").slice(0, LIMITS.search.queryLength));

  const apart = words.filter(({ forms }) => forms.some(({ length }) => length > 1));
  const typed = words.filter(({ types }) => types.length > 0);
  expect([apart, typed].map(({ length }) => length)).toEqual([LIMITS.search.inflected, LIMITS.search.inflected]);
  expect(words.length).toBeGreaterThan(40);
});

it.each(["a", "é", "登", "サー", "1", "a-", "aB", "ab ", "\u0301"])(
  "reads a query of %j again and again in a time that grows with its length",
  async (piece) => {
    const make = (size: number) => piece.repeat(Math.ceil(size / piece.length));
    const readOften = (query: string) => {
      for (let times = 0; times < 20; times++) readQuery(query);
    };

    expect(await findGrowth(LIMITS.search.queryLength, make, readOften)).toBeUndefined();
  },
);
