import { createDecipheriv, randomUUID } from "node:crypto";
import { type GraphQLNamedType, getNamedType, isInputObjectType } from "graphql";
import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { deleteTeam } from "../../src/features/teams/delete-team.js";
import { leaveTeam } from "../../src/features/teams/leave-team.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { keepsResults } from "../../src/operation/operation.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { ask } from "../support/http.js";
import { rowsOf } from "../support/tables.js";
import { askGraphQL, askRest, inputFields } from "../support/operations.js";
import { lockMemories, waitingForLocks } from "../support/locks.js";
import { roundsOf } from "../support/rounds.js";
import { aTeam } from "../support/teams.js";
import { type World, createWorld } from "../support/world.js";

const NOTE = { type: "general", title: "Once", content: "Only once." };
const store = (url: string, key: string, idempotencyKey: string, note: object = NOTE) =>
  ask(`${url}/v1/memories`, { key, headers: { "idempotency-key": idempotencyKey }, body: note });

const titles = async ({ database }: World) =>
  (await database.pool.query<{ title: string }>("SELECT title FROM memory ORDER BY id")).rows.map(({ title }) => title);

const ROUNDS = roundsOf(50);

it(`executes a request once when it is sent ${20 * ROUNDS} times, 20 at a time, with the same answer`, async () => {
  await using world = await createWorld();
  const ann = await world.user();
  let server: Awaited<ReturnType<World["serve"]>> | undefined;
  const bodies = new Set<string>();
  const refusals = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    // Every ten rounds another server: each has its own budgets, so the rate limit is not reached.
    if (round % 10 === 0) {
      await server?.[Symbol.asyncDispose]();
      server = await world.serve();
    }
    const url = server?.url ?? "";
    const answers = await Promise.all(Array.from({ length: 20 }, () => store(url, ann.key, "again")));
    for (const { status, body } of answers) {
      if (status === 201) bodies.add(JSON.stringify(body));
      else refusals.add(`${status} ${(body as { error: { reason?: string } }).error.reason}`);
    }
  }
  expect(bodies.size).toBe(1);
  expect([...refusals].filter((refusal) => refusal !== "409 idempotency_in_progress")).toEqual([]);
  expect(await titles(world)).toEqual(["Once"]);
});

it("refuses the key for another request, and at another door", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await store(url, ann.key, "k");

  const other = await store(url, ann.key, "k", { ...NOTE, title: "Another" });
  const query = 'mutation { createMemory(input: {type: "general", title: "Once", content: "Only once."}) { id } }';
  const byGraphQL = await ask(`${url}/graphql`, { key: ann.key, headers: { "idempotency-key": "k" }, body: { query } });

  expect(other).toMatchObject({ status: 409, body: { error: { reason: "idempotency_key_reused" } } });
  expect(byGraphQL.body).toMatchObject({ errors: [{ extensions: { reason: "idempotency_key_reused" } }] });
  expect(await titles(world)).toEqual(["Once"]);
});

it("refuses the key for another operation with the same input", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { body } = await store(url, ann.key, "k");
  const { id } = body as { id: string };
  const remove = (what: string) =>
    ask(`${url}/v1/${what}/${id}`, { method: "DELETE", key: ann.key, headers: { "idempotency-key": "remove" } });

  expect((await remove("memories")).status).toBe(204);
  expect((await remove("memories")).status).toBe(204);
  expect(await remove("relationships")).toMatchObject({
    status: 409,
    body: { error: { reason: "idempotency_key_reused" } },
  });
});

it("lets another user use the same key for another request, also at the same time", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const users = [await world.user(), await world.user()];
  await using lock = await lockMemories(world);
  const asked = Promise.all(users.map(({ key }) => store(url, key, "k")));
  await expect.poll(() => lock.waiting()).toBe(2);
  await lock.release();

  expect((await asked).map(({ status }) => status)).toEqual([201, 201]);
  expect(await titles(world)).toEqual(["Once", "Once"]);
});

