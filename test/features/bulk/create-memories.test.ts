import pg from "pg";
import { expect, it, vi } from "vitest";
import {
  BulkMemoryInput,
  CreateMemoriesInput,
  costOfItems,
  createMemories,
} from "../../../src/features/bulk/create-memories.js";
import { DeleteMemoriesInput, deleteMemories } from "../../../src/features/bulk/delete-memories.js";
import { RestoreMemoriesInput, restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { relationships } from "../../../src/features/relationships/list-relationships.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { memoryPath } from "../../../src/features/views/memory-path.js";
import { LIMITS } from "../../../src/limits.js";
import { RateLimited } from "../../../src/operation/budget.js";
import { contextOf } from "../../../src/operation/context.js";
import { ask, requestsLeft } from "../../support/http.js";
import { withLimits } from "../../support/limits.js";
import { aLink, aMemory, manyLinks, manyMemories, miscounted } from "../../support/memories.js";
import { listenTo } from "../../support/statements.js";
import { createWorld } from "../../support/world.js";

const NOTE = { type: "general", title: "A note", content: "Something." };
const { items: ITEMS, itemsPerRequest, bytesPerRequest } = LIMITS.bulk;
const notes = (count: number) => Array.from({ length: count }, (_, index) => ({ ...NOTE, title: `Note ${index}` }));

it("stores memories with all fields, and links them to each other and to existing memories", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const old = await aMemory(ann, { clientId: "old" });
  const whole = { ...NOTE, summary: "Short", tags: [" Net", 'b,"c"'], importance: 0.1, confidence: 1 };
  const context = { z: [1e21, 1e-7, null], project_path: "/a" };

  const made = await ann.did(createMemories, {
    memories: [
      { ...whole, context, clientId: "m-1", ref: "one" },
      { ...NOTE, title: "Frobnication", ref: "two" },
    ],
    relationships: [
      { fromMemoryId: "one", toMemoryId: "two", relationshipType: "SOLVES", strength: 0.9, context: "Why" },
      { fromMemoryId: "old", toMemoryId: "one", relationshipType: "CAUSES" },
      { fromMemoryId: "two", toMemoryId: old.id, relationshipType: "CAUSES" },
    ],
  });

  const [one = "", two] = made.memoryIds;
  const first = await ann.did(memory, { id: one });
  expect(first).toMatchObject({ ...whole, tags: ["net", 'b,"c"'], context, clientId: "m-1", version: 1 });
  expect(first).toMatchObject({ createdBy: ann.caller.userId, relationshipsTotal: 2 });
  expect(JSON.stringify(first.context)).toBe(JSON.stringify(context));
  expect((await ann.did(searchMemories, { query: "frobnication" })).total).toBe(1);
  const links = await ann.did(relationships);
  expect(links.relationships.map(({ id }) => id).reverse()).toEqual(made.relationshipIds);
  expect(links.relationships).toMatchObject([
    { from: two, to: old.id, strength: 0.5, confidence: 0.8, context: null },
    { from: old.id, to: one },
    { from: one, to: two, strength: 0.9, context: "Why" },
  ]);
  expect(await miscounted(world)).toEqual([]);
});

it("stores the maximum number at once, in order", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const { memoryIds } = await ann.did(createMemories, { memories: notes(ITEMS) });

  expect(new Set(memoryIds).size).toBe(ITEMS);
  expect((await ann.did(memory, { id: memoryIds[7] ?? "" })).title).toBe("Note 7");
  expect((await ann.did(memories)).memories[0]?.title).toBe(`Note ${ITEMS - 1}`);
  expect(await miscounted(world)).toEqual([]);
});

