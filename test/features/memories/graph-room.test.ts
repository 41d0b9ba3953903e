import { describe, expect, it } from "vitest";
import { viewer } from "../../../src/features/access/viewer.js";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { GraphFull } from "../../../src/features/memories/graph-room.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { verifyGraphs } from "../../../src/features/memories/verify-graphs.js";
import { createRelationship } from "../../../src/features/relationships/create-relationship.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { updateRelationship } from "../../../src/features/relationships/update-relationship.js";
import { LIMITS } from "../../../src/limits.js";
import type { GraphBounds, Plan } from "../../../src/operation/context.js";
import type { Operation } from "../../../src/operation/operation.js";
import { operations } from "../../../src/operations.js";
import { exampleInput, thingsOf } from "../../support/examples.js";
import { ask } from "../../support/http.js";
import { waitingForLocks } from "../../support/locks.js";
import { aLink, aMemory, miscounted } from "../../support/memories.js";
import { manyAtOnce } from "../../support/races.js";
import { aTeam, tally } from "../../support/teams.js";
import { type Actor, type Verdict, createWorld } from "../../support/world.js";

/** The bytes that each row counts besides its texts. */
const ROW = 200;
const NOTE = { type: "general", title: "A note", content: "Grüße", tags: ["a", "bc"] };
const NOTE_BYTES = ROW + 7 + 6 + 7 + 3;

/** Bounds that a test can change while it runs; nothing comes near them before. */
function roomy(): Record<Plan, { -readonly [Name in keyof GraphBounds]: number }> {
  const plenty = () => ({ memories: 1_000, bytes: 1_000_000 });
  return { free: plenty(), pro: plenty(), team: plenty() };
}

/** Each way in which a graph grows: prepares it, and returns the call and how many bytes that takes. */
const WAYS: Readonly<Record<string, (actor: Actor) => Promise<readonly [Operation, object, number]>>> = {
  "a memory": async () => [createMemory, NOTE, NOTE_BYTES],
  "a summary": async () => [createMemory, { ...NOTE, summary: "ü" }, NOTE_BYTES + 2],
  "a longer text": async (actor) => {
    const { id } = await aMemory(actor, NOTE);
    return [updateMemory, { id, content: "Grüße an alle" }, NOTE_BYTES + 8];
  },
  "a shorter text, since what it was is kept": async (actor) => {
    const { id } = await aMemory(actor, NOTE);
    return [updateMemory, { id, content: "G" }, NOTE_BYTES - 6];
  },
  "another importance, for the same reason": async (actor) => {
    const { id } = await aMemory(actor, NOTE);
    return [updateMemory, { id, importance: 0.7, expectedVersion: 1 }, NOTE_BYTES];
  },
  "a relationship": async (actor) => {
    const [from, to] = [await aMemory(actor), await aMemory(actor)];
    const ends = { fromMemoryId: from.id, toMemoryId: to.id };
    return [createRelationship, { ...ends, relationshipType: "SOLVES" }, ROW + 6];
  },
  "a relationship's context": async (actor) => {
    const [from, to] = [await aMemory(actor), await aMemory(actor)];
    const ends = { fromMemoryId: from.id, toMemoryId: to.id };
    return [createRelationship, { ...ends, relationshipType: "SOLVES", context: "äö" }, ROW + 10];
  },
  "a longer context": async (actor) => {
    const { id } = await aLink(actor, await aMemory(actor), await aMemory(actor), { context: "ab" });
    return [updateRelationship, { id, context: "abcdef" }, 4];
  },
};

const writing = operations.filter(({ kind, permission }) => kind === "mutation" && permission === "memories:write");

it.each(writing.map((operation) => [operation.name, operation] as const))(
  "lets %s raise only what it declares where the graph is full",
  async (_name, operation) => {
    const storage = roomy();
    await using world = await createWorld({ storage });
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    for (const bounds of Object.values(storage)) Object.assign(bounds, { memories: 0, bytes: 0 });

    // Throws what the operation does not declare.
    const verdict = await ann.does(operation, input);

    if (!verdict.ok) expect(verdict.failure).toBeInstanceOf(GraphFull);
  },
);

