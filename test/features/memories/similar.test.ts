import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { embedDueMemories } from "../../../src/features/memories/meaning/embed-memories.js";
import { fillModel } from "../../../src/features/memories/meaning/embedding-models.js";
import { LIMITS } from "../../../src/limits.js";
import { Meaning } from "../../../src/platform/meaning/meaning.js";
import { startEmbeddingsServer } from "../../support/embeddings-server.js";
import { ask } from "../../support/http.js";
import { withLimits } from "../../support/limits.js";
import { aMemory, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

const TITLE = "Retry failed uploads with exponential backoff";
const ASKED = { similar: true };
const NOTE = { type: "solution", title: TITLE, content: "Wait twice as long." };
/** Storing a memory waits less than a busy machine needs. */
const PATIENT = { waitMs: 60_000 };

it("lists only memories of the graph with a similar text", async () => {
  using _patient = withLimits("similar", PATIENT);
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const [first, expired] = await memoriesTitled(ann, TITLE, TITLE, "Rotate the keys", "Retry failed payments of bills");
  await world.database.models.memory.updateMany({ where: { id: expired.id }, data: { expiresAt: new Date(0) } });
  await memoriesTitled(bob, TITLE);

  const { similar } = await ann.did(createMemory, {
    ...NOTE,
    title: "retry failing upload with exponential backof",
    ...ASKED,
  });

  expect(similar).toMatchObject([{ memoryId: first.id, title: TITLE }]);
  const score = similar?.[0]?.score ?? 0;
  expect(score).toBeGreaterThan(LIMITS.similar.scoreMin);
  expect(String(score)).toMatch(/^0\.\d{1,4}$/);
  for (let copy = 0; copy < 4; copy++) await aMemory(ann, NOTE);
  expect((await ann.did(createMemory, { ...NOTE, ...ASKED })).similar).toHaveLength(LIMITS.similar.most);
});

it("finds the same text, though many signs stand before its first word", async () => {
  using _patient = withLimits("similar", PATIENT);
  await using world = await createWorld();
  const ann = await world.user();
  const note = { ...NOTE, title: "\u{1F600}".repeat(LIMITS.similar.queryLength) };
  const { id } = await aMemory(ann, note);

  const { similar } = await ann.did(createMemory, { ...note, ...ASKED });

  expect(similar).toMatchObject([{ memoryId: id }]);
});

it("compares whole texts, not titles", async () => {
  using _patient = withLimits("similar", PATIENT);
  await using world = await createWorld();
  const ann = await world.user();
  const gift = await aMemory(ann, {
    title: "Checkout fails with a gift card and a coupon",
    content: "The total becomes negative and the provider answers amount_too_small. Clamp it at zero.",
  });
  await aMemory(ann, {
    title: "Words for checkout",
    content: "Gift card, coupon, basket, address, invoice, refund, order, stock, label, parcel, stamp, price, store.",
  });
  const similarTo = async (title: string, content: string) =>
    (await ann.did(createMemory, { type: "fix", title, content, similar: true })).similar;

  const again = await similarTo(
    "Negative amounts",
    "If a coupon is combined with a gift card at the checkout, the total is negative: amount_too_small. Clamp at zero.",
  );
  expect(again?.map(({ memoryId }) => memoryId)).toEqual([gift.id]);
  expect(await similarTo("Checkout fails with a long address", "The tax service rejects emoji. Strip them.")).toEqual(
    [],
  );
  const sameTitle = await similarTo(gift.title, "Fixed on Monday.");
  expect(sameTitle?.map(({ memoryId }) => memoryId)).toEqual([gift.id]);
});

it.each([
  ["Use Redis for sessions", "Sessions live in Redis because reads must be fast."],
  ["Sessions are cached in Redis", "One instance of Redis for each region holds the sessions of all users."],
])("lists a decision that a newer one replaces, though it says something else: %s", async (title, content) => {
  using _patient = withLimits("similar", PATIENT);
  await using world = await createWorld();
  const ann = await world.user();
  const old = await aMemory(ann, { type: "decision", title, content });
  await aMemory(ann, { type: "problem", title, content });
  await aMemory(ann, {
    type: "decision",
    title: "Deploy by Helm",
    content: "All services have charts in deploy/charts.",
  });
  for (let count = 0; count < 20; count++)
    await aMemory(ann, {
      type: "decision",
      title: `Rule ${count}`,
      content: `We stay with number ${count} for all users.`,
    });

  const { similar } = await ann.did(createMemory, {
    type: "decision",
    title: "Sessions move from Redis to PostgreSQL",
    content: "We store sessions in PostgreSQL now: Redis lost them when it failed over.",
    similar: true,
  });

  expect(similar?.map(({ memoryId }) => memoryId)).toEqual([old.id]);
  expect(similar?.[0]?.score).toBeLessThan(LIMITS.similar.scoreMin);
});

it.each([
  ["decision", true],
  ["convention", true],
  ["problem", false],
  ["incident", false],
  ["fix", false],
  ["hotfix", false],
  ["task", false],
  ["todo", false],
  ["conversation", false],
])("lists a %s that shares some words with another one, if it may replace it: %s", async (type, mayReplace) => {
  using _patient = withLimits("similar", PATIENT);
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { type, title: "Sessions are lost in Redis", content: "It failed over at noon." });

  const another = { type, title: "Sessions in Redis take too long", content: "Reads need 80 ms at night." };
  expect((await ann.did(createMemory, { ...another, similar: true })).similar).toHaveLength(mayReplace ? 1 : 0);
});

