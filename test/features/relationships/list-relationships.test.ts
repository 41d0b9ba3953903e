import { expect, it } from "vitest";
import { relationships } from "../../../src/features/relationships/list-relationships.js";
import { aLink, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { rowsRead } from "../../support/rows-read.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

const idsOf = async (actor: Actor, wishes: object = {}) =>
  (await actor.did(relationships, wishes)).relationships.map(({ id }) => id);

it("lists one graph, newest first, and filters by types and by a memory at either end", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const [one, two, three] = await memoriesTitled(ann, "One", "Two", "Three");
  const first = await aLink(ann, one, two, { relationshipType: "CAUSES" });
  const second = await aLink(ann, two, three, { relationshipType: "SOLVES" });
  const third = await aLink(ann, three, one, { relationshipType: "CAUSES" });

  const listed = [third, second, first].map(({ fromTitle: _from, toTitle: _to, ...link }) => link);
  expect((await ann.did(relationships)).relationships).toMatchObject(listed);
  expect(await idsOf(ann, { types: ["CAUSES"] })).toEqual([third.id, first.id]);
  expect(await idsOf(ann, { types: ["SOLVES", "CAUSES", "SOLVES"] })).toEqual([third.id, second.id, first.id]);
  expect(await idsOf(ann, { memoryId: one.id.toUpperCase() })).toEqual([third.id, first.id]);
  expect(await idsOf(ann, { memoryId: two.id, types: ["SOLVES"] })).toEqual([second.id]);
  for (const nobodys of [world.services.newId(), "no id"]) expect(await idsOf(ann, { memoryId: nobodys })).toEqual([]);
  expect(await idsOf(ann, { types: ["FOLLOWS"] })).toEqual([]);
  expect(await idsOf(bob, { memoryId: one.id })).toEqual([]);
  expect(await ann.does(relationships, { types: ["causes"] })).toBeRefused("bad_request");
});

it.each([{}, { types: ["RELATED_TO", "CAUSES"] }, { byHub: true }])(
  "lists everything once, page by page: %o",
  async ({ byHub, ...wishes }: { byHub?: boolean; types?: string[] }) => {
    await using world = await createWorld();
    const ann = await world.user();
    const [hub, ...others] = await manyMemories(world, ann, 31);
    if (!hub) throw new Error("There is no memory.");
    await manyLinks(
      world,
      ann,
      others.map(({ id }, index) => (index % 2 ? [id, hub.id] : [hub.id, id])),
    );
    const input = byHub ? { memoryId: hub.id } : wishes;

    const seen: string[] = [];
    for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages++) {
      const page: { relationships: { id: string }[]; nextCursor: string | null } = await ann.did(relationships, {
        ...input,
        limit: 7,
        cursor,
      });
      seen.push(...page.relationships.map(({ id }) => id));
      cursor = page.nextCursor;
    }

    expect(seen).toHaveLength(30);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
  },
);

it("finds a rare type without reading all relationships of the graph", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const others = await manyMemories(world, ann, 100);
  const [one, two] = await memoriesTitled(ann, "One", "Two");
  await aLink(ann, one, two, { relationshipType: "CAUSES" });
  await manyLinks(
    world,
    ann,
    others.flatMap(({ id }) => others.filter((other) => other.id !== id).map((other) => [id, other.id] as const)),
  );
  await world.database.pool.query("VACUUM ANALYZE relationship");

  const { rows } = await world.database.pool.query<{ "QUERY PLAN": string }>(
    `EXPLAIN SELECT * FROM relationship WHERE graph_id = '${ann.caller.personalGraphId}' AND type = 'CAUSES'
     ORDER BY id DESC LIMIT 21`,
  );
  expect(rows.map((row) => row["QUERY PLAN"]).join("\n")).toContain("relationship_graph_id_type_id_idx");
  expect(await idsOf(ann, { types: ["CAUSES"] })).toHaveLength(1);
});

it("reads only the contexts of the page, however many types are asked for", async () => {
  await using world = await createWorld({ fresh: true });
  const { pool } = world.database;
  const ann = await world.user();
  const [hub, ...others] = await manyMemories(world, ann, 21);
  const pairs = others.map(({ id }) => [hub?.id ?? "", id] as const);
  const types = Array.from({ length: 10 }, (_, index) => `TYPE_${index}`);
  for (const type of types) await manyLinks(world, ann, pairs, type);
  // Outside of their rows, in as many pieces each.
  await pool.query("ALTER TABLE relationship ALTER COLUMN context SET STORAGE EXTERNAL");
  await pool.query("UPDATE relationship SET context = repeat('x', 10000)");
  const [first, before] = [await idsOf(ann, { types: types.slice(0, 1), limit: 10 }), await piecesRead(world)];

  const found = await idsOf(ann, { types, limit: 10 });

  const piecesOfContext = Math.ceil(10_000 / 1_996);
  expect(await piecesRead(world)).toBe(before + 11 * piecesOfContext);
  expect([first.length, found.length]).toEqual([10, 10]);
});

/** How many pieces of long texts of relationships PostgreSQL has read so far. */
async function piecesRead(world: World): Promise<number> {
  await rowsRead(world);
  const { rows } = await world.database.pool.query<{ read: number }>(
    `SELECT pg_stat_get_tuples_fetched(i.indexrelid)::int AS read FROM pg_class c
     JOIN pg_index i ON i.indrelid = c.reltoastrelid WHERE c.relname = 'relationship'`,
  );
  return rows[0]?.read ?? 0;
}
