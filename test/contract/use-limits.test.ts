import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { type Context, contextOf } from "../../src/operation/context.js";
import { RateLimited } from "../../src/operation/budget.js";
import { describeOperation, keepsResults } from "../../src/operation/operation.js";
import { type UseLimit, secondsUntilAllowed, takeUseOfNetwork, takeUses } from "../../src/operation/use-limit.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { documentText } from "../support/openapi.js";
import { worldFor } from "../support/billing.js";
import { createWorld } from "../support/world.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { askGraphQL, askRest } from "../support/operations.js";

const limited = operations.flatMap((operation) =>
  (operation.limits ?? []).map((limit) => [`${operation.name}: ${limit.of}`, operation, limit] as const),
);
const byDoor = limited.filter(([, , { by }]) => by !== "handler");

describe.each(byDoor)("%s", (_name, operation, limit) => {
  it("lets callers use it as often as declared at both doors together, and no more", async () => {
    await using world = await worldFor(operation);
    const app = await world.serve();
    const [ann, bob] = [await world.user(), await world.user()];
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const caller = operation.permission === "public" ? undefined : ann.caller;
    const key = caller && ann.key;
    const context = contextOf(app.services, { caller, door: "rest", clientAddress: "127.0.0.1" });
    for (let used = 1; used < limit.limit; used++) await takeUses(context, [limit], input);

    const last = await askRest(app.url, key, operation, input);
    const schema = await graphqlSchema();
    const beyond = [
      await askRest(app.url, key, operation, input),
      await askGraphQL(app.url, key, schema, operation, input),
    ];
    const other = limit.by === "account" ? await askRest(app.url, bob.key, operation, input) : undefined;

    expect(last.status).not.toBe(429);
    expect(beyond[0]).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
    for (const { headers } of beyond) expect(headers.get("retry-after")).toMatch(/^\d+$/);
    const retryAfterSeconds = Number(beyond[1]?.headers.get("retry-after"));
    expect(beyond[1]?.body).toMatchObject({ errors: [{ extensions: { code: "RATE_LIMITED", retryAfterSeconds } }] });
    const said = `At most ${limit.limit} ${limit.of}`;
    expect(JSON.stringify(beyond.map(({ body }) => body)).split(said)).toHaveLength(3);
    expect(other?.status).not.toBe(429);
    expect(world.bugs).toEqual([]);
  });
});

it.each(byDoor.filter(([, operation]) => keepsResults(operation)))(
  "%s: does not count a request that is repeated under its Idempotency-Key",
  async (_name, operation, limit) => {
    await using world = await worldFor(operation);
    const app = await world.serve();
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const context = contextOf(app.services, { caller: ann.caller, door: "rest", clientAddress: "127.0.0.1" });
    const attempt = (key: string) => askRest(app.url, ann.key, operation, input, { "idempotency-key": key });

    const first = await attempt("k");
    for (let used = 1; used < limit.limit; used++) await takeUses(context, [limit], input);
    const [again, other] = [await attempt("k"), await attempt("other")];

    expect(first.status).toBeLessThan(300);
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect(other.status).toBe(429);
  },
);

it("counts the uses of each limit by itself", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const context = contextOf(world.services, { caller: ann.caller, door: "rest", clientAddress: "192.0.2.1" });
  const things = await thingsOf(world, ann);

  for (const [, operation, limit] of new Map(byDoor.map((one) => [one[2].name, one])).values()) {
    const input = exampleInput(operation, things);
    for (let used = 0; used < limit.limit; used++) await takeUses(context, [limit], input);
    await expect(takeUses(context, [limit], input)).rejects.toThrow(RateLimited);
  }
});

it("counts uses for a network's larger network, too, within operations and outside", async () => {
  await using world = await createWorld();
  const { networksPer48 } = LIMITS.budgets;
  const limit: UseLimit = { name: "test", limit: 2, windowMs: 60_000, of: "tests", by: "network" };
  const ways = [
    (context: Context) => takeUses(context, [limit], {}),
    (context: Context) => takeUseOfNetwork(context, { ...limit, name: "outside" }),
  ];

  for (const take of ways) {
    const use = (clientAddress: string) =>
      take(contextOf(world.services, { caller: undefined, door: "page", clientAddress }));
    for (let used = 0; used < limit.limit * networksPer48; used++) await use(`2001:db8:7:${used}::1`);
    await expect(use("2001:db8:7:ffff::1")).rejects.toThrow(RateLimited);
    await use("2001:db8:8:ffff::1");
  }
});

it.each(limited)("%s: is documented at both doors", async (_name, operation, limit) => {
  const said = `At most ${limit.limit} ${limit.of}`;
  const schema = await graphqlSchema();
  const root = operation.kind === "query" ? schema.getQueryType() : schema.getMutationType();

  expect(describeOperation(operation)).toContain(said);
  expect(root?.getFields()[operation.name]?.description).toContain(said);
  expect(documentText).toContain(said);
});

it("lets exactly the allowed number of simultaneous uses through, and says when to retry", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const limit: UseLimit = { name: "test", limit: 7, windowMs: 60_000, of: "tests", by: "account" };
  const context = contextOf(world.services, { caller: ann.caller, door: "rest", clientAddress: "192.0.2.1" });

  const uses = await Promise.allSettled(Array.from({ length: 50 }, () => takeUses(context, [limit], {})));
  const refused = uses.flatMap((use) => (use.status === "rejected" ? [use.reason as RateLimited] : []));

  expect(refused).toHaveLength(43);
  for (const failure of refused) expect(failure).toBeInstanceOf(RateLimited);
  expect(refused[0]?.retryAfterSeconds).toBeGreaterThan(50);
  expect(refused[0]?.retryAfterSeconds).toBeLessThanOrEqual(60);
});

it.each([
  ["no use", 2, [], 0],
  ["one of two", 2, [10_000], 0],
  ["two of two: until the older one is a minute old", 2, [50_000, 10_000], 10],
  ["two of two, in the other order", 2, [10_000, 50_000], 10],
  ["a use that was longer ago than the window", 2, [61_000, 10_000], 0],
  ["more than there may be: until enough are old", 1, [50_000, 30_000], 30],
])("waits after %s", async (_name, limit, ages, seconds) => {
  const wait = await secondsUntilAllowed({ limit, windowMs: 60_000 }, async () => ages);
  expect(Math.abs(wait - seconds)).toBeLessThanOrEqual(1);
  expect(wait > 0).toBe(seconds > 0);
});