it("looks for them by REST if requested, and at other doors if the answer selects them", async () => {
  using _patient = withLimits("similar", PATIENT);
  await using world = await createWorld();
  const ann = await world.user();
  const { key } = ann;
  const { url } = await world.serve();
  const { id } = await aMemory(ann, NOTE);
  const plain = { similar: [expect.objectContaining({ id, title: TITLE })] };
  const store = async (body: object, headers: Record<string, string> = {}) =>
    (await ask(`${url}/v1/memories`, { key, headers, body: { ...NOTE, ...body } })).body;

  expect(await store({})).not.toHaveProperty("similar");
  await world.database.pool.query("DELETE FROM memory WHERE id <> $1", [id]);
  expect(await store({ similar: true }, { "idempotency-key": "once" })).toMatchObject(plain);
  await world.database.pool.query("DELETE FROM memory WHERE id <> $1", [id]);

  const input = '{ type: "solution", title: "Retry failed uploads", content: "Wait." }';
  const query = `mutation { one: createMemory(input: ${input}) { similar { memoryId } } }`;
  expect((await ask(`${url}/graphql`, { key, body: { query } })).body).toEqual({
    data: { one: { similar: [{ memoryId: id }] } },
  });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "store_memory", arguments: NOTE } };
  expect((await ask(`${url}/mcp`, { key, body: call })).body).toMatchObject({
    result: { structuredContent: { similar: [expect.anything(), expect.anything()] } },
  });
});

it("shows a key that may only write nothing of what is stored", async () => {
  using _patient = withLimits("similar", PATIENT);
  await using world = await createWorld();
  const ann = await world.user({ scopes: ["memories:write"] });
  const { url } = await world.serve();
  await aMemory(ann, NOTE);

  expect((await ann.did(createMemory, { ...NOTE, ...ASKED })).similar).toBeNull();
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "store_memory", arguments: NOTE } };
  const { body } = await ask(`${url}/mcp`, { key: ann.key, body: call });
  expect(body).toMatchObject({ result: { structuredContent: { title: TITLE } } });
  expect(body).not.toHaveProperty("result.structuredContent.similar");
});

it("stores a memory even if similar ones cannot be found in time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const client = await world.database.pool.connect();
  await client.query("BEGIN; LOCK TABLE lexicon IN ACCESS EXCLUSIVE MODE");
  const stored = ann.did(createMemory, { ...NOTE, ...ASKED });
  await expect.poll(async () => (await countBlocked(world)) > 1).toBe(true);
  await client.query("ROLLBACK");
  client.release();
  expect((await stored).similar).toBeNull();

  await world.database.pool.query("ALTER FUNCTION search_words RENAME TO search_nothing");
  expect((await ann.did(createMemory, { ...NOTE, ...ASKED })).similar).toBeNull();
});

