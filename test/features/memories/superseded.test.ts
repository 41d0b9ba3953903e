import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { relatedMemories } from "../../../src/features/memories/related-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { ask } from "../../support/http.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { findTitles, meaningfulWorld } from "../../support/meaning.js";
import { createWorld } from "../../support/world.js";

const replaces = { relationshipType: "REPLACES" };

it("names the memory that was last linked as one that replaces or deprecates another one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [old, newer, newest] = await memoriesTitled(ann, "Old", "Newer", "Newest");
  const nameOf = async ({ id }: { id: string }) => (await ann.did(memory, { id })).supersededBy?.title ?? null;

  expect((await ann.did(createMemory, { type: "general", title: "A", content: "A" })).supersededBy).toBeNull();
  await aLink(ann, old, newer, { relationshipType: "SOLVES" });
  await aLink(ann, old, newest, replaces);
  expect(await nameOf(old)).toBeNull();
  await aLink(ann, newer, old, replaces);
  expect(await nameOf(old)).toBe("Newer");
  expect(await nameOf(newer)).toBeNull();
  await aLink(ann, old, newest, { relationshipType: "DEPRECATED_BY" });
  expect(await nameOf(old)).toBe("Newest");
  await aLink(ann, old, newer, { relationshipType: "DEPRECATED_BY" });
  expect(await nameOf(old)).toBe("Newer");
});

it.each([[["REPLACES", "DEPRECATED_BY"]], [["DEPRECATED_BY", "REPLACES"]]])(
  "names the newest of several wherever a memory is read: first %s",
  async (types) => {
    await using world = await createWorld();
    const ann = await world.user();
    const [problem, old, newer, newest] = await memoriesTitled(ann, "Problem", "Old needle", "Newer", "Newest");
    await aLink(ann, old, problem, { relationshipType: "SOLVES" });
    for (const [index, other] of [newer, newest].entries()) {
      const relationshipType = types[index] ?? "";
      const [from, to] = relationshipType === "REPLACES" ? [other, old] : [old, other];
      await aLink(ann, from, to, { relationshipType });
    }

    const { memories: found } = await ann.did(searchMemories, { query: "needle" });
    const { memories: related } = await ann.did(relatedMemories, {
      id: problem.id,
      maxDepth: 1,
      eachRelationship: true,
    });
    const among = [...found, ...related].map(({ supersededBy }) => supersededBy?.title);
    expect([(await ann.did(memory, { id: old.id })).supersededBy?.title, ...among]).toEqual(Array(3).fill("Newest"));
    const others = await manyMemories(world, ann, 120);
    const links = others.map(({ id }) => [old.id, id] as const);
    await manyLinks(world, ann, links);
    expect((await ann.did(memory, { id: old.id })).supersededBy?.title).toBe("Newest");
  },
);

it("finds it among more relationships than a memory shows", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [old, newer] = await memoriesTitled(ann, "Old", "Newer");
  await aLink(ann, newer, old, replaces);
  const others = await manyMemories(world, ann, 120);
  await manyLinks(
    world,
    ann,
    others.map(({ id }) => [old.id, id]),
  );
  await world.database.pool.query("UPDATE relationship SET id = gen_random_uuid() WHERE type <> 'REPLACES'");
  await world.database.pool.query(
    "UPDATE relationship SET id = '00000000-0000-7000-8000-000000000000' WHERE type = 'REPLACES'",
  );

  expect((await ann.did(memory, { id: old.id })).supersededBy).toEqual({ memoryId: newer.id, title: "Newer" });
});

