import { randomUUID } from "node:crypto";
import { type Server, createServer, connect } from "node:net";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { type Answer, ask } from "../support/http.js";
import { useLimits } from "../support/limits.js";
import { type Actor, type World, createWorld } from "../support/world.js";

const REDIS_URL = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const reachable = await isReachable(REDIS_URL);
if (!reachable) console.log(`Skipping the tests with Redis: there is none at ${REDIS_URL} (REDIS_URL names another).`);
if (!reachable && process.env["CI_STRICT"]) throw new Error("CI_STRICT is set, so there must be a Redis.");

it("lets exactly 60 of 200 concurrent requests through, over all doors and keys", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  expect(await countPassed(await sendByBothDoors([url], await world.user({ plan: "free" }), 200))).toBe(60);
});

it("gives each plan its budget, and shows in every answer what is left", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, bob] = [await world.user({ plan: "free" }), await world.user({ plan: "pro" })];

  const first = await ask(`${url}/me`, { key: ann.key });
  const second = await ask(`${url}/v1/memories/nothing`, { key: ann.key });
  const third = await ask(`${url}/me`, { key: bob.key });

  expect(first.headers.get("ratelimit-policy")).toBe('"free";q=60;w=60');
  expect(first.headers.get("ratelimit")).toBe('"free";r=59;t=60');
  expect(second.headers.get("ratelimit")).toMatch(/^"free";r=58;t=([1-5]?\d|60)$/);
  expect(third.headers.get("ratelimit")).toMatch(/^"pro";r=299;/);
});

it("counts a GraphQL request by its root fields: aliases, those of fragments, and those left out, too", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  const query =
    "query { a: viewer { id } b: viewer @skip(if: true) { id } ...More } " +
    "fragment More on Query { c: viewer { id } d: viewer { id } }";

  const answer = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(answer.headers.get("ratelimit")).toMatch(/^"free";r=56;/);
});

it("charges nothing for a refused request, so a smaller one can still pass", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  const fields = (count: number) => ({
    query: `{ ${Array.from({ length: count }, (_, index) => `a${index}: viewer { id }`).join(" ")} }`,
  });
  for (let round = 0; round < 7; round++) await ask(`${url}/graphql`, { key: ann.key, body: fields(8) });

  const tooMuch = await ask(`${url}/graphql`, { key: ann.key, body: fields(5) });
  const little = await ask(`${url}/graphql`, { key: ann.key, body: fields(4) });
  const none = await ask(`${url}/me`, { key: ann.key });

  expect(tooMuch.status).toBe(429);
  const retryAfterSeconds = Number(tooMuch.headers.get("retry-after"));
  expect(tooMuch.body).toMatchObject({ errors: [{ extensions: { code: "RATE_LIMITED", retryAfterSeconds } }] });
  expect(little.status).toBe(200);
  expect(little.headers.get("ratelimit")).toMatch(/r=0;/);
  expect(none).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
  expect(Number(none.headers.get("retry-after"))).toBeGreaterThan(50);
});

it("charges one for a request that GraphQL cannot parse", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  for (const body of ["{", { query: "{ nope }" }, { query: "{" }, {}])
    await ask(`${url}/graphql`, { key: ann.key, body });
  const { headers } = await ask(`${url}/me`, { key: ann.key });
  expect(headers.get("ratelimit")).toMatch(/r=55;/);
});

it("charges failed authentication to the address, so that no stranger uses up an account's budget", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const ann = await world.user({ plan: "free" });
  const from = (address: string, key: string) => ask(`${url}/me`, { key, headers: { "x-forwarded-for": address } });

  const guesses = await Promise.all(Array.from({ length: 70 }, () => from("2001:db8::1", `mg_live_${randomUUID()}`)));
  const neighbour = await from("2001:db8::2", "guess");
  const elsewhere = await from("2001:db8:0:1::1", "guess");
  const owner = await from("2001:db8::1", ann.key);

  expect(guesses.filter(({ status }) => status === 401)).toHaveLength(60);
  expect(guesses.filter(({ status }) => status === 429)).toHaveLength(10);
  expect([neighbour.status, elsewhere.status, owner.status]).toEqual([429, 401, 200]);
});

it("charges GraphQL requests without a key to the address, but not those with a key", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const body = { query: "{ __typename }" };

  const statuses = [];
  for (let n = 0; n < 302; n++) statuses.push((await ask(`${url}/graphql`, { body })).status);
  const refused = await ask(`${url}/graphql`, { body });

  expect([statuses.indexOf(429), refused.headers.get("ratelimit-policy")]).toEqual([300, '"keyless";q=300;w=60']);
  expect(refused.body).toMatchObject({ errors: [{ extensions: { code: "RATE_LIMITED" } }] });
  expect((await ask(`${url}/graphql`, { key, body })).status).toBe(200);
});

it("charges requests that need a key and have none to the address as keyless, not as wrong keys, at every door", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const doors = [
    () => ask(`${url}/me`),
    () => ask(`${url}/v1/memories`, { body: {} }),
    () => ask(`${url}/graphql`, { body: { query: "{ viewer { id } }" } }),
    () => ask(`${url}/mcp`, { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } }),
  ];

  const statuses = new Set();
  for (let n = 0; n < 300; n++) statuses.add((await doors[n % doors.length]?.())?.status);
  const beyond = await Promise.all(doors.map((ask) => ask()));

  expect([...statuses]).toEqual([401]);
  expect(beyond.map(({ status }) => status)).toEqual([429, 429, 429, 429]);
  expect(new Set(beyond.map(({ headers }) => headers.get("ratelimit-policy")))).toEqual(
    new Set(['"keyless";q=300;w=60']),
  );
});

