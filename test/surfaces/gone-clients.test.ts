import { type IncomingMessage, Server, request } from "node:http";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { Slots } from "../../src/surfaces/slots.js";
import { ask } from "../support/http.js";
import { lockMemories, waitingForLocks } from "../support/locks.js";
import { createWorld } from "../support/world.js";

it("keeps no slot for clients that disconnected while their key was looked up", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { connectionsPerKey: 2, waitingPerKey: 0 });
  const { key } = await world.user();
  const { pool } = world.database;
  const client = await pool.connect();
  await client.query("BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE");
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };

  const sent = [1, 2].map(() => request(`${url}/graphql`, { method: "POST", headers }).on("error", () => {}));
  for (const one of sent) one.end('{"query":"{ __typename }"}');
  await expect.poll(() => waitingForLocks(world)).toBeGreaterThan(0);
  for (const one of sent) one.destroy();
  await client.query("COMMIT");
  client.release();

  const query = "{ memories { memories { id } } }";
  await expect.poll(async () => (await ask(`${url}/graphql`, { key, body: { query } })).status).toBe(200);
});

it("charges clients that disconnect while their GraphQL request waits for a slot, which the next one gets", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { graphqlPerAccount: 1 });
  const { key, caller } = await world.user();
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  await using lock = await lockMemories(world);
  const running = ask(`${url}/graphql`, { key, body: { query: "{ memories { nextCursor } }" } });
  await expect.poll(() => lock.waiting(), { timeout: 60_000 }).toBe(1);

  const takes = vi.spyOn(Slots.prototype, "take");
  onTestFinished(() => takes.mockRestore());
  const sent = [1, 2, 3].map(() => request(`${url}/graphql`, { method: "POST", headers }).on("error", () => {}));
  for (const [index, one] of sent.entries()) one.end(`{"query":"{ __typename } #${index}"}`);
  const waiting = () => takes.mock.calls.filter(([name]) => name === caller.userId).length;
  await expect.poll(waiting).toBe(sent.length);
  for (const one of sent) one.destroy();
  await expect.poll(() => world.log.filter((line) => line.includes('"status":"aborted"')).length).toBe(sent.length);
  await lock.release();
  await running;
  // Its turn comes after theirs.
  const last = await ask(`${url}/graphql`, { key, body: { query: "{ __typename }" } });

  expect(last.status).toBe(200);
  expect(last.headers.get("ratelimit")).toContain(`r=${LIMITS.budgets.requestsByPlan.pro - 5};`);
});

it.each([
  ["", {}, Buffer.from("{}")],
  [", compressed", { "content-encoding": "gzip" }, gzipSync("{}")],
])(
  "listens to the errors of a request%s after its body is read, since Node throws those that nobody hears, and drops the body",
  async (_how, headers, body) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const emitted = vi.spyOn(Server.prototype, "emit");
    onTestFinished(() => emitted.mockRestore());

    await ask(`${url}/v1/memories`, { key, headers, body });

    const requests = emitted.mock.calls.flatMap(([event, incoming]: readonly unknown[]) =>
      event === "request" ? [incoming as IncomingMessage & { body?: unknown }] : [],
    );
    expect(requests.map((one) => one.listenerCount("error") > 0)).toEqual([true]);
    // A client that reads its answer slowly would keep it.
    expect(requests.map(({ body }) => body)).toEqual([undefined]);
  },
);