it("ranks superseded memories below their replacements and marks them, on every page", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const bob = await world.user();
  const old = await aMemory(ann, { title: "Deploy by hand", importance: 1 });
  const newer = await aMemory(ann, { title: "Deploy to production", content: "By hand no more." });
  const [bobs, bobsNewer] = await memoriesTitled(bob, "Deploy by hand", "Else");
  await aLink(bob, bobsNewer, bobs, replaces);
  const titles = async (wishes: object = {}) =>
    (await ann.did(searchMemories, { query: "deploy by hand", ...wishes })).memories.map((hit) => [
      hit.title,
      hit.supersededBy?.title ?? null,
    ]);

  expect(await titles()).toEqual([
    ["Deploy by hand", null],
    ["Deploy to production", null],
  ]);
  await aLink(ann, newer, old, replaces);

  expect(await titles()).toEqual([
    ["Deploy to production", null],
    ["Deploy by hand", "Deploy to production"],
  ]);
  expect(await titles({ limit: 1 })).toEqual([["Deploy to production", null]]);
  expect(await titles({ limit: 1, offset: 1 })).toEqual([["Deploy by hand", "Deploy to production"]]);
});

it("marks them also after the best hits", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const hits = await manyMemories(world, ann, 60, "A needle.");
  const newer = await aMemory(ann, { title: "Another" });
  await world.database.pool.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     SELECT $1, gen_random_uuid(), $2, id, 'REPLACES', $3, now() FROM unnest($4::uuid[]) AS id`,
    [ann.caller.personalGraphId, newer.id, ann.caller.userId, hits.map(({ id }) => id)],
  );

  const { memories } = await ann.did(searchMemories, { query: "needle", limit: 100 });

  expect(memories).toHaveLength(60);
  expect(memories.every(({ supersededBy }) => supersededBy?.title === "Another")).toBe(true);
});

it("marks them at every door", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { url } = await world.serve();
  const [old, newer] = await memoriesTitled(ann, "Old", "Newer");
  await aLink(ann, newer, old, replaces);
  const { key } = ann;
  const plain = { id: newer.id, title: "Newer" };

  expect((await ask(`${url}/v1/memories/${old.id}`, { key })).body).toMatchObject({ superseded_by: plain });
  expect((await ask(`${url}/v1/memories/search?query=old`, { key })).body).toMatchObject({
    memories: [{ superseded_by: plain }],
  });
  const query = "{ memories { memories { title supersededBy { memoryId title } } } }";
  expect((await ask(`${url}/graphql`, { key, body: { query } })).body).toMatchObject({
    data: {
      memories: { memories: [{ supersededBy: null }, { supersededBy: { memoryId: newer.id, title: "Newer" } }] },
    },
  });
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "get_memory", arguments: { id: old.id } },
  };
  expect((await ask(`${url}/mcp`, { key, body: call })).body).toMatchObject({
    result: { structuredContent: { superseded_by: plain } },
  });
});

it("marks them among related memories, so that nobody follows a replaced solution", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { url } = await world.serve();
  const [problem, old, newer] = await memoriesTitled(ann, "Problem", "Old", "Newer");
  await aLink(ann, old, problem, { relationshipType: "SOLVES" });
  await aLink(ann, newer, problem, { relationshipType: "SOLVES" });
  await aLink(ann, newer, old, replaces);
  const expected = { Newer: null, Old: { memoryId: newer.id, title: "Newer" } };

  const { memories } = await ann.did(relatedMemories, { id: problem.id, eachRelationship: true });
  expect(Object.fromEntries(memories.map(({ title, supersededBy }) => [title, supersededBy]))).toEqual(expected);
  const query = `{ relatedMemories(id: "${problem.id}") { memories { title supersededBy { title } } } }`;
  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });
  expect((body as { data?: unknown }).data).toEqual({
    relatedMemories: {
      memories: expect.arrayContaining([
        { title: "Newer", supersededBy: null },
        { title: "Old", supersededBy: { title: "Newer" } },
      ]) as unknown,
    },
  });
});

it.each([
  ["before", ["The automobile stalls", "Wagen der Flotte"]],
  ["after", ["Wagen der Flotte", "The automobile stalls"]],
] as const)("ranks what is found by meaning below its replacement, stored %s it", async (_when, titles) => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const [one, other] = await memoriesTitled(ann, ...titles);
  const [old, newer] = one.title.startsWith("The") ? [one, other] : [other, one];
  await aLink(ann, newer, old, replaces);
  await at.embed();

  expect(await findTitles(ann, "vehicle")).toEqual({ titles: [newer.title, old.title], meaning: true });
});