it("says when to repeat a request that is still running, at both doors, and then gives its result", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const query = 'mutation { createMemory(input: {type: "general", title: "Once", content: "Only once."}) { id } }';
  const byGraphQL = () => ask(`${url}/graphql`, { key: ann.key, headers: { "idempotency-key": "g" }, body: { query } });
  await using lock = await lockMemories(world);
  const asked = Promise.all([store(url, ann.key, "k"), byGraphQL()]);
  await expect.poll(() => lock.waiting()).toBe(2);

  const again = [await store(url, ann.key, "k"), await byGraphQL()];
  await lock.release();

  expect(again).toMatchObject([
    { status: 409, body: { error: { reason: "idempotency_in_progress" } } },
    { body: { errors: [{ extensions: { reason: "idempotency_in_progress", retryAfterSeconds: 1 } }] } },
  ]);
  expect(again.map(({ headers }) => headers.get("retry-after"))).toEqual(["1", "1"]);
  const bodies = (await asked).map(({ body }) => body);
  expect([(await store(url, ann.key, "k")).body, (await byGraphQL()).body]).toEqual(bodies);
});

it("refuses the result to the user's keys with other scopes, which could not have had it, and gives it to those with the same", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const post = (path: string, key: string, body: object = {}, id = `for:${path}`) =>
    ask(url + path, { key, headers: { "idempotency-key": id }, body });
  const keyWith = async (scopes: readonly string[]) =>
    (await post("/keys", ann.key, { name: "Other", scopes }, randomUUID())).body as { id: string; key: string };
  const [narrow, alike] = [
    await keyWith(["memories:read", "keys:write"]),
    await keyWith([...ann.caller.scopes].reverse()),
  ];
  const old = await keyWith(["memories:write"]);

  for (const [path, body] of [["/keys", { name: "Wide" }], [`/keys/${old.id}/rotate`]] as const) {
    const first = await post(path, ann.key, body);
    const byNarrow = await post(path, narrow.key, body);
    const byAlike = await post(path, alike.key, body);

    expect(first.status).toBe(201);
    expect(byNarrow.body).toMatchObject({ error: { code: "conflict", reason: "idempotency_key_reused" } });
    expect([byAlike.status, byAlike.body]).toEqual([201, first.body]);
  }
});

it("keeps no refusals, so a refused request can be retried with the same key", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [from, to] = (await thingsOf(world, ann)).memories;
  const link = { from_memory_id: from, to_memory_id: to, relationship_type: "CAUSES" };
  const attempt = () =>
    ask(`${url}/v1/relationships`, { key: ann.key, headers: { "idempotency-key": "k" }, body: link });

  const refused = await attempt();
  await world.database.pool.query("DELETE FROM relationship");
  const accepted = await attempt();

  expect([refused.status, accepted.status]).toEqual([409, 201]);
});

it("stores nothing if the result cannot be kept, and releases its connection", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { pool } = world.database;
  await pool.query("ALTER TABLE idempotent_result ADD CONSTRAINT nothing CHECK (false)");

  const refused: number[] = [];
  for (let times = 0; times < 30; times++) refused.push((await store(url, ann.key, "k")).status);
  await pool.query("ALTER TABLE idempotent_result DROP CONSTRAINT nothing");
  const accepted = await store(url, ann.key, "k");

  expect([...new Set(refused), accepted.status]).toEqual([500, 201]);
  expect(await titles(world)).toEqual(["Once"]);
  expect(world.bugs.map((bug) => JSON.stringify(bug))).toEqual(Array(30).fill(expect.stringMatching(/nothing|23514/)));
});

it("gives a repetition the result of the first request, which ended after the repetition had looked for it", async () => {
  await using world = await createWorld();
  const { owner, teamId } = await aTeam(world);
  const remove = () => owner.does(deleteTeam, { teamId }, { key: "again", part: "", request: "" });
  const first = await remove();
  const holder = new pg.Client(world.databaseUrl);
  await holder.connect();
  // If the test fails, the database is dropped while it is still connected.
  holder.on("error", () => {});
  await holder.query("CREATE TEMP TABLE kept AS SELECT * FROM idempotent_result; DELETE FROM idempotent_result");
  await holder.query("BEGIN; LOCK TABLE team");

  const repetition = remove();
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await holder.query("INSERT INTO idempotent_result SELECT * FROM kept; COMMIT");
  await holder.end();

  expect(first).toMatchObject({ ok: true });
  expect(await repetition).toEqual(first);
});