it("stores nothing if one memory is refused", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { clientId: "taken" });
  const many = notes(3);
  const link = { fromMemoryId: "one", toMemoryId: "gone", relationshipType: "SOLVES" };
  const one = { ...NOTE, ref: "one" };

  const refused = [
    [{ memories: [...many, { ...NOTE, clientId: "taken" }] }, "conflict", "memory_exists"],
    [{ memories: [...many, { ...NOTE, clientId: "x" }, { ...NOTE, clientId: "x" }] }, "conflict", "memory_exists"],
    [{ memories: [...many, one], relationships: [link] }, "not_found"],
    [{ memories: [...many, one], relationships: [{ ...link, toMemoryId: "one" }] }, "bad_request"],
    [{ memories: [...many, { ...NOTE, title: " " }] }, "bad_request"],
    [{ memories: [...many, one, one] }, "bad_request"],
    [{ memories: notes(ITEMS + 1) }, "bad_request"],
    [{ memories: notes(ITEMS), relationships: [{ ...link, toMemoryId: "taken" }] }, "bad_request"],
    [{}, "bad_request"],
  ] as const;
  for (const [input, kind, reason] of refused) {
    const verdict = await ann.does(createMemories, input);
    expect(verdict).toBeRefused(kind, reason);
    // Named by its place: the fourth, and the fifth, which has the client id of the fourth.
    const message = expect.stringMatching(/^The memory at memories\.[34] has/) as string;
    if (reason === "memory_exists") expect(verdict).toMatchObject({ failure: { message } });
  }

  expect((await ann.did(memories)).memories).toHaveLength(1);
  expect(await miscounted(world)).toEqual([]);
});

it("says which list item is wrong, in the door's own names", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const body = { memories: [NOTE, { ...NOTE, client_id: " " }, { ...NOTE, importanc: 1 }] };
  const unknown = await ask(`${url}/v1/memories/bulk`, { key: ann.key, body });
  const blank = await ask(`${url}/v1/memories/bulk`, { key: ann.key, body: { memories: body.memories.slice(0, 2) } });

  expect(unknown.body).toMatchObject({ error: { details: [{ path: "memories.2.importanc" }] } });
  expect(blank.body).toMatchObject({
    error: {
      details: [{ path: "memories.1.client_id", message: "must not be blank, nor . or .., which no path can contain" }],
    },
  });
});

it("leaves existing relationships unchanged, and returns their ids", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = [await aMemory(ann), await aMemory(ann)];
  const known = await aLink(ann, from, to, { strength: 0.1 });
  const link = { fromMemoryId: from.id, toMemoryId: to.id, relationshipType: known.type };
  const back = { fromMemoryId: to.id, toMemoryId: from.id, relationshipType: "CAUSES" };

  const made = await ann.did(createMemories, { relationships: [link, back, back] });

  expect(made).toMatchObject({ memoryIds: [], existingRelationships: 2 });
  expect(made.relationshipIds[0]).toBe(known.id);
  expect(made.relationshipIds[1]).toBe(made.relationshipIds[2]);
  expect((await ann.did(relationships)).relationships).toMatchObject([{ type: "CAUSES" }, { strength: 0.1 }]);
  expect(await miscounted(world)).toEqual([]);
});

it("stores a relationship that existed, and is deleted before its id is read", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = [await aMemory(ann), await aMemory(ann)];
  const { id } = await aLink(ann, from, to);
  const link = { fromMemoryId: from.id, toMemoryId: to.id, relationshipType: "RELATED_TO" };
  let deleted: Promise<unknown> | undefined;
  const send = pg.Client.prototype.query as (...asked: readonly unknown[]) => unknown;
  using spy = vi.spyOn(pg.Client.prototype, "query");
  spy.mockImplementation(function (this: pg.Client, ...asked: unknown[]) {
    const ask = () => Reflect.apply(send, this, asked) as Promise<unknown>;
    const { text = "" } = asked[0] as { readonly text?: string };
    if (deleted || !/CROSS JOIN LATERAL .* FROM relationship/s.test(text)) return ask();
    deleted = ann.did(deleteRelationship, { id });
    return deleted.then(ask);
  });

  const made = await ann.did(createMemories, { relationships: [link] });

  const { relationships: stored } = await ann.did(relationships, {});
  expect(deleted).toBeDefined();
  expect(made).toMatchObject({ existingRelationships: 0, relationshipIds: stored.map(({ id }) => id) });
  expect(stored).toHaveLength(1);
  expect(await miscounted(world)).toEqual([]);
});

it("refuses more memories than the graph may hold", async () => {
  await using world = await createWorld({ storage: { ...LIMITS.storage, free: { memories: 3, bytes: 10_000 } } });
  const ann = await world.user({ plan: "free" });
  await aMemory(ann);

  expect(await ann.does(createMemories, { memories: notes(3) })).toBeRefused("conflict", "graph_full");
  expect((await ann.did(createMemories, { memories: notes(2) })).memoryIds).toHaveLength(2);
});

