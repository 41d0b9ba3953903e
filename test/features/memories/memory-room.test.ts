import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { verifyGraphs } from "../../../src/features/memories/index.js";
import { createRelationship } from "../../../src/features/relationships/create-relationship.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { LIMITS } from "../../../src/limits.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

const { versions: VERSIONS, relationships: RELATIONSHIPS } = LIMITS.memory;
const NOTE = { type: "general", title: "A note", content: "Something." };

/** Gives a memory further versions or relationships by SQL. */
async function fill(
  { database: { pool } }: World,
  { caller }: Actor,
  id: string,
  wanted: { versions?: number; links?: number; other?: string },
) {
  const place = [caller.personalGraphId, id];
  const { versions = 0, links = 0, other } = wanted;
  await pool.query(
    `INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, tags, importance, changed_by, changed_at)
     SELECT graph_id, id, n, type, 'Version ' || n, repeat(md5(n::text), 50), tags, importance, updated_by, now()
     FROM memory, generate_series(1, $3::int) n WHERE graph_id = $1 AND id = $2`,
    [...place, versions],
  );
  await pool.query("UPDATE memory SET version = $3::int + 1 WHERE graph_id = $1 AND id = $2", [...place, versions]);
  await pool.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, context, created_by, created_at)
     SELECT $1, gen_random_uuid(), CASE WHEN n % 2 = 0 THEN $2::uuid ELSE $3 END, CASE WHEN n % 2 = 0 THEN $3 ELSE $2::uuid END,
       'TYPE_' || n, repeat('because ', 20), $4, now() FROM generate_series(1, $5::int) n`,
    [...place, other ?? null, caller.userId, links],
  );
  await pool.query(
    "UPDATE graph_usage u SET bytes = measured.bytes FROM measure_graph($1) measured WHERE u.graph_id = $1",
    [caller.personalGraphId],
  );
}

async function miscounted({ database }: World): Promise<unknown[]> {
  const found = [];
  for await (const graph of verifyGraphs(database, { repair: false })) found.push(graph);
  return found;
}

it("keeps the documented number of earlier versions, and drops the oldest for a new one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await ann.did(createMemory, NOTE);
  await fill(world, ann, id, { versions: VERSIONS - 1 });
  const oldest = async () => {
    const { rows } = await world.database.pool.query<{ oldest: number; count: number }>(
      "SELECT min(version)::int AS oldest, count(*)::int AS count FROM memory_version WHERE memory_id = $1",
      [id],
    );
    return rows[0];
  };

  await ann.did(updateMemory, { id, title: "The last that fits" });
  expect(await oldest()).toEqual({ oldest: 1, count: VERSIONS });
  await ann.did(updateMemory, { id, title: "One more" });

  expect(await oldest()).toEqual({ oldest: 2, count: VERSIONS });
  const { versions } = await ann.did(memoryVersions, { id, limit: 3 });
  expect(versions.map(({ version, title }) => [version, title])).toEqual([
    [VERSIONS + 2, "One more"],
    [VERSIONS + 1, "The last that fits"],
    [VERSIONS, "A note"],
  ]);
  expect(await miscounted(world)).toEqual([]);
});

it("lets a memory have the documented number of relationships in both directions, and refuses one more", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [hub, other, third] = [
    await ann.did(createMemory, NOTE),
    await ann.did(createMemory, NOTE),
    await ann.did(createMemory, NOTE),
  ];
  await fill(world, ann, hub.id, { links: RELATIONSHIPS - 1, other: other.id });
  const [to, from] = [
    { fromMemoryId: third.id, toMemoryId: hub.id, relationshipType: "SOLVES" },
    { fromMemoryId: hub.id, toMemoryId: third.id, relationshipType: "CAUSES" },
  ];

  const last = await ann.did(createRelationship, to);

  for (const one of [from, { ...to, relationshipType: "CAUSES" }]) {
    const verdict = await ann.does(createRelationship, one);
    expect(verdict).toBeRefused("conflict", "too_many_relationships");
    expect(verdict).toMatchObject({
      failure: {
        details: { id: hub.id, relationships_max: RELATIONSHIPS },
        // Agents, who cannot delete a relationship, read the first of these alone.
        message: expect.stringMatching(
          /Link another memory\. Or delete some of them first, with `deleteRelationship`\.$/,
        ),
      },
    });
  }
  expect(await ann.does(createRelationship, to)).toBeRefused("conflict", "relationship_exists");
  await ann.did(deleteRelationship, { id: last.id });
  await ann.did(createRelationship, from);
  expect(await miscounted(world)).toEqual([]);
});

it("deletes a memory with the most versions and relationships, and counts correctly", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await ann.did(createMemory, NOTE);
  const other = await ann.did(createMemory, NOTE);
  await fill(world, ann, id, { versions: VERSIONS, links: RELATIONSHIPS, other: other.id });

  await ann.did(deleteMemory, { id });

  expect(await miscounted(world)).toEqual([]);
});