it("forgets a key after a day, also of an operation that looks for an earlier result before it begins", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const headers = { "idempotency-key": "k" };
  const make = (name: string) => ask(`${url}/keys`, { key: ann.key, headers, body: { name } });
  const first = await make("A");
  await world.database.pool.query("UPDATE idempotent_result SET created_at = now() - interval '23 hours'");
  expect([(await make("A")).body, (await make("B")).status]).toEqual([first.body, 409]);
  await world.database.pool.query("UPDATE idempotent_result SET created_at = now() - interval '25 hours'");

  expect(await make("B")).toMatchObject({ status: 201, body: { name: "B" } });
});

it("forgets a key after a day", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await store(url, ann.key, "k");
  await world.database.pool.query("UPDATE idempotent_result SET created_at = now() - interval '25 hours'");

  const later = await store(url, ann.key, "k", { ...NOTE, title: "A day later" });
  const again = await store(url, ann.key, "k", { ...NOTE, title: "A day later" });

  expect([later.status, again.body]).toEqual([201, later.body]);
  expect(await titles(world)).toEqual(["Once", "A day later"]);
});

it("keeps of an account's large results no more bytes than a graph of its plan may hold, also of deleted memories", async () => {
  const bounds = { memories: 100, bytes: 350_000 };
  await using world = await createWorld({ storage: { free: bounds, pro: bounds, team: bounds } });
  const { url, metricsUrl = "" } = await world.serve({ METRICS_PORT: "0" });
  const ann = await world.user();
  const large = { ...NOTE, content: "\u{1F600}".repeat(25_000) };
  const storeAndDelete = async (idempotencyKey: string, note: typeof NOTE = large) => {
    const answer = await store(url, ann.key, idempotencyKey, note);
    const { id } = answer.body as { id?: string };
    if (id !== undefined) await ask(`${url}/v1/memories/${id}`, { method: "DELETE", key: ann.key });
    return answer;
  };

  const answers = [];
  for (const idempotencyKey of ["a", "b", "c", "d", "e"]) answers.push(await storeAndDelete(idempotencyKey));

  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 429, 429]);
  const message = expect.stringContaining("take at most 350,000 bytes in 24 hours") as string;
  expect(answers.at(-1)?.body).toMatchObject({ error: { code: "rate_limited", message } });
  expect(await bytesOfResults(world)).toBeLessThanOrEqual(bounds.bytes);
  expect((await ask(metricsUrl)).body).toContain('memory_graph_refused_total{budget="results"} 2\n');
  // A refused request had no effect. Repetitions, small results and requests without the header are not refused.
  expect(await titles(world)).toEqual([]);
  expect((await store(url, ann.key, "a", large)).body).toEqual(answers[0]?.body);
  const noteOf = (length: number) => ({ ...NOTE, content: "x".repeat(length) });
  for (let length = 32_000; length > 800; length /= 2) await storeAndDelete(`${length}`, noteOf(length));
  const small = [];
  for (const idempotencyKey of ["f", "g", "h"]) small.push((await storeAndDelete(idempotencyKey, noteOf(500))).status);
  expect(small).toEqual([201, 201, 201]);
  expect((await ask(`${url}/v1/memories`, { key: ann.key, body: large })).status).toBe(201);
});

it("lets no budget of requests keep more small results than a graph of its plan may hold", () => {
  const { budgets, idempotency, storage } = LIMITS;
  for (const plan of ["free", "pro", "team"] as const) {
    const results = (budgets.requestsByPlan[plan] * idempotency.keptHours * 3_600_000) / budgets.windowMs;
    expect(results * idempotency.smallResultBytes, plan).toBeLessThan(storage[plan].bytes);
  }
});

async function bytesOfResults({ database }: World): Promise<number> {
  const { rows } = await database.pool.query<{ bytes: number }>(
    "SELECT sum(length(result))::int AS bytes FROM idempotent_result",
  );
  return rows[0]?.bytes ?? 0;
}

