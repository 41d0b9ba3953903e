import { expect, it } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { countWordsOfGraph } from "../../../src/features/memories/words/count-words.js";
import { forgetWords } from "../../../src/features/memories/words/forget-words.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { LIMITS } from "../../../src/limits.js";
import { waitingForLocks } from "../../support/locks.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

const note = (content: string) => ({ type: "general", title: "A note", content });

const wordsOf = async ({ database: { pool } }: World, { caller }: Actor): Promise<Map<string, number>> => {
  const { rows } = await pool.query<{ word: string; documents: number }>(
    "SELECT word, documents FROM lexicon WHERE graph_id = $1",
    [caller.personalGraphId],
  );
  return new Map(rows.map(({ word, documents }) => [word, documents]));
};

/** Runs the chore until nothing is left, for removals this many hours ago. Returns the number of runs that did work. */
async function forgetAll(world: World, hours = 0): Promise<number> {
  let turns = 0;
  while (await forgetWords(world.services, hours)) turns++;
  return turns;
}

it("forgets the words of a deleted memory, but no word that another memory has", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const { id } = await ann.did(createMemory, note("The password is xyzzyplugh, say no more: don't\\ `'quote'`."));
  await ann.did(createMemory, note("The password is safe."));
  await bob.did(createMemory, note("Bob says xyzzyplugh."));

  await ann.did(deleteMemory, { id });
  const queries = ["xyzzyplug", "xyzzyplugh", "xyzy", "the pasword xyzzyplag"];
  const answers = await Promise.all(queries.map((query) => ann.did(searchMemories, { query, explain: true })));
  await forgetAll(world);

  // Not even before.
  expect(JSON.stringify(answers)).not.toContain("xyzzyplugh");
  const words = await wordsOf(world, ann);
  expect([...words.keys()].filter((word) => word.startsWith("xyzzy"))).toEqual([]);
  expect(words.get("password")).toBe(1);
  expect(words.get("")).toBe(1);
  expect((await wordsOf(world, bob)).has("xyzzyplugh")).toBe(true);
  const lexicon = await world.database.pool.query(
    `SELECT word FROM lexicon l WHERE graph_id = $1 AND word <> ''
       AND NOT EXISTS (SELECT FROM memory m, lexicon_words(m.search) w WHERE m.graph_id = l.graph_id AND w = l.word)`,
    [ann.caller.personalGraphId],
  );
  expect(lexicon.rows).toEqual([]);
  expect((await ann.did(searchMemories, { query: "pasword" })).total).toBe(1);
});

it("forgets the words that an update removed from a memory", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await ann.did(createMemory, note("Something xyzzyplugh."));

  await ann.did(updateMemory, { id, content: "Something else." });
  await forgetAll(world);

  expect((await wordsOf(world, ann)).has("xyzzyplugh")).toBe(false);
});

it("checks a graph only some hours after words were removed from it, in bounded steps", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await forgetAll(world);
  const words = Array.from({ length: 3 * LIMITS.search.forgottenWords }, (_, at) => `word${at}x`).join(" ");
  const { id } = await ann.did(createMemory, note(words));
  expect(await forgetAll(world)).toBe(0);

  await ann.did(deleteMemory, { id });
  expect(await forgetAll(world, LIMITS.search.forgottenAfterHours)).toBe(0);
  expect(await forgetAll(world)).toBeGreaterThan(3);

  expect([...(await wordsOf(world, ann)).keys()]).toEqual([""]);
  expect(await forgetAll(world)).toBe(0);
});

it("keeps the words of memories that are stored while words are forgotten", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const said = (round: number) =>
    note(`Round ${round}: ${Array.from({ length: 30 }, (_, at) => `secret${at}y`).join(" ")}`);
  const stop = new AbortController();
  const forgetting = (async () => {
    while (!stop.signal.aborted) await forgetWords(world.services, 0);
  })();

  // The only memory with these words is deleted and stored again repeatedly.
  let { id } = await ann.did(createMemory, said(0));
  for (let round = 1; round < 40; round++) {
    const [next] = await Promise.all([ann.did(createMemory, said(round)), ann.did(deleteMemory, { id })]);
    ({ id } = next);
  }
  stop.abort();
  await forgetting;

  const words = await wordsOf(world, ann);
  expect(Array.from({ length: 30 }, (_, at) => `secret${at}y`).filter((word) => !words.has(word))).toEqual([]);
  await countWordsOfGraph(world.services);
  await forgetAll(world);
  expect(words.has("secret0y")).toBe(true);
});

it.each<[string, (ann: Actor, id: string, given: ReturnType<typeof note>) => Promise<unknown>]>([
  ["stored", (ann, _id, given) => ann.did(createMemory, given)],
  ["stored with others", (ann, _id, given) => ann.did(createMemories, { memories: [given, note("Else.")] })],
  ["changed", (ann, id, given) => ann.did(updateMemory, { id, ...given })],
])("keeps the words of a memory that is %s and about to be committed", async (_how, write) => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await ann.did(createMemory, note("Something xyzzyplugh."));
  const other = await ann.did(createMemory, note("Nothing yet."));
  await ann.did(deleteMemory, { id });
  // Begins to look at the graph.
  expect(await forgetWords(world.services, 0)).toBe(true);
  const blocker = await world.database.pool.connect();
  await blocker.query("BEGIN");
  await blocker.query("SELECT FROM graph_usage WHERE graph_id = $1 FOR UPDATE", [ann.caller.personalGraphId]);

  const writing = write(ann, other.id, note("Again xyzzyplugh."));
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await forgetWords(world.services, 0);
  let isOver = false;
  const forgetting = forgetWords(world.services, 0).finally(() => (isOver = true));
  // Now it knows which words no memory has, and waits a moment for the writer.
  await expect.poll(async () => isOver || (await isSleeping(world)), { interval: 5 }).toBe(true);
  await blocker.query("COMMIT");
  blocker.release();
  await Promise.all([writing, forgetting]);

  expect((await wordsOf(world, ann)).has("xyzzyplugh")).toBe(true);
});

const isSleeping = async ({ database: { pool } }: World): Promise<boolean> => {
  const sleeping = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
  return (await pool.query(sleeping)).rows.length > 0;
};

it("looks at a graph from which something is taken all the time, too", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, two] = [await ann.did(createMemory, note("One.")), await ann.did(createMemory, note("Two."))];
  await ann.did(deleteMemory, { id: one.id });
  await world.database.pool.query("UPDATE graph_usage SET words_doubted_at = now() - interval '5 hours'");
  await ann.did(deleteMemory, { id: two.id });

  expect(await forgetAll(world, 4)).toBeGreaterThan(0);
  expect((await wordsOf(world, ann)).has("two")).toBe(false);
});
