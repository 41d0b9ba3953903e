import { expect, it } from "vitest";
import { createTeam } from "../../src/features/teams/create-team.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { contextOf } from "../../src/operation/context.js";
import { execute } from "../../src/operation/execute.js";
import { Failure } from "../../src/operation/failure.js";
import { inputReader, inputTypeOf } from "../../src/operation/input.js";
import type { Operation } from "../../src/operation/operation.js";
import { createStripeWorld } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { operationNamed, plainNames } from "../support/operations.js";
import type { Actor, World } from "../support/world.js";

/** What may end after a request's key was read, before its handler runs. */
const endings: Readonly<Record<string, (world: World, actor: Actor, teamId: string) => Promise<unknown>>> = {
  "their key was revoked": (_world, actor) => actor.did(operationNamed("revokeApiKey"), { id: actor.caller.keyId }),
  "their team was deleted": (_world, actor, teamId) => actor.did(operationNamed("deleteTeam"), { teamId }),
  "their key's row was deleted": ({ database }, { caller }) =>
    database.models.apiKey.delete({ where: { id: caller.keyId } }),
  async "their account was deleted"(_world, actor, teamId) {
    await actor.did(operationNamed("deleteTeam"), { teamId });
    await actor.did(operationNamed("deleteAccount"), { email: actor.email });
  },
};

const guarded = operations.filter(({ permission }) => permission !== "public");

it.each(Object.entries(endings))("answers callers as declared though meanwhile %s", async (_what, end) => {
  await using world = await createStripeWorld();
  const ann = await world.user();
  const things = await thingsOf(world, ann);
  const { caller } = await ann.withKey(ann.key);
  await end(world, ann, things.teams[0] ?? "");

  const outcomes: Record<string, string> = {};
  for (const operation of guarded) {
    outcomes[operation.name] = await runAs(world, caller, operation, exampleInput(operation, things));
  }

  // Anything but a declared failure is thrown, and would be a 500.
  expect(Object.entries(outcomes).filter(([, outcome]) => outcome.startsWith("bug"))).toEqual([]);
  expect(Object.values(outcomes)).toContain("succeeded");
});

it("shows no other team than the one asked for to a caller who meanwhile joined another", async () => {
  await using world = await createStripeWorld();
  const ann = await world.user();
  const { id: teamId } = await ann.did(createTeam, { name: "One", maxMembers: 2 });
  const { caller } = await ann.withKey(ann.key);
  await ann.did(operationNamed("deleteTeam"), { teamId });
  await ann.did(createTeam, { name: "Two", maxMembers: 2 });

  expect(await runAs(world, caller, operationNamed("team"), { teamId })).toBe("not_found");
});

it("says the same of a caller's own team if it was deleted during the request as in the next one", async () => {
  await using world = await createStripeWorld();
  const ann = await world.user();
  const things = await thingsOf(world, ann);
  const { caller } = await ann.withKey(ann.key);
  await ann.did(operationNamed("deleteTeam"), { teamId: things.teams[0] ?? "" });

  const outcomes: Record<string, string> = {};
  for (const operation of operations.filter(({ team, effect }) => team?.which === "own" && effect === "transaction")) {
    outcomes[operation.name] = await runAs(world, caller, operation, exampleInput(operation, things));
  }

  expect(Object.keys(outcomes)).toContain("createTeamCheckout");
  expect(new Set(Object.values(outcomes))).toEqual(new Set(["not_found, no_team"]));
});

/** How an operation ends for a caller who was read before. */
async function runAs(world: World, caller: Actor["caller"], operation: Operation, input: object): Promise<string> {
  const read = inputReader(inputTypeOf(await graphqlSchema(), operation), operation);
  const context = contextOf(world.services, { caller, door: "rest", clientAddress: "127.0.0.1" });
  try {
    await execute(operation, context, read({ path: {}, query: {}, body: plainNames(input) }));
    return "succeeded";
  } catch (error) {
    return error instanceof Failure ? [error.kind, error.reason ?? []].flat().join(", ") : `bug: ${String(error)}`;
  }
}
