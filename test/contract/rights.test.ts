import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunningApp } from "../../src/app.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import type { Operation } from "../../src/operation/operation.js";
import { ASKERS, type Asker, rightOf } from "../../src/operation/rights.js";
import { NotInTeam, TeamNotFound } from "../../src/operation/standing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { askGraphQL, askRest } from "../support/operations.js";
import { type World, createWorld } from "../support/world.js";

// Every case creates its own users and team, so they can share the server.
let world: World;
let app: RunningApp;
beforeAll(async () => {
  world = await createWorld();
  app = await world.serve({ ALLOWED_ORIGINS: "https://app.example.com" });
});
afterAll(() => world[Symbol.asyncDispose]());

const doors = {
  async rest(key: string | undefined, operation: Operation, input: Record<string, unknown>) {
    const { body } = await askRest(app.url, key, operation, input);
    return ((body || {}) as { error?: Told }).error;
  },
  async graphql(key: string | undefined, operation: Operation, input: Record<string, unknown>) {
    const { body } = await askGraphQL(app.url, key, await graphqlSchema(), operation, input);
    const [error] = (body as { errors?: Array<{ message: string; extensions: Omit<Told, "message"> }> }).errors ?? [];
    return error && { message: error.message, ...error.extensions, code: error.extensions.code.toLowerCase() };
  },
};

interface Told {
  readonly code: string;
  readonly message: string;
  readonly reason?: string;
}

describe.each(Object.entries(doors))("by %s", (_door, ask) => {
  it.each(operations.map((operation) => [operation.name, operation] as const))(
    "lets exactly the declared callers use %s",
    async (_name, operation) => {
      const owner = await world.user();
      const things = await thingsOf(world, owner);
      const keyOf = await keysAround(owner.key, things.teams[0] ?? "");

      const met: Record<string, string> = {};
      // Those with the fewest rights first: a caller who succeeds may leave nothing for the next ones.
      for (const asker of ASKERS.toReversed()) {
        met[asker] = rightMet(await ask(keyOf[asker], operation, exampleInput(operation, things)));
      }

      const advice = 'Declare the role, as src/README.md says in "Changing who may do what".';
      expect(met, advice).toEqual(Object.fromEntries(ASKERS.map((asker) => [asker, rightOf(operation, asker)])));
      expect(world.bugs).toEqual([]);
    },
  );
});

/** The key of one caller of each kind. */
async function keysAround(owner: string, teamId: string): Promise<Record<Asker, string | undefined>> {
  const [admin, member, outsider] = [await world.user(), await world.user(), await world.user()];
  for (const actor of [admin, member]) await world.seat(actor, teamId);
  await world.database.models.teamMember.update({ where: { userId: admin.caller.userId }, data: { role: "admin" } });
  return { owner, admin: admin.key, member: member.key, outsider: outsider.key, nobody: undefined };
}

const ABSENT = [new TeamNotFound(), new NotInTeam()].map(({ message }) => message.slice(0, message.indexOf(".") + 1));

/** The refusal because of who calls. Refusals because of the state, such as a missing team graph, count as "yes". */
function rightMet(told: Told | undefined): string {
  if (told?.reason === "role_too_small") return told.reason;
  if (told?.code === "unauthorized") return told.code;
  const isAbsent = told?.code === "not_found" && ABSENT.some((start) => told.message.startsWith(start));
  return isAbsent ? told.code : "yes";
}