describe.each(Object.entries(WAYS))("%s", (_name, prepare) => {
  it("fits to the last byte; with one byte less it is refused and changes nothing", async () => {
    const storage = roomy();
    await using world = await createWorld({ storage });
    const ann = await world.user();
    const [operation, input, takes] = await prepare(ann);
    const used = await bytesOf(ann);

    storage.pro.bytes = used + takes - 1;
    const refused = await ann.does(operation, input);
    const usedThen = await bytesOf(ann);
    storage.pro.bytes++;
    const taken = await ann.does(operation, input);

    expect(refused).toBeRefused("conflict", "graph_full");
    expect(!refused.ok && refused.failure.details).toEqual({ memoriesMax: 1_000, bytesMax: used + takes - 1 });
    expect(usedThen).toBe(used);
    expect(taken.ok).toBe(true);
    expect(await bytesOf(ann)).toBe(used + takes);
    expect(await miscounted(world)).toEqual([]);
  });

  it("succeeds as often as there is room, with many calls at once", async () => {
    const storage = roomy();
    await using world = await createWorld({ storage });
    const ann = await world.user();
    const attempts = await Promise.all(Array.from({ length: 20 }, () => prepare(ann)));
    const [, , takes = 0] = attempts[0] ?? [];
    storage.pro.bytes = (await bytesOf(ann)) + takes;

    const verdicts = await Promise.all(attempts.map(([operation, input]) => ann.does(operation, input)));

    expect(tally(verdicts)).toEqual({ ok: 1, graph_full: 19 });
    expect(await miscounted(world)).toEqual([]);
  });
});

it("holds exactly the number of memories of its plan, with many calls at once", async () => {
  const storage = roomy();
  storage.pro.memories = 3;
  await using world = await createWorld({ storage });
  const ann = await world.user();
  await aMemory(ann);
  await aMemory(ann);

  const verdicts = await manyAtOnce(() => ann.does(createMemory, NOTE));

  expect(tally(verdicts)).toEqual({ ok: 1, graph_full: 19 });
  const full = await ann.does(createMemory, NOTE);
  expect(full).toBeRefused("conflict", "graph_full");
  expect(!full.ok && full.failure.message).toMatch(/at most 3 memories and 1,000,000 bytes.*Delete.*larger plan/);
  expect(await storageOf(ann)).toMatchObject([{ graph: "personal", memories: 3, memoriesMax: 3 }]);
});

describe("the message of a full graph", () => {
  const FULL = { memories: 0, bytes: 0 };
  /** What a caller reads whose graph is full, with this plan of their own, and where plans are sold or not. */
  async function messageFor(who: "loner" | "owner" | "member", plan: "free" | "pro", isSold: boolean, graph?: string) {
    const stripe = { url: "http://127.0.0.1:9", secretKey: "sk_test", webhookSecret: "whsec", priceId: "price" };
    const storage = { free: FULL, pro: FULL, team: FULL };
    await using world = await createWorld({ storage, ...(isSold && { stripe }) });
    const { owner, member } = await aTeam(world);
    const actor = { loner: await world.user(), owner, member }[who];
    await world.database.models.user.updateMany({ data: { plan } });
    const refused = await actor.does(createMemory, { ...NOTE, graph });
    return refused.ok ? "" : refused.failure.message;
  }

  it.each([
    [
      "loner",
      "free",
      true,
      undefined,
      /by your plan .* or take a larger plan\. The owner of a team buys .* `createTeamCheckout`\.$/,
    ],
    ["loner", "free", false, undefined, /by your plan .* or take a larger plan\. The operator of this service /],
    ["loner", "pro", false, undefined, /by its plan .* nobody needs: there is no larger plan\.$/],
    ["loner", "pro", true, undefined, /or take a larger plan\. The owner of a team buys .* `createTeamCheckout`\.$/],
    [
      "owner",
      "pro",
      true,
      "team",
      /by your plan .* or take a larger plan\. The owner of a team buys .* `createTeamCheckout`\.$/,
    ],
    [
      "member",
      "free",
      true,
      "team",
      /by the plan of the team's owner .* or let the owner take a larger plan\. The owner /,
    ],
    ["member", "free", true, "personal", /by your plan .* or take a larger plan\. The owner /],
  ] as const)("tells a %s with the plan %s, sold: %s, of the graph %s whose plan counts", async (...given) => {
    const [who, plan, isSold, graph, message] = given;
    expect(await messageFor(who, plan, isSold, graph)).toMatch(message);
  });
});

it("lets everything be deleted from a graph that is counted too low", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, two] = [await aMemory(ann, NOTE), await aMemory(ann, NOTE)];
  const link = await aLink(ann, one, two);
  await world.database.pool.query("UPDATE graph_usage SET memories = 0, bytes = 0");

  await ann.did(deleteRelationship, { id: link.id });
  await ann.did(deleteMemory, { id: one.id });

  expect(await storageOf(ann)).toMatchObject([{ graph: "personal", memories: 0, bytes: 0 }]);
});

