import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inputTypeOf } from "../../src/operation/input.js";
import { cursorOf } from "../../src/operation/page.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { operationNamed } from "../support/operations.js";
import { type World, createWorld } from "../support/world.js";

const ID = "019bb153-8740-7c2d-8e3f-405162738495";
const ELSEWHERE = "https://evil.example";

/** Inputs that the bounds of single fields allow, but the operation's `check` refuses. */
const WRONG: Readonly<Record<string, object>> = {
  updateMemory: { title: undefined },
  updateRelationship: { strength: undefined },
  updateTeam: { name: undefined },
  updateAccount: { name: undefined },
  createMemories: { memories: [], relationships: [] },
  restoreMemories: { memories: [] },
  deleteMemories: { ids: undefined },
  shareMemories: { ids: undefined },
  inviteMember: { email: "nobody" },
  changeEmail: { email: "nobody" },
  createTeamCheckout: { successUrl: ELSEWHERE },
  openBillingPortal: { returnUrl: ELSEWHERE },
  memories: { cursor: cursorOf("memories", `${ID}/${ID}`), offset: 1 },
  relatedMemories: { limit: 1_000 },
  searchMemories: { explain: true, limit: 1_000 },
};

const schema = await graphqlSchema();
const paged = operations.filter((operation) => "cursor" in inputTypeOf(schema, operation).getFields());

// Nothing gets past the checks, so the cases can share a world.
let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** What an operation answers to somebody who is not in the team, with a key that has no scope. */
async function askWithoutRights(name: string, wrong: object) {
  const [ann, bob] = [await world.user(), await world.user({ scopes: [] })];
  const operation = operationNamed(name);
  const input = exampleInput(operation, await thingsOf(world, ann));
  return bob.does(operation, { ...input, ...wrong });
}

describe("an input that is wrong in itself", () => {
  it("has an example for every operation that checks one", () => {
    // createRelationship checks more for agents alone, whose tools need the scope to be seen.
    const checking = operations.filter(({ name, check }) => check && name !== "createRelationship");

    expect(Object.keys(WRONG).sort()).toEqual(checking.map(({ name }) => name).sort());
  });

  it.each(Object.entries(WRONG))("is refused by %s before the caller's rights are checked", async (name, wrong) => {
    expect(await askWithoutRights(name, wrong)).toBeRefused("bad_request");
  });

  it.each(paged.map(({ name }) => name))("is refused by %s for a cursor of another form", async (name) => {
    expect(await askWithoutRights(name, { cursor: cursorOf(name, "elsewhere") })).toBeRefused("bad_request");
  });
});
