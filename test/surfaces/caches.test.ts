import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { DatabaseShares } from "../../src/operation/shares.js";
import type { Database } from "../../src/platform/database/database.js";
import { ProcessBudgets } from "../../src/platform/rate-limit/rate-limiter.js";
import { Connections } from "../../src/surfaces/connections.js";
import { Slots } from "../../src/surfaces/slots.js";
import { Turns } from "../../src/surfaces/turns.js";
import { heapMegabytes } from "../support/heap.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const hashOf = (query: string): string => createHash("sha256").update(query).digest("hex");
/** Each request comes from another address, because an address has a limit per minute. */
const addressOf = (index: number) => ({ "x-forwarded-for": `10.2.${index >> 8}.${index & 255}` });

interface Filler {
  readonly what: string;
  readonly count: number;
  /** How much may remain in memory: the limit of the cache, and a little for other work meanwhile. */
  readonly megabytesMax: number;
  readonly withKey?: true;
  readonly body: (index: number) => object;
}

/** Requests that each leave something different in a cache, together far more than it may keep. */
const FILLERS: readonly Filler[] = [
  {
    what: "documents of 15 KB",
    count: 250,
    megabytesMax: 64 + 16,
    body: (index) => ({ query: `{ __typename } #${index}${" ".repeat(15_000)}` }),
  },
  {
    what: "documents of many tokens",
    count: 250,
    megabytesMax: 64 + 16,
    body: (index) => ({
      query: `{ ${`__typename @skip(if: false) `.repeat(20)} ${"__typename ".repeat(800)} } #${index}`,
    }),
  },
  {
    what: "registered documents of 60 KB",
    count: 250,
    megabytesMax: 16 + 16,
    body: (index) => {
      const query = `{ __typename } #${index}${"x".repeat(60_000)}`;
      return { query, extensions: { persistedQuery: { version: 1, sha256Hash: hashOf(query) } } };
    },
  },
  {
    what: "introspections",
    count: 100,
    megabytesMax: 8 + 16,
    body: (index) => ({ query: `{ __schema { types { name description fields { name description } } } } #${index}` }),
  },
  {
    what: "values of variables",
    count: 60,
    megabytesMax: 16,
    withKey: true,
    body: (index) => ({
      query: "query($n: Int) { memories(limit: $n) { nextCursor } }",
      variables: { n: index, other: "x".repeat(900_000) },
    }),
  },
];

it.each(FILLERS)("keeps caches within their limit of bytes: $what", async ({ count, megabytesMax, withKey, body }) => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const key = withKey && (await world.user()).key;
  const send = (index: number) => ask(`${url}/graphql`, { key, headers: addressOf(index), body: body(index) });
  await send(count);
  const before = await heapMegabytes();

  for (let index = 0; index < count; index += 10) {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, more) => send(index + more)));
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 400)).toEqual([]);
  }

  expect((await heapMegabytes()) - before).toBeLessThan(megabytesMax);
});

it("keeps budgets within 30 MB, for any number of unknown clients and any length of names", async () => {
  const budgets = new ProcessBudgets();
  const before = await heapMegabytes();

  for (let index = 0; index < 120_000; index++) {
    await budgets.take(`sign-up:${"x".repeat(250)}${index}`, { limit: 5, cost: 1 });
  }

  expect((await heapMegabytes()) - before).toBeLessThan(30);
  // The newest budget is still known.
  expect((await budgets.take(`sign-up:${"x".repeat(250)}119999`, { limit: 5, cost: 1 })).used).toBe(1);
});

it("keeps the times of uses within 60 MB, for any number of names and uses", async () => {
  let now = 0;
  const budgets = new ProcessBudgets(() => now);
  const use = (name: string) => budgets.use(name, { limit: 300, windowMs: 3_600_000 });
  const before = await heapMegabytes();

  for (; now < 120_000; now++) await use(`${"x".repeat(250)}${now}`);
  const manyNames = (await heapMegabytes()) - before;
  // More times than are kept, by nearly as many names as are kept: that takes the most memory.
  for (let index = 0; index < 90_000; index++, now++) {
    for (let times = 0; times < 12; times++) await use(`name ${index}`);
  }
  const manyUses = (await heapMegabytes()) - before;

  // Whole names of 250 characters would take 56 MB.
  expect([manyNames < 40, manyUses < 60]).toEqual([true, true]);
  // The newest one is still known, the oldest no more.
  expect(await use("name 89999")).toHaveLength(12);
  expect(await use("name 0")).toHaveLength(0);
});

/** Work in the name of an address, a key or an account, from its beginning to its end. */
const ENDED: Readonly<Record<string, () => (name: string) => unknown>> = {
  slots: () => {
    const slots = new Slots({ slots: 1, waiting: 1, waitMs: 0 });
    return (name) => {
      void slots.take(name);
      slots.give(name);
    };
  },
  "shares of the database": () => {
    const database = { run: async () => [], whyWaitFailed: () => undefined } as unknown as Database;
    const shares = new DatabaseShares(database);
    return (name) => shares.of(name).run({ name: "", text: "" }, []);
  },
  turns: () => {
    const turns = new Turns(0);
    return (name) => new Promise<void>((done) => turns.begin(done, name));
  },
  connections: () => {
    const server = Object.assign(new EventEmitter(), { closeIdleConnections() {}, closeAllConnections() {} });
    void new Connections(server as unknown as Server, LIMITS.http, { behindProxies: false });
    onTestFinished(() => void server.emit("close"));
    return (name) => {
      const socket = Object.assign(new EventEmitter(), { remoteAddress: name });
      server.emit("connection", socket);
      socket.emit("close");
    };
  },
};

it.each(Object.keys(ENDED))("keeps nothing of names whose work has ended: %s", async (what) => {
  const work = ENDED[what]?.();
  const before = await heapMegabytes();

  for (let index = 0; index < 20_000; index++) await work?.(`2001:db8:${index.toString(16)}:1::7`);

  // A hundred bytes for each name would be as much.
  expect((await heapMegabytes()) - before).toBeLessThan(2);
  // So that what was measured is still in use.
  await work?.("2001:db8::7");
});