it("frees the room of deleted memories with their versions and relationships, and of relationships", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, two, three] = [await aMemory(ann, NOTE), await aMemory(ann, NOTE), await aMemory(ann, NOTE)];
  await ann.did(updateMemory, { id: one.id, content: "Another" });
  await aLink(ann, one, two, { context: "Why" });
  await aLink(ann, three, one);
  const link = await aLink(ann, two, three, { context: "Why" });
  await ann.did(updateRelationship, { id: link.id, context: null });
  expect(await miscounted(world)).toEqual([]);

  await ann.did(deleteRelationship, { id: link.id });
  expect(await miscounted(world)).toEqual([]);
  await ann.did(deleteMemory, { id: one.id });
  expect(await storageOf(ann)).toMatchObject([{ memories: 2, bytes: 2 * NOTE_BYTES }]);
  for (const { id } of [two, three]) await ann.did(deleteMemory, { id });
  expect(await storageOf(ann)).toMatchObject([{ memories: 0, bytes: 0 }]);
});

it("refuses nothing in a graph with more than its plan allows that takes no further room", async () => {
  const storage = roomy();
  await using world = await createWorld({ storage });
  const ann = await world.user();
  const [one, two] = [await aMemory(ann, NOTE), await aMemory(ann, NOTE)];
  const link = await aLink(ann, one, two, { context: "Why" });
  // As after the end of a larger plan.
  storage.pro = { memories: 1, bytes: 1 };

  const again = { fromMemoryId: one.id, toMemoryId: two.id, relationshipType: link.type };
  expect(await ann.did(createMemories, { relationships: [again] })).toMatchObject({ existingRelationships: 1 });
  expect(await ann.did(updateRelationship, { id: link.id, strength: 0.9 })).toMatchObject({ strength: 0.9 });
  expect(await ann.did(updateRelationship, { id: link.id, context: null })).toMatchObject({ context: null });
  expect(await ann.did(deleteMemory, { id: two.id })).toEqual({ id: two.id });
  expect(await ann.does(createMemory, NOTE)).toBeRefused("conflict", "graph_full");
  expect(await miscounted(world)).toEqual([]);
});

it("counts correctly, whatever happens at once", async () => {
  await using world = await createWorld();
  const { owner, member } = await aTeam(world);
  const inTeam = [await aMemory(owner), await aMemory(owner), await aMemory(owner)];
  const own = [await aMemory(member, { graph: "personal" }), await aMemory(member, { graph: "personal" })];
  const [first, second, third] = inTeam.map(({ id }) => id);
  const link = await aLink(owner, inTeam[0] ?? NOWHERE, inTeam[1] ?? NOWHERE);

  await manyAtOnce((index): Promise<Verdict<object>> => {
    if (index === 7) return owner.does(deleteMemory, { id: third });
    if (index === 13) return owner.does(deleteMemory, { id: first });
    if (index % 5 === 0) return owner.does(updateMemory, { id: first, content: "x".repeat(index) });
    if (index % 5 === 1) return member.does(updateRelationship, { id: link.id, context: "y".repeat(index) });
    const ends = index % 2 === 0 ? [first, third] : [third, second];
    const link3 = { fromMemoryId: ends[0], toMemoryId: ends[1], relationshipType: `TYPE_${index}` };
    if (index % 5 === 2) return owner.does(createRelationship, link3);
    if (index % 5 === 3) return member.does(shareMemories, { ids: [own[index % 2]?.id] });
    return member.does(createMemory, NOTE);
  });

  expect(await miscounted(world)).toEqual([]);
});

const NOWHERE = { id: "" };

it("counts a relationship that is changed while its memory is deleted", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const memory = await aMemory(ann);
  await aLink(ann, memory, await aMemory(ann), { context: "ab" });
  const other = await world.database.pool.connect();
  await other.query("BEGIN");
  await other.query("UPDATE relationship SET context = 'abcdef'");
  const deleted = ann.did(deleteMemory, { id: memory.id });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await other.query("UPDATE graph_usage SET bytes = bytes + 4");
  await other.query("COMMIT");
  other.release();

  await deleted;

  expect(await miscounted(world)).toEqual([]);
});

describe("sharing", () => {
  it.each(["memories", "bytes"] as const)("is refused as a whole if the team's graph lacks %s", async (what) => {
    const storage = roomy();
    await using world = await createWorld({ storage });
    const { owner, member } = await aTeam(world);
    await world.database.models.user.update({ where: { id: owner.caller.userId }, data: { plan: "free" } });
    await aMemory(owner);
    const personal = { graph: "personal" };
    const [one, two] = [
      await aMemory(member, { ...NOTE, ...personal }),
      await aMemory(member, { ...NOTE, ...personal }),
    ];
    await aLink(member, one, two, personal);
    const [own, shared] = await storageOf(member);
    const needed = { memories: 2, bytes: own?.bytes ?? 0 };
    storage.free[what] = (shared?.[what] ?? 0) + needed[what] - 1;

    const refused = await member.does(shareMemories, { all: true });
    const [ownThen] = await storageOf(member);
    storage.free[what]++;
    const moved = await member.does(shareMemories, { all: true });

    expect(refused).toBeRefused("conflict", "graph_full");
    expect(ownThen).toEqual(own);
    expect(moved.ok).toBe(true);
    expect(await storageOf(member)).toMatchObject([
      { graph: "personal", memories: 0, bytes: 0 },
      { graph: "team", memories: 3 },
    ]);
    expect(await miscounted(world)).toEqual([]);
  });
});