it("refuses more relationships than a memory may have", async () => {
  await using world = await createWorld();
  using _limits = withLimits("memory", { relationships: 100 });
  const ann = await world.user();
  const [hub, another] = [await aMemory(ann), await aMemory(ann)];
  const others = await manyMemories(world, ann, LIMITS.memory.relationships);
  await manyLinks(
    world,
    ann,
    others.slice(1).map(({ id }) => [id, hub.id] as const),
  );
  const link = (ref: string) => ({ fromMemoryId: hub.id, toMemoryId: ref, relationshipType: "CAUSES" });
  const two = ["a", "b"].map((ref) => ({ ...NOTE, ref }));

  expect(await ann.does(createMemories, { memories: two, relationships: [link("a"), link("b")] })).toBeRefused(
    "conflict",
    "too_many_relationships",
  );
  expect(await ann.does(createMemories, { memories: two, relationships: [link("a")] })).toMatchObject({ ok: true });
  // An existing relationship adds none. A record of the memory itself must not reset its count.
  const again = { fromMemoryId: others[1]?.id ?? "", toMemoryId: hub.id, relationshipType: "RELATED_TO" };
  expect(await ann.did(createMemories, { relationships: [again] })).toMatchObject({ existingRelationships: 1 });
  const createdAt = "2026-01-01T00:00:00.000Z";
  const record = { ...NOTE, id: another.id, createdAt, updatedAt: createdAt };
  const full = { ...record, id: hub.id };
  const more = { id: "01900000-0000-7000-8000-000000000001", from: hub.id, to: record.id, type: "CAUSES", createdAt };
  expect(await ann.does(restoreMemories, { memories: [full, record], relationships: [more] })).toBeRefused(
    "conflict",
    "too_many_relationships",
  );
});

it("lets exactly one of several simultaneous calls with the same id succeed", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const calls = Array.from({ length: 6 }, (_, call) => [
    ...notes(20).map((note, index) => ({ ...note, content: `word${call}x${index}` })),
    { ...NOTE, clientId: "the one" },
  ]);

  const verdicts = await Promise.all(calls.map((all) => ann.does(createMemories, { memories: all })));

  expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
  for (const verdict of verdicts) if (!verdict.ok) expect(verdict).toBeRefused("conflict", "memory_exists");
  expect(await miscounted(world)).toEqual([]);
});

it("costs budget by its size at both doors, and runs once under an Idempotency-Key", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  const limit = LIMITS.budgets.requestsByPlan.free;
  const cost = ITEMS / itemsPerRequest;
  const body = { memories: notes(ITEMS) };
  const headers = { "idempotency-key": "one" };

  const first = await ask(`${url}/v1/memories/bulk`, { key: ann.key, body, headers });
  const again = await ask(`${url}/v1/memories/bulk`, { key: ann.key, body, headers });
  const query = "mutation($input: CreateMemoriesInput!) { createMemories(input: $input) { memoryIds } }";
  const third = await ask(`${url}/graphql`, { key: ann.key, body: { query, variables: { input: body } } });
  const refused = await ask(`${url}/v1/memories/bulk`, { key: ann.key, body });

  expect(first.status).toBe(201);
  expect(requestsLeft(first)).toBe(limit - cost);
  expect(again.body).toEqual(first.body);
  expect(JSON.stringify(third.body)).toContain("memoryIds");
  // The repetition counts as one: its work is done already.
  expect(requestsLeft(third)).toBe(limit - 2 * cost - 1);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await world.database.models.memory.count()).toBe(2 * ITEMS);
});

it("may use up the budget to the last request, without a door that charges it", async () => {
  await using world = await createWorld();
  const { caller } = await world.user({ plan: "free" });
  const context = contextOf(world.services, { caller, door: "page", clientAddress: "192.0.2.1" });
  const limit = LIMITS.budgets.requestsByPlan.free;

  await context.charge(limit - 10);
  await expect(context.charge(11)).rejects.toThrow(RateLimited);
  await context.charge(10);
  await expect(context.charge(1)).rejects.toThrow(RateLimited);
});

it("costs one request if too few are left: its body was read", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  const leftAfter = async (count: number) => {
    return requestsLeft(await ask(`${url}/v1/memories/bulk`, { key: ann.key, body: { memories: notes(count) } }));
  };

  while ((await leftAfter(1)) >= ITEMS / itemsPerRequest) await leftAfter(ITEMS);
  const before = await leftAfter(1);
  expect([await leftAfter(ITEMS), await leftAfter(1)]).toEqual([before - 1, before - 2]);
});