it("charges the 65,536 networks of an IPv6 /48 together, with ten times the budget", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const budgets = new Set<string>();
  const guess = async (address: string) => {
    const { status, headers } = await ask(`${url}/me`, { key: "guess", headers: { "x-forwarded-for": address } });
    budgets.add(`${status} ${headers.get("ratelimit-policy")} ${headers.get("ratelimit")?.replace(/;t=.*/, "")}`);
    return status;
  };

  const statuses = [];
  for (let n = 0; n < 601; n++) statuses.push(await guess(`2001:db8:1:${n.toString(16)}::1`));
  // Headers show the budget of the address, until the larger one is used up.
  const name = '"failed-authentication"';
  expect([...budgets]).toEqual([`401 ${name};q=60;w=60 ${name};r=59`, `429 ${name};q=600;w=60 ${name};r=0`]);

  expect([statuses.indexOf(429), statuses.lastIndexOf(401)]).toEqual([600, 599]);
  expect(await guess("2001:db8:2::1")).toBe(401);
});

it("refuses to trust a forged X-Forwarded-For beyond the configured number of proxies", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const guess = (n: number) => ask(`${url}/me`, { key: "guess", headers: { "x-forwarded-for": `10.0.0.${n}` } });
  const statuses = (await Promise.all(Array.from({ length: 61 }, (_, n) => guess(n)))).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
});

describe.skipIf(!reachable)("with a Redis and a long timeout, for busy machines", () => {
  useLimits("budgets", { redisWaitMs: 30_000 });

  it("lets exactly 60 of 200 through over two servers", async () => {
    await using world = await createWorld();
    const urls = await Promise.all([1, 2].map(async () => (await world.serve({ REDIS_URL })).url));
    // Until then each counts for itself.
    for (const url of urls) await waitForRedis(world, url);
    expect(await countPassed(await sendByBothDoors(urls, await world.user({ plan: "free" }), 200))).toBe(60);
  });
});

describe.skipIf(!reachable)("with Redis", () => {
  it.each(["hung", "cut off"] as const)(
    "counts in the process after a short wait while Redis is %s, and goes back",
    async (fault) => {
      await using world = await createWorld();
      await using proxy = await faultyProxy(REDIS_URL);
      const { url } = await world.serve({ REDIS_URL: proxy.url });
      const ann = await world.user({ plan: "free" });
      await waitForRedis(world, url);

      const before = await ask(`${url}/me`, { key: ann.key });
      proxy.set(fault);
      const startedAt = performance.now();
      const first = await ask(`${url}/me`, { key: ann.key });
      const tookMs = performance.now() - startedAt;
      const during = await sendByBothDoors([url], ann, 100);
      proxy.set("fine");
      await eventually(async () => {
        const { headers } = await ask(`${url}/me`, { key: ann.key });
        // Redis counted one request before the fault; the process then used up its own budget.
        return !/r=0;/.test(headers.get("ratelimit") ?? "");
      });

      expect(before.headers.get("ratelimit")).toMatch(/r=59;/);
      expect(first.status).toBe(200);
      // 250 ms, and what a busy machine adds.
      expect(tookMs).toBeLessThan(5_000);
      expect(await countPassed(during)).toBeLessThanOrEqual(59);
      expect(world.bugs).toEqual([]);
    },
  );

  it("starts and serves without Redis", async () => {
    await using world = await createWorld();
    const { url } = await world.serve({ REDIS_URL: "redis://127.0.0.1:1" });
    expect(await countPassed(await sendByBothDoors([url], await world.user({ plan: "free" }), 100))).toBe(60);
  });
});

/** Sends requests by both doors at once; each costs one. */
function sendByBothDoors(urls: readonly string[], { key }: Actor, count: number): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const url = urls[index % urls.length] ?? "";
      if (index % 3 === 0) return ask(`${url}/graphql`, { key, body: { query: "{ viewer { id } }" } });
      return ask(`${url}/v1/memories?limit=1`, { key });
    }),
  );
}

async function countPassed(answers: readonly Answer[]): Promise<number> {
  const statuses = new Set(answers.map(({ status }) => status));
  expect([...statuses].sort()).toEqual([200, 429]);
  return answers.filter(({ status }) => status === 200).length;
}

/** Waits until a server counts in Redis. */
async function waitForRedis(world: World, url: string): Promise<void> {
  await eventually(async () => {
    const probe = await world.user({ plan: "free" });
    await ask(`${url}/me`, { key: probe.key });
    const redis = new Redis(REDIS_URL);
    const used = await redis.get(`mg:budget:user:${probe.caller.userId}`);
    redis.disconnect();
    return used === "1";
  });
}

const eventually = (holds: () => Promise<boolean>) => expect.poll(holds, { interval: 200 }).toBe(true);

type Fault = "fine" | "hung" | "cut off";

/** A proxy to Redis that can hold back or cut what passes. */
async function faultyProxy(target: string) {
  const { hostname, port } = new URL(target);
  let fault: Fault = "fine";
  const connections = new Set<{ destroy(): void }>();
  const server: Server = createServer((client) => {
    if (fault === "cut off") return void client.destroy();
    const upstream = connect(Number(port || 6379), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      connections.add(from);
      from.on("data", (bytes) => void (fault === "fine" && to.write(bytes)));
      from.on("close", () => to.destroy());
      from.on("error", () => to.destroy());
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  // With the same user and database.
  const proxied = new URL(target);
  proxied.host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    url: proxied.href,
    set(next: Fault) {
      fault = next;
      // The bytes held back are lost, so the connection must not continue as if nothing were missing.
      if (next !== "hung") for (const connection of connections) connection.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

async function isReachable(url: string): Promise<boolean> {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: 500, retryStrategy: () => null });
  redis.on("error", () => {});
  try {
    await redis.connect();
    return true;
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
}