it("uses the caller's plan for their own graph, and for a team's graph its paid plan or else its owner's", async () => {
  await using world = await createWorld();
  const { owner, member, teamId } = await aTeam(world);
  const setPlan = ({ caller }: Actor, plan: "free" | "pro") =>
    world.database.models.user.update({ where: { id: caller.userId }, data: { plan } });
  const boundsNow = async () => (await storageOf(member)).map(({ memoriesMax, bytesMax }) => [memoriesMax, bytesMax]);
  const bounds = (...plans: Plan[]) => plans.map((plan) => Object.values(LIMITS.storage[plan]));

  await setPlan(owner, "free");
  expect(await boundsNow()).toEqual(bounds("pro", "free"));
  await setPlan(owner, "pro");
  await setPlan(member, "free");
  expect(await boundsNow()).toEqual(bounds("free", "pro"));
  await world.database.models.billingAccount.create({ data: { teamId, subscriptionId: "sub_1", status: "active" } });
  expect(await boundsNow()).toEqual(bounds("team", "team"));
});

it("is reported by REST, and applies under an Idempotency-Key too", async () => {
  const storage = roomy();
  storage.pro.memories = 1;
  await using world = await createWorld({ storage });
  const { url } = await world.serve();
  const { key } = await world.user();
  const store = (name: string) => ask(`${url}/v1/memories`, { key, body: NOTE, headers: { "idempotency-key": name } });

  const answers = [await store("one"), await store("one"), await store("two")];

  expect(answers.map(({ status }) => status)).toEqual([201, 201, 409]);
  expect(answers[2]?.body).toMatchObject({ error: { code: "conflict", reason: "graph_full" } });
  expect((await ask(`${url}/me`, { key })).body).toMatchObject({
    storage: [{ graph: "personal", memories: 1, memories_max: 1, bytes: NOTE_BYTES, bytes_max: 1_000_000 }],
  });
});

it("counts memories that were stored before counting began", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, two] = [await aMemory(ann, NOTE), await aMemory(ann, NOTE)];
  await ann.did(updateMemory, { id: one.id, content: "Another" });
  await aLink(ann, one, two, { context: "Why" });
  const { rows } = await world.database.pool.query<{ memories: number; bytes: string }>(
    "SELECT * FROM measure_graph($1)",
    [ann.caller.personalGraphId],
  );
  expect(rows).toEqual([{ memories: 2, bytes: String(2 * NOTE_BYTES + NOTE_BYTES + (ROW + 10 + 3)) }]);
});

it("finds a graph with a wrong count, and corrects it while others write to it", async () => {
  await using world = await createWorld();
  const { database } = world;
  const [ann, bob] = [await world.user(), await world.user()];
  for (const actor of [ann, bob]) await aMemory(actor, NOTE);
  const graphId = ann.caller.personalGraphId;
  await database.models.graphUsage.update({ where: { graphId }, data: { memories: 7, bytes: 1 } });

  const found = await allOf(verifyGraphs(database, { repair: false }));
  const [repaired] = await Promise.all([
    allOf(verifyGraphs(database, { repair: true })),
    ...Array.from({ length: 10 }, () => ann.did(createMemory, NOTE)),
  ]);

  const held = { memories: 1, bytes: NOTE_BYTES };
  expect(found).toEqual([{ graphId, counted: { memories: 7, bytes: 1 }, held }]);
  expect(repaired).toMatchObject([{ graphId }]);
  expect(await miscounted(world)).toEqual([]);
  expect(await allOf(verifyGraphs(database, { repair: false }))).toEqual([]);
});

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const storageOf = async (actor: Actor) => (await actor.did(viewer)).storage;
const bytesOf = async (actor: Actor) => (await storageOf(actor))[0]?.bytes ?? 0;

it("verifies a graph whose counts are right without waiting for who changes it", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann);
  const changing = await world.database.pool.connect();
  try {
    await changing.query("BEGIN; SELECT FROM graph_usage FOR UPDATE");

    for await (const one of verifyGraphs(world.database, { repair: true })) expect(one).toBeUndefined();
  } finally {
    await changing.query("ROLLBACK");
    changing.release();
  }
});
