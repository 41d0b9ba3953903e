import fc from "fast-check";
import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { createWorld } from "../../support/world.js";
import { roundsOf } from "../../support/rounds.js";

/** Parts of queries: ordinary words, stop words, punctuation, quotes, joined names, other scripts. */
const PARTS = [
  ...[
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
  ],
  ...[
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
  ],
  ...[
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
  ],
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
