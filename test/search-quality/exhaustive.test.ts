import { expect, it } from "vitest";
import { findMemories } from "../../src/features/memories/words/find-memories.js";
import { type Chance, chanceOf, oneOf, whole } from "../bench/text.js";
import { roundsOf } from "../support/rounds.js";
import { createWorld } from "../support/world.js";
import { type LabelledMemory } from "./labelled.js";
import { storeMemories } from "./measure.js";
import { stranger } from "./strangers.js";

const MEMORIES = 10_000;
const TOP = 10;
/** Reads everything: no limit cuts anything off, and every candidate's words are read. */
const ALL = {
  concepts: 64,
  commonConcepts: 64,
  candidates: MEMORIES * 100,
  commonCandidates: MEMORIES * 100,
  readBytes: 1_000_000_000,
  walkedRows: 0,
};

it("finds the same as if it read every memory", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const memories = Array.from({ length: MEMORIES }, (_, index) => stranger(index));
  await storeMemories(world, ann, memories);
  const ask = (query: string, limit: number, bounds?: typeof ALL) =>
    world.database.search((run) => {
      const wishes = { query, limit, offset: 0, explain: false, withText: false, withLinks: false };
      return findMemories(run, ann.caller.personalGraphId, wishes, bounds);
    });

  const shares: { query: string; share: number }[] = [];
  for (let round = 0; round < roundsOf(200); round++) {
    const query = randomQuery(memories, chanceOf(91, round));
    const exhaustive = (await ask(query, 1_000, ALL)).hits;
    const best = exhaustive.slice(0, TOP);
    // A hit with the same relevance as the tenth is equally right.
    const least = best.at(-1)?.relevance ?? 0;
    const right = new Set(exhaustive.filter(({ relevance }) => relevance >= least).map(({ id }) => id));
    const found = (await ask(query, TOP)).hits.filter(({ id }) => right.has(id)).length;
    if (best.length > 0) shares.push({ query, share: found / best.length });
  }

  const mean = shares.reduce((sum, { share }) => sum + share, 0) / shares.length;
  if (process.env["SEARCH_MISSES"])
    console.log(
      mean,
      shares.filter(({ share }) => share < 0.9),
    );
  expect(mean).toBeGreaterThanOrEqual(0.9);
});

/** One to six words of a memory, including common ones. */
function randomQuery(memories: readonly LabelledMemory[], chance: Chance): string {
  const { title, content } = oneOf(chance, memories);
  const words = `${title} ${content}`.match(/[a-z]{3,}/gi) ?? ["timeout"];
  return Array.from({ length: 1 + whole(chance, 6) }, () => oneOf(chance, words)).join(" ");
}