it("stores results encrypted with the key, and only the hash of the key, which decrypts nothing", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const make = () =>
    ask(`${url}/keys`, { key: ann.key, headers: { "idempotency-key": "make-a-key" }, body: { name: "CI" } });

  const [made, again] = [await make(), await make()];
  const { rows } = await world.database.pool.query("SELECT * FROM idempotent_result");
  const stored = rows.map((row: Record<string, unknown>) =>
    Object.values(row)
      .map((value) => (Buffer.isBuffer(value) ? value.toString("latin1") : String(value)))
      .join(" "),
  );

  expect(again.body).toEqual(made.body);
  expect(stored).toHaveLength(1);
  expect(stored[0]).not.toContain("mg_live_");
  expect(stored[0]).not.toContain("make-a-key");
  const [{ key_hash: hash, result }] = rows as [{ key_hash: Buffer; result: Buffer }];
  const decipher = createDecipheriv("aes-256-gcm", hash, result.subarray(0, 12)).setAuthTag(result.subarray(12, 28));
  decipher.update(result.subarray(28));
  expect(() => decipher.final()).toThrow();
});

it.each(["", "x".repeat(256), "with space", "umlaut-ü"])("refuses the key %j", async (key) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const byRest = await store(url, ann.key, key);
  const headers = { "idempotency-key": key };
  const byGraphQL = await ask(`${url}/graphql`, { key: ann.key, headers, body: { query: "{ viewer { id } }" } });
  expect([byRest.status, byGraphQL.status]).toEqual([400, 400]);
  expect(await titles(world)).toEqual([]);
});

const schema = await graphqlSchema();
/** Results are kept for a user, so not for operations that need no key. */
const changes = operations.filter(keepsResults);

describe.each(changes.map((operation) => [operation.name, operation] as const))("%s", (_name, operation) => {
  it.each(["REST", "GraphQL"])("has one effect and one answer by %s", async (door) => {
    await using world = await worldFor(operation);
    // In production without a mail server mails stay where they are: sent meanwhile, they would look like an effect.
    const { url } = await world.serve({ NODE_ENV: "production" });
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const headers = { "idempotency-key": "k" };
    const attempt = () =>
      door === "REST"
        ? askRest(url, ann.key, operation, input, headers)
        : askGraphQL(url, ann.key, schema, operation, input, headers);

    const first = await attempt();
    const state = await everything(world);
    const second = await attempt();

    expect(first.status).toBeLessThan(300);
    expect(JSON.stringify(first.body)).not.toContain("errors");
    expect([second.status, second.body]).toEqual([first.status, first.body]);
    expect(second.headers.get("location")).toBe(first.headers.get("location"));
    expect(await everything(world)).toEqual(state);
    expect(world.bugs).toEqual([]);
  });
});

const hasTime = (type: GraphQLNamedType): boolean =>
  isInputObjectType(type) &&
  inputFields(type).some(({ name, type: inner }) => name === "expiresAt" || hasTime(getNamedType(inner)));
const expiring = changes.filter((operation) => hasTime(inputTypeOf(schema, operation)));

it.each(expiring.map((operation) => [operation.name, operation] as const))(
  "returns the first result of %s also when a time in the request has passed",
  async (_name, operation) => {
    await using world = await createWorld();
    const ann = await world.user();
    const { memories, ...rest } = exampleInput(operation, await thingsOf(world, ann, operation));
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const input = Array.isArray(memories)
      ? { ...rest, memories: memories.map((memory: object) => ({ ...memory, expiresAt })) }
      : { ...rest, expiresAt };
    // A result is kept as JSON.
    const attempt = async () =>
      JSON.stringify(await ann.does(operation, input, { key: "k", part: "", request: "same" }));

    const first = await attempt();
    world.travel(2 * 3_600_000);

    expect(first).toContain('"ok":true');
    expect(await attempt()).toBe(first);
  },
);

const open = operations.filter(({ permission }) => permission === "public");

