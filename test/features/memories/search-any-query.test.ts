import fc from "fast-check";
import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { LIMITS } from "../../../src/limits.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { createWorld } from "../../support/world.js";
import { roundsOf } from "../../support/rounds.js";

/** Parts of queries: ordinary words, stop words, punctuation, quotes, joined names, other scripts. */
const PARTS = [
  "and",
  "or",
  "the",
  "not",
  "of",
  "a",
  "I",
  "retry",
  "retries",
  "getUserById",
  "user_id",
  "k8s",
  "pg",
  "ERR_PNPM_001",
  "c++",
  "$x=(y)",
  "ｃ＋＋",
  "™",
  "½",

  "-",
  "--",
  ".",
  "/",
  "_",
  "%",
  "&",
  "|",
  "!",
  ":*",
  "<->",
  "(",
  ")",
  "'",
  '"',
  "\\",
  "$1",
  ";",
  "*",
  "?",
  "@",
  "#",
  "+",

  "日本語",
  "データベース",
  "café",
  "cafe\u0301",
  "Ünïcode",
  "\u{1F600}",
  "\u200B",
  "İ",
  "ß",
  "ﬁ",
  "1",
  "2024-05-01",
  "10.0.0.1",
];

it("answers any query, and finds a memory by its own title", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const query = fc
    .array(fc.tuple(fc.constantFrom(...PARTS), fc.constantFrom("", " ", "-", "/", ".", "_", '"')), {
      minLength: 1,
      maxLength: 12,
    })
    .map((parts) => parts.flat().join(""))
    .filter((text) => /[^\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text));

  await fc.assert(
    fc.asyncProperty(query, fc.boolean(), async (text, isStored) => {
      if (isStored) await ann.did(createMemory, { type: "general", title: text, content: `About ${text}` });
      const verdict = await ann.does(searchMemories, { query: text });
      expect(verdict.ok).toBe(true);
    }),
    { numRuns: roundsOf(300) },
  );
  expect(world.bugs).toEqual([]);
});

it("answers a query of one long word in any script", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  // One to four bytes each; some are folded into several letters, some are looked up by their neighbours.
  const letters = ["x", "α", "क", "\u0958", "ሀ", "ก", "記", "ﷲ", "ﬃ", "\u{10330}", "\u{1d160}"];
  const size = LIMITS.search.queryLength;
  for (const letter of letters) {
    await ann.did(createMemory, { type: "general", title: letter.repeat(100), content: letter.repeat(size) });
    for (const length of [100, 255, 511, 512, 682, 683, size - 4]) {
      const word = letter.repeat(length / letter.normalize("NFC").length);
      for (const query of [word, `"${word}" a`, `a.${word}`, `A${word} b`]) {
        const verdict = await ann.does(searchMemories, { query });
        expect([letter, length, verdict.ok]).toEqual([letter, length, true]);
      }
    }
  }
  expect(world.bugs).toEqual([]);
});