it("also lists memories with the same meaning, unless the embeddings server is late", async () => {
  await using server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client("one", { queryPrefix: "query: ", documentPrefix: "passage: " }));
  await using world = await createWorld({ meaning });
  const ann = await world.user();
  const [automobile, wagen] = await memoriesTitled(ann, "The automobile stalls", "Wagen", "A physician calls");
  const context = { ...world.services, meaning };
  const embed = async () => {
    while (await fillModel(context));
    while (await embedDueMemories(context));
  };
  await embed();
  const similarTo = async (title: string) => {
    const { id, similar } = await ann.did(createMemory, { ...NOTE, title, ...ASKED });
    await ann.did(deleteMemory, { id });
    return similar ?? [];
  };
  const idsLike = async (title: string) => (await similarTo(title)).map(({ memoryId }) => memoryId);
  const namesIt = async (title: string) => (await idsLike(title)).includes(automobile.id);

  {
    using _patient = withLimits("similar", PATIENT);
    using _patientToo = withLimits("embeddings", { searchMs: PATIENT.waitMs });
    await expect.poll(() => namesIt("My vehicle")).toBe(true);
    // What is alike by its words and by its meaning counts by the higher of both.
    const alike = await similarTo("The automobile stalls soon");
    expect(new Set(alike.map(({ memoryId }) => memoryId))).toEqual(new Set([automobile.id, wagen.id]));
    expect(alike[0]?.score).toBe(alike[1]?.score);
    expect(server.asked.flatMap(({ texts }) => texts)).toContain("passage: My vehicle\nWait twice as long.");
    await memoriesTitled(ann, "A car", "A vehicle");
    await embed();
    expect(await similarTo("The automobile stalls soon")).toHaveLength(LIMITS.similar.most);
  }
  server.trouble = "hangs";
  await expect.poll(() => namesIt("Buy a car")).toBe(false);
});

it("stores a memory under an Idempotency-Key even if those with its meaning cannot be read", async () => {
  using _patient = withLimits("similar", PATIENT);
  await using server = await startEmbeddingsServer();
  await using world = await createWorld({ meaning: new Meaning(server.client(), undefined, { searchMs: 60_000 }) });
  const ann = await world.user();
  const { id } = await aMemory(ann, NOTE);
  await world.database.pool.query("ALTER TABLE graph_vectors RENAME TO away");

  const stored = await ann.does(createMemory, { ...NOTE, ...ASKED }, { key: "once", part: "", request: "one" });

  expect(stored).toMatchObject({ ok: true, output: { similar: [{ memoryId: id }] } });
});

it("finds those with the same meaning for several memories that are stored at once under Idempotency-Keys", async () => {
  using _patient = withLimits("similar", PATIENT);
  await using server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client(), undefined, { searchMs: 60_000 });
  await using world = await createWorld({ meaning });
  const ann = await world.user();
  const [automobile] = await memoriesTitled(ann, "The automobile stalls", "A physician calls");
  const context = { ...world.services, meaning };
  while (await fillModel(context));
  while (await embedDueMemories(context));

  // No words in common: which of them is stored first must not matter.
  const texts = [
    { title: "My vehicle", content: "Brakes squeal." },
    { title: "Some car", content: "Rust below." },
    { title: "Grandma's wagen", content: "Keys lost." },
    { title: "An automobile", content: "Horn too loud." },
  ];
  const stored = await Promise.all(
    texts.map((text) =>
      ann.does(createMemory, { ...NOTE, ...text, ...ASKED }, { key: text.title, part: "", request: text.title }),
    ),
  );

  for (const one of stored) {
    expect(one).toMatchObject({ ok: true, output: { similar: [{ memoryId: automobile.id }] } });
  }
});

/** How many statements wait for a lock. */
async function countBlocked({
  database,
}: {
  database: { pool: { query(text: string): Promise<{ rows: unknown[] }> } };
}) {
  const text = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  return (await database.pool.query(text)).rows.length;
}