it.each(open.map((operation) => [operation.name, operation] as const))(
  "%s, which needs no key, runs without keeping its result",
  async (_name, operation) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const headers = { "idempotency-key": "k" };
    const fresh = async () => exampleInput(operation, await thingsOf(world, await world.user(), operation));
    for (const key of [undefined, (await world.user()).key]) {
      const byRest = await askRest(url, key, operation, await fresh(), headers);
      const byGraphQL = await askGraphQL(url, key, schema, operation, await fresh(), headers);
      expect([byRest.status < 300, byGraphQL.status]).toEqual([true, 200]);
      expect(JSON.stringify(byGraphQL.body)).not.toContain("errors");
    }
    expect((await world.database.pool.query("SELECT FROM idempotent_result")).rowCount).toBe(0);
    expect(world.bugs).toEqual([]);
  },
);

it("gives each change of one GraphQL request its own result", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const note = (title: string) =>
    `createMemory(input: {type: "general", title: "${title}", content: "c"}) { id title createdAt }`;
  const body = { query: `mutation { a: ${note("A")} b: ${note("B")} }` };
  const attempt = () => ask(`${url}/graphql`, { key: ann.key, headers: { "idempotency-key": "k" }, body });

  const [first, second] = [await attempt(), await attempt()];

  expect(second.body).toEqual(first.body);
  expect(await titles(world)).toEqual(["A", "B"]);
});

async function everything({ database }: World) {
  // What a deleted team leaves behind is deleted later in the background.
  await vi.waitFor(async () => {
    const { rows } = await database.pool.query("SELECT FROM graph WHERE user_id IS NULL AND team_id IS NULL");
    expect(rows).toEqual([]);
  }, 60_000);
  return rowsOf(database.pool);
}

it("counts a repetition as one request, so that a document of more than a minute's budget gets to its end", async () => {
  await using world = await createWorld();
  const ann = await world.user({ plan: "free" });
  // Each counts as 20 requests of 60.
  const fields = [1, 2, 3, 4].map((n) => `d${n}: deleteMemories(input: { tags: ["t${n}"] }) { remaining }`);
  const headers = { "idempotency-key": "long" };
  const send = async () => {
    // Another server stands for the next minute: each has its own budgets.
    await using server = await world.serve();
    const body = { query: `mutation { ${fields.join(" ")} }` };
    const answer = await ask(`${server.url}/graphql`, { key: ann.key, headers, body });
    return (answer.body as { data: Record<string, unknown> }).data;
  };
  const done = { remaining: 0 };

  const minutes = [await send(), await send()];

  expect(minutes).toEqual([
    { d1: done, d2: done, d3: null, d4: null },
    { d1: done, d2: done, d3: done, d4: done },
  ]);
});

it("leads from a kept result to nothing in the graph of a team that the caller has left", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, member, teamId } = await aTeam(world);
  const { body } = await store(url, owner.key, "old");
  const { id } = body as { id: string };
  const whole =
    "{ id title content author relationshipsTotal supersededBy { title } solvedBy { title } " +
    "relationships { relationship { context fromMemory { content } } context memory { content } } }";
  const link = 'fromMemoryId: "new", toMemoryId: "old"';
  const query = `mutation {
    updateMemory(input: {id: "${id}", clientId: "old"}) ${whole}
    putMemory(input: {type: "general", title: "New", content: "Theirs.", clientId: "new"}) ${whole}
    createRelationship(input: {${link}, relationshipType: "REPLACES", context: "Why."}) {
      type fromMemory ${whole} toMemory ${whole}
    }
  }`;
  const change = async () => {
    const headers = { "idempotency-key": "change" };
    return (await ask(`${url}/graphql`, { key: member.key, headers, body: { query } })).body as { data: object };
  };
  const first = JSON.stringify(await change());
  const again = JSON.stringify(await change());
  await member.did(leaveTeam, { teamId });

  const { data } = await change();

  expect(first).not.toContain("errors");
  expect(again).toContain('"Why."');
  const nothing = { author: null, relationshipsTotal: 0, supersededBy: null, solvedBy: null, relationships: [] };
  expect(data).toEqual({
    // What the caller was told before.
    updateMemory: { id, title: "Once", content: "Only once.", ...nothing },
    putMemory: { id: expect.any(String) as string, title: "New", content: "Theirs.", ...nothing },
    createRelationship: { type: "REPLACES", fromMemory: null, toMemory: null },
  });
  expect(world.bugs).toEqual([]);
});
