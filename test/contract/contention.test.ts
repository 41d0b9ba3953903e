import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import type { RunningApp } from "../../src/app.js";
import { LIMITS } from "../../src/limits.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import type { Operation } from "../../src/operation/operation.js";
import type { StandInStripe } from "../../src/stand-in/stripe/index.js";
import { brokenOfGraphs } from "../model/invariants.js";
import { asksProvider, brokenBilling, createStripeWorld, eventOf, sendEvent } from "../support/billing.js";
import { startFaultyProxy } from "../support/faulty-proxy.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import type { Answer } from "../support/http.js";
import { askGraphQL, askRest } from "../support/operations.js";
import { PATIENT_PAYMENTS } from "../support/patience.js";
import { roundsOf } from "../support/rounds.js";
import { brokenInvariants } from "../support/teams.js";
import { type Actor, type World, createWorld } from "../support/world.js";

/**
 * Calls at once in each way. Billing has locks of its own, for which more calls are harder, and take long: at least one
 * call of each of two callers at each door.
 */
const CALLS = 10;
const CALLS_OF_BILLING = Math.max(4, Math.min(roundsOf(40), 40));
const mutations = operations.filter(({ kind }) => kind === "mutation");

/** Who calls at the same time, and how. */
const WAYS = ["by one caller", "by two callers", "with one Idempotency-Key"] as const;

/** Codes of refusals that say: not now. */
const LATER: ReadonlySet<string> = new Set(["unavailable", "rate_limited"]);

/** The code of an answer in REST's words; "ok" for a success. */
function codeOf({ status, body }: Answer): string {
  const { error, errors } = (body || {}) as {
    readonly error?: { readonly code: string };
    readonly errors?: ReadonlyArray<{ readonly extensions?: { readonly code?: string } }>;
  };
  return error?.code ?? errors?.[0]?.extensions?.code?.toLowerCase() ?? (status < 300 ? "ok" : String(status));
}

/** A bug, a failure of a provider that works, or a refusal that does not say when to try again. */
function isWrong(answer: Answer): boolean {
  const { status, headers } = answer;
  const code = codeOf(answer);
  // In GraphQL, where other fields may have succeeded, most refusals have the status 200, and no headers of their own.
  if (LATER.has(code)) return status >= 400 && !headers.has("retry-after");
  return status >= 500 || code === "internal_error" || code === "payment_provider_error";
}

/** What is half done, also at the payment provider. */
async function halfDone({ stripe, ...world }: World & { readonly stripe?: StandInStripe }): Promise<string[]> {
  const broken = [...(await brokenInvariants(world)), ...(await brokenOfGraphs(world))];
  return stripe ? [...broken, ...(await brokenBilling({ ...world, stripe }))] : broken;
}

interface Calls {
  readonly input: Readonly<Record<string, unknown>>;
  readonly callers: readonly Actor[];
  readonly headers: Record<string, string>;
}

/** Sends calls at once: by turns by each caller, and by REST and GraphQL unless a key makes them one request. */
async function callAtOnce(
  url: string,
  operation: Operation,
  { count, input, callers, headers }: Calls & { readonly count: number },
): Promise<Answer[]> {
  const schema = await graphqlSchema();
  const isRepeated = "idempotency-key" in headers;
  const calls = Array.from({ length: count }, (_, call) => {
    const key = callers[call % callers.length]?.key;
    return isRepeated || call % 4 < 2
      ? askRest(url, key, operation, input, headers)
      : askGraphQL(url, key, schema, operation, input, headers);
  });
  return Promise.all(calls);
}

/** Sends as many events of all customers of the provider to the server. */
async function sendEvents(
  { database, stripe }: World & { readonly stripe?: StandInStripe },
  app: RunningApp,
  headers: Record<string, string>,
): Promise<Answer[]> {
  if (!stripe) return [];
  const accounts = await database.models.billingAccount.findMany({ where: { customerId: { not: null } } });
  const events = Array.from({ length: CALLS_OF_BILLING }, (_, call) => {
    const { customerId } = accounts[call % accounts.length] ?? {};
    return sendEvent({ stripe, app }, eventOf(`evt_${randomUUID().slice(-12)}`, customerId ?? "cus_x"), { headers });
  });
  return Promise.all(events);
}

/** A server with production's limits on the database: a burst must not need more than they allow. */
async function openScene(world: World & { readonly stripe?: StandInStripe }) {
  const way = await startFaultyProxy(world.databaseUrl);
  const app = await world.serve({ TRUSTED_PROXIES: "1" }, way.url, {}, { ...LIMITS.database });
  const close = async () => {
    await way[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  };
  return { world, way, app, [Symbol.asyncDispose]: close };
}

/** For all operations that never ask the payment provider: each has users, objects and addresses of its own. */
let shared: ReturnType<typeof openScene> | undefined;
afterAll(async () => (await shared)?.[Symbol.asyncDispose]());

describe("many calls at once on the same objects", () => {
  it.each(mutations)(
    "$name: lets each have its turn or says when to try again, and leaves nothing half done",
    async (operation) => {
      await using own = asksProvider(operation)
        ? await openScene(await createStripeWorld({ serversPaymentWaits: PATIENT_PAYMENTS }))
        : undefined;
      const { world, way, app } = own ?? (await (shared ??= createWorld().then(openScene)));
      world.stripe?.sendEventsTo(`${app.url}/billing/stripe-webhook`);
      const bursts = [];
      for (const [index, how] of WAYS.entries()) {
        const [caller, other] = [await world.user(), await world.user()];
        const things = await thingsOf(world, caller, operation);
        if (operation.name !== "createTeam") await world.seat(other, things.teams[0] ?? "");
        const callers = how === "by two callers" ? [caller, other] : [caller];
        const repeated = how === "with one Idempotency-Key" && { "idempotency-key": randomUUID() };
        // From addresses of their own, so that each way has its own limits.
        const headers = { "x-forwarded-for": `10.${mutations.indexOf(operation)}.0.${index}`, ...repeated };
        const calls = { input: exampleInput(operation, things), callers, headers };
        bursts.push((count: number) => callAtOnce(app.url, operation, { ...calls, count }));
      }
      // Billing has locks of its own, for which a database some way off is harder.
      if (world.stripe) way.become("delay");

      const events = sendEvents(world, app, { "x-forwarded-for": "198.51.100.1" });
      const answers = await Promise.all(bursts.map((call) => call(world.stripe ? CALLS_OF_BILLING : CALLS)));

      const wrong = [...(await events), ...answers.flat()].filter(isWrong);
      expect(wrong.map(({ status, body }) => [status, body])).toEqual([]);
      // On a slow machine a burst may get no turn at all; whoever then tries again gets one.
      for (const call of bursts)
        await expect.poll(async () => (await call(1)).map(codeOf)).not.toEqual(["unavailable"]);
      await expect.poll(() => halfDone(world)).toEqual([]);
      expect(world.bugs.splice(0)).toEqual([]);
    },
  );
});
