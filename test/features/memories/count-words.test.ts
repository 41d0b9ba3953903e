import pg from "pg";
import { v7 as uuidv7 } from "uuid";
import { expect, it } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { deleteMemories } from "../../../src/features/bulk/delete-memories.js";
import { restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { putMemory } from "../../../src/features/memories/put-memory.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { countWordsOfGraph } from "../../../src/features/memories/words/count-words.js";
import { aTeam } from "../../support/teams.js";
import { type Actor, createWorld } from "../../support/world.js";

const PERSONAL = { graph: "personal" };
const note = (title: string) => ({ type: "general", title, content: "The cache expires too early." });
const dated = () => ({
  ...note("Old"),
  id: uuidv7({ msecs: 0 }),
  createdAt: new Date(0).toISOString(),
  updatedAt: new Date(0).toISOString(),
});

it("lets every change succeed while the words of its graphs are counted", async () => {
  await using world = await createWorld();
  const { owner } = await aTeam(world);
  const mine = await owner.did(createMemories, { memories: [note("One"), note("Two"), note("Three")], ...PERSONAL });
  await owner.did(createMemory, note("Ours"));
  const [one, two, three] = mine.memoryIds;
  // Not from the pool, which closes connections that look lost.
  const counting = new pg.Client(world.databaseUrl);
  await counting.connect();
  try {
    await counting.query("BEGIN");
    // All of these words are counted for the first time, so each of their rows is locked.
    const { rowCount } = await counting.query(
      "SELECT count_words(graph_id, 10000) FROM graph_usage WHERE memories > 0",
    );
    expect(rowCount).toBe(2);

    await owner.did(createMemory, { ...note("Another early cache"), ...PERSONAL });
    await owner.did(createMemories, { memories: [note("Early"), note("Cache")], ...PERSONAL });
    await owner.did(putMemory, { ...note("Cache again"), clientId: "cache", ...PERSONAL });
    await owner.did(updateMemory, { id: one, title: "The cache, early", ...PERSONAL });
    await owner.did(restoreMemories, { memories: [dated(), dated()], ...PERSONAL });
    await owner.did(shareMemories, { ids: [one, two] });
    await owner.did(deleteMemory, { id: three, ...PERSONAL });
    await owner.did(deleteMemories, { ids: [one, two] });
  } finally {
    await counting.end();
  }
});

it("counts the words of each graph that has gained enough, and looks at no other", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  const people = [await world.user(), await world.user(), await world.user()] as const;
  const [many, few, later] = people;
  const graphOf = ({ caller }: Actor): string => caller.personalGraphId;
  const words = (from: number) => Array.from({ length: 30 }, (_, n) => `word${from + n}`).join(" ");
  const countAll = async (): Promise<string[]> => {
    while (await countWordsOfGraph(world.services));
    const { rows } = await pool.query<{ id: string }>("SELECT graph_id AS id FROM lexicon WHERE word = ''");
    return rows.map(({ id }) => id).sort();
  };
  const noted = async () => (await pool.query("SELECT FROM graph_usage WHERE words_learnt_at IS NOT NULL")).rowCount;
  await many.did(createMemory, { ...note("Many"), content: words(0) });
  for (const actor of [few, later]) await actor.did(createMemory, note("Few"));
  expect(await noted()).toBe(3);

  expect(await countAll()).toEqual([graphOf(many)]);
  expect(await noted()).toBe(0);

  await many.did(createMemory, { ...note("Again"), content: words(100) });
  await few.did(createMemory, { ...note("Enough"), content: words(0) });
  // Words that nobody else sees yet, and a note that comes after the job has looked.
  const storing = new pg.Client(world.databaseUrl);
  await storing.connect();
  try {
    await storing.query("BEGIN");
    await storing.query("SELECT learn_words($1, to_tsvector('simple', $2))", [graphOf(later), words(0)]);
    await later.did(createMemory, note("One more"));
    expect(await countAll()).toEqual([graphOf(many), graphOf(few)].sort());
    await storing.query("SELECT count_in_graph($1, 1, 1, 100, 10000)", [graphOf(later)]);
    expect(await countAll()).toEqual([graphOf(many), graphOf(few)].sort());
    await storing.query("COMMIT");
  } finally {
    await storing.end();
  }
  expect(await countAll()).toEqual(people.map(graphOf).sort());
  expect(await noted()).toBe(0);
  const { rows } = await pool.query("SELECT word FROM lexicon WHERE documents = 0");
  expect(rows).toEqual([]);
});

it("counts graphs in turn, though one has enough new words again each time", async () => {
  await using world = await createWorld();
  const people = [await world.user(), await world.user()];
  const learn = (actor: Actor | undefined, from: number) =>
    actor?.did(createMemory, {
      ...note("More"),
      content: Array.from({ length: 30 }, (_, n) => `word${from + n}`).join(" "),
    });
  const counted = async () =>
    (await world.database.pool.query<{ id: string }>("SELECT graph_id AS id FROM lexicon WHERE word = ''")).rows;
  for (const actor of people) await learn(actor, 0);

  await countWordsOfGraph(world.services);
  const [first] = await counted();
  await learn(
    people.find(({ caller }) => caller.personalGraphId === first?.id),
    100,
  );
  await countWordsOfGraph(world.services);

  expect(await counted()).toHaveLength(2);
});
