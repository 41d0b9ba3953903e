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

import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

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
