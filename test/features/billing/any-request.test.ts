import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "../../../src/operations.js";
import type { Operation } from "../../../src/operation/operation.js";
import { type StripeWorld, asksProvider, createStripeWorld } from "../../support/billing.js";
import { exampleInput, thingsOf } from "../../support/examples.js";
import { runsAllRounds, timesAllRounds } from "../../support/rounds.js";
import { brokenInvariants } from "../../support/teams.js";
import type { Verdict } from "../../support/world.js";

/** Each is repeated as often as the client retries by itself. */
const FAULTS = ["500", "cut-before", "cut-after"] as const;
const asking = operations.filter(asksProvider);
/** Every operation with one fault, at home at every second request. `TEST_ROUNDS=3` tries each fault. */
const cases = FAULTS.slice(0, timesAllRounds).flatMap((_fault, round) =>
  asking.map(
    (operation, index) => [operation.name, FAULTS[(index + round) % FAULTS.length] ?? "500", operation] as const,
  ),
);
const STEP = runsAllRounds ? 1 : 2;

let world: StripeWorld;
beforeAll(async () => void (world = await createStripeWorld()));
afterAll(() => world[Symbol.asyncDispose]());

/** Someone who runs the operation again and again under one Idempotency-Key; what Stripe was asked meanwhile. */
async function begin(operation: Operation) {
  const actor = await world.user({ plan: "free" });
  const things = await thingsOf(world, actor, operation);
  const input = exampleInput(operation, things);
  const earlier = world.stripe.requests.length;
  const asked = () => world.stripe.requests.slice(earlier);
  return {
    run: (): Promise<Verdict<object>> => actor.does(operation, input, { key: "k", part: "", request: "one" }),
    requests: () => asked().length,
    /** Which changes Stripe has made, each once, however often it was asked. */
    changes: () =>
      [
        ...new Map(
          asked().flatMap(({ method, path, status, idempotencyKey }) =>
            method === "POST" && (status ?? 500) < 300
              ? [[idempotencyKey, path.replaceAll(/_\w+/g, "_…")] as const]
              : [],
          ),
        ).values(),
      ].sort(),
  };
}

describe.each(cases)("%s, while the provider fails by %s", (_name, kind, operation) => {
  it("is refused, or answers without the provider, at any request, and then makes each change once", async () => {
    const usual = await begin(operation);
    expect(await usual.run()).toMatchObject({ ok: true });
    const [requests, changes] = [usual.requests(), usual.changes()];
    const wrong: unknown[] = [];
    for (let number = 0; number < requests; number += STEP) {
      const one = await begin(operation);
      world.stripe.fail({ kind, after: number, times: 2 });
      const first = await one.run();
      world.stripe.clearFaults();
      const again = await one.run();

      if (!first.ok && first.failure.kind !== "payment_provider_error") wrong.push({ number, first });
      if (!again.ok) wrong.push({ number, again });
      expect([number, one.changes()]).toEqual([number, changes]);
    }
    expect(wrong).toEqual([]);
    expect(await brokenInvariants(world)).toEqual([]);
    expect(world.bugs).toEqual([]);
  });
});
