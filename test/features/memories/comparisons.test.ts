import { expect, it } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { deleteMemories } from "../../../src/features/bulk/delete-memories.js";
import { exportGraph } from "../../../src/features/bulk/export-graph.js";
import { restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { relatedMemories } from "../../../src/features/memories/related-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { relationships } from "../../../src/features/relationships/list-relationships.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { graphStatistics } from "../../../src/features/views/graph-statistics.js";
import { memoryGraph } from "../../../src/features/views/memory-graph.js";
import { memoryPath } from "../../../src/features/views/memory-path.js";
import { recentActivity } from "../../../src/features/views/recent-activity.js";
import { LIMITS } from "../../../src/limits.js";
import type { Operation } from "../../../src/operation/operation.js";
import { hearComparisons } from "../../support/comparisons.js";
import { manyLinks, manyMemories } from "../../support/memories.js";
import { type Actor, createWorld } from "../../support/world.js";

/** Memories of the graph, and how many of them each of two hubs is linked to. */
const MEMORIES = 2_000;
const LINKED = 900;
/** The most rows that one step of a statement may look at. To compare some hundred rows with each other takes more. */
const LOOKED_AT_MAX = 60_000;

const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));
const { items } = LIMITS.bulk;
const NOTE = { type: "general", title: "A note", content: "Said." };
const word = (index: number) => `w${((index * 7_919) % 100_003).toString(36)}x`;

/** What each operation is asked for: the most that it takes. */
function asked(ids: readonly string[]): ReadonlyArray<readonly [operation: Operation, input: object]> {
  const [hub = "", other = ""] = ids;
  const tags = times(50, (index) => `tag${index}`);
  const types = times(50, (index) => `type${index}`);
  const links = (prefix: string) =>
    times(items, (index) => ({ fromMemoryId: ids[index], toMemoryId: ids[index + 1], relationshipType: prefix }));
  const past = (index: number) => `019b0000-0000-7000-8000-${String(index).padStart(12, "0")}`;
  const restored = times(items, (index) => ({ id: past(index), ...NOTE, createdAt: TIME, updatedAt: TIME }));
  return [
    [createMemory, { ...NOTE, content: times(8_000, word).join(" ").slice(0, 50_000), similar: true }],
    [
      createMemories,
      { memories: times(items, (index) => ({ ...NOTE, content: times(40, (n) => word(index * 40 + n)).join(" ") })) },
    ],
    [createMemories, { relationships: links("NEXT") }],
    [createMemories, { relationships: links("NEXT") }],
    [restoreMemories, { memories: restored }],
    [restoreMemories, { memories: restored }],
    [memory, { id: hub }],
    [memories, { limit: 100, tags, tagsMatch: "any" }],
    [memories, { limit: 100, types, minImportance: 0.9 }],
    [relatedMemories, { id: hub, maxDepth: 5, limit: 100 }],
    [relatedMemories, { id: hub, maxDepth: 5, limit: 1_000, eachRelationship: true }],
    [relationships, { memoryId: hub, limit: 100, types: types.map((type) => type.toUpperCase()) }],
    [memoryGraph, { limit: 500 }],
    [memoryGraph, { memoryId: hub, limit: 500, maxDepth: 5 }],
    [memoryPath, { fromMemoryId: hub, toMemoryId: other, maxDepth: 10 }],
    [recentActivity, { days: 365 }],
    [graphStatistics, {}],
    [exportGraph, { limit: 100 }],
    [
      updateMemory,
      {
        id: ids[5],
        content: times(8_000, (index) => word(index + 9_000))
          .join(" ")
          .slice(0, 50_000),
      },
    ],
    [deleteMemories, { ids: ids.slice(600, 600 + items), dryRun: true }],
    [deleteMemories, { ids: ids.slice(600, 600 + items) }],
    [deleteMemories, { tags, tagsMatch: "any", dryRun: true }],
    [createTeam, { name: "Team", maxMembers: 2 }],
    [shareMemories, { ids: ids.slice(10, 510), dropRelationships: true }],
  ] as ReadonlyArray<readonly [Operation, object]>;
}

const TIME = "2026-01-01T00:00:00Z";

it("compares no row of a list with each of another in any statement, except in searches", async () => {
  await using world = await createWorld({ fresh: true });
  using heard = await hearComparisons(world.databaseUrl);
  const { pool, reservedPool, searchPool } = world.database;
  await expect.poll(() => pool.totalCount + reservedPool.totalCount + searchPool.totalCount).toBe(0);
  const ann = await graphOf(await world.user(), world);
  const most: Record<string, number> = {};

  for (const [operation, input] of asked(ann.ids)) {
    heard.rows.clear();
    await ann.actor.did(operation, input);
    expect(heard.rows.size, `plans of ${operation.name}`).toBeGreaterThan(0);
    for (const [text, rows] of heard.rows)
      if (rows > LOOKED_AT_MAX) most[`${operation.name}: ${text.slice(0, 300)}`] = rows;
  }

  expect(most).toEqual({});
});

it("compares a memory with each way of a concept only if it has the concept, and explains hits at once", async () => {
  await using world = await createWorld({ fresh: true });
  using heard = await hearComparisons(world.databaseUrl);
  const { pool, reservedPool, searchPool } = world.database;
  await expect.poll(() => pool.totalCount + reservedPool.totalCount + searchPool.totalCount).toBe(0);
  const ann = await world.user();
  const words = times(12, (index) => `${word(index)}yz`);
  const each = 50;
  for (const one of words) await manyMemories(world, ann, each, one);
  heard.rows.clear();

  const { total } = await ann.did(searchMemories, { query: words.join(" "), explain: true, limit: 50 });

  const [, rows] = [...heard.rows].find(([text]) => text.startsWith("WITH gate AS")) ?? [];
  expect(total).toBe(words.length * each);
  expect(rows).toBeLessThan((words.length + 3) * total);
});

async function graphOf(actor: Actor, world: Awaited<ReturnType<typeof createWorld>>) {
  const ids = (await manyMemories(world, actor, MEMORIES)).map(({ id }) => id);
  const [hub = "", other = ""] = ids;
  const linked = ids.slice(10);
  await manyLinks(
    world,
    actor,
    linked.slice(0, LINKED).map((id) => [hub, id] as const),
  );
  await manyLinks(
    world,
    actor,
    linked.slice(LINKED, 2 * LINKED).map((id) => [other, id] as const),
  );
  await world.database.pool.query("SELECT count_words($1, 10000)", [actor.caller.personalGraphId]);
  return { actor, ids };
}