it("costs a request for each part of a request's items or texts, at least one", () => {
  const few = [0, 1, itemsPerRequest, itemsPerRequest + 1, 2 * itemsPerRequest].map(costOfItems);
  const ids = Array.from({ length: itemsPerRequest + 1 }, () => "x");
  const costOfText = (size: number) => {
    const memories = ["x", "x".repeat(size - 1)].map((content) => Object.assign(new BulkMemoryInput(), { content }));
    const items = { memories, relationships: [] };
    return [
      createMemories.cost?.(Object.assign(new CreateMemoriesInput(), items)),
      restoreMemories.cost?.(Object.assign(new RestoreMemoriesInput(), items)),
    ];
  };
  const deletions = [{ ids }, { ids, dryRun: true }, { tags: ["x"] }, { tags: ["x"], dryRun: true }];

  expect(few).toEqual([1, 1, 1, 2, 2]);
  expect([1, bytesPerRequest - 500, bytesPerRequest, 5 * bytesPerRequest].map(costOfText)).toEqual(
    [1, 1, 2, 6].map((cost) => [cost, cost]),
  );
  expect(deletions.map((each) => deleteMemories.cost?.(Object.assign(new DeleteMemoriesInput(), each)))).toEqual([
    2,
    1,
    LIMITS.bulk.items / itemsPerRequest,
    1,
  ]);
});

it("says which of many ids no memory has", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await ann.did(createTeam, { name: "Team", maxMembers: 2 });
  const [one, two] = [await aMemory(ann, { graph: "personal" }), await aMemory(ann, { graph: "personal" })];
  const graph = "personal";
  const link = (fromMemoryId: string, toMemoryId: string) => ({ fromMemoryId, toMemoryId, relationshipType: "SOLVES" });
  const good = link(one.id, two.id);
  const ids = [one.id, two.id, "nothing", "other"];

  const refusals = [
    await ann.does(createMemories, { graph, relationships: [good, good, link(one.id, "nothing")] }),
    await ann.does(createMemories, { graph, relationships: [good, link("nothing", two.id)] }),
    await ann.does(deleteMemories, { graph, ids }),
    await ann.does(shareMemories, { ids }),
    await ann.does(memoryPath, { graph, fromMemoryId: "nothing", toMemoryId: two.id }),
    await ann.does(memoryPath, { graph, fromMemoryId: one.id, toMemoryId: "nothing" }),
  ];

  expect(refusals.map((verdict) => !verdict.ok && verdict.failure.message.replace(/ `searchMemories`.*/, ""))).toEqual([
    "No memory of this graph has the id that relationships.2 leads to.",
    "No memory of this graph has the id that relationships.1 starts from.",
    "No memory of this graph has the id at ids.2.",
    "No memory of your own graph has the id at ids.2.",
    "No memory of this graph has the id that the path starts from; both must be in one graph.",
    "No memory of this graph has the id that the path leads to; both must be in one graph.",
  ]);
  expect(refusals.map((verdict) => !verdict.ok && verdict.failure.details)).toEqual([
    { path: "relationships.2.toMemoryId" },
    { path: "relationships.1.fromMemoryId" },
    { path: "ids.2" },
    { path: "ids.2" },
    { path: "fromMemoryId" },
    { path: "toMemoryId" },
  ]);
});

it("sends the same statements for one relationship and for many: to compile long ones would take long", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first = "", ...others] = (await manyMemories(world, ann, 101)).map(({ id }) => id);
  const links = (count: number) =>
    others.slice(0, count).map((toMemoryId) => ({ fromMemoryId: first, toMemoryId, relationshipType: `T${count}` }));
  using ear = listenTo(world);

  const sent: string[][] = [];
  for (const count of [1, 100]) {
    await ann.did(createMemories, { relationships: links(count) });
    const again = await ann.did(createMemories, { relationships: links(count) });
    expect(again.existingRelationships).toBe(count);
    sent.push(ear.heard(/relationship/));
  }

  expect(sent[0]?.length).toBeGreaterThan(2);
  expect(sent[1]).toEqual(sent[0]);
});
