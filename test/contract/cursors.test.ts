import { afterAll, beforeAll, expect, it } from "vitest";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import { memories } from "../../src/features/memories/list-memories.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { upgradeTeam } from "../../src/features/billing/upgrade-team.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { NOT_A_CURSOR } from "../../src/operation/page.js";
import { isLeftOut } from "../../src/operation/tool.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { type StripeWorld, createStripeWorld } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { offered } from "../support/mcp.js";
import { operationNamed, saidByGraphQL, saidByRest } from "../support/operations.js";
import { type Actor, createWorld } from "../support/world.js";

const schema = await graphqlSchema();
const paged = operations.filter((operation) => "cursor" in inputTypeOf(schema, operation).getFields());

/** What a list is asked for, and the cursor after its first item. */
interface Asked {
  readonly input: Readonly<Record<string, unknown>>;
  readonly cursor: string | null;
}

// Nothing is changed after the lists are filled, so the cases can share a world.
let world: StripeWorld;
let url: string;
let ann: Actor;
const asked = new Map<string, Asked>();

beforeAll(async () => {
  world = await createStripeWorld();
  ({ url } = await world.serve());
  ann = await world.user();
  const things = await thingsOf(world, ann, operationNamed("teamInvoices"));
  await ann.did(updateMemory, { id: things.memories[0], title: "Changed" });
  await ann.did(upgradeTeam, { maxMembers: 60 });
  for (const operation of paged) {
    const input = { ...exampleInput(operation, things), limit: 1 };
    const { nextCursor: cursor } = await ann.did<object, { nextCursor?: string | null }>(operation, input);
    asked.set(operation.name, { input, cursor: cursor ?? null });
  }
});
afterAll(() => world[Symbol.asyncDispose]());

const askedOf = (name: string): Asked => asked.get(name) ?? { input: {}, cursor: null };

it("knows the lists, and gives no cursors to agents", () => {
  expect(paged.length).toBeGreaterThan(9);
  expect(offered.filter((operation) => paged.includes(operation) && !isLeftOut(operation, "cursor"))).toEqual([]);
});

it.each(paged.map((operation) => [operation.name, operation] as const))(
  "continues %s by its own cursor, and refuses those of all other lists at each door",
  async (name, operation) => {
    const { input, cursor } = askedOf(name);
    const others = [...asked].filter(([other]) => other !== name).map(([, { cursor: given }]) => given);
    const say = async (given: string | null) => [
      await saidByRest(url, ann.key, operation, { ...input, cursor: given }),
      await saidByGraphQL(url, ann.key, schema, operation, { ...input, cursor: given }),
    ];
    const refused = { ok: false, code: "bad_request", issues: [`cursor: ${NOT_A_CURSOR}`] };

    expect(await say(cursor)).toEqual([{ ok: true }, { ok: true }]);
    expect(others).toHaveLength(paged.length - 1);
    for (const other of others) expect(await say(other), String(other)).toEqual([refused, refused]);
    // A place alone, in no list.
    const place = Buffer.from(cursor ?? "", "base64url")
      .toString()
      .replace(/^\w+\//, "");
    expect(await say(Buffer.from(place).toString("base64url"))).toEqual([refused, refused]);
  },
);

it("continues at the same place with another filter", async () => {
  await using another = await createWorld();
  const bob = await another.user();
  const titled = (type: string) => ({ type, title: `A ${type}`, content: "Something." });
  await bob.did(createMemories, { memories: ["task", "fix", "task", "fix", "task"].map(titled) });
  const { nextCursor: cursor } = await bob.did(memories, { types: ["fix"], limit: 1 });

  const page = await bob.did(memories, { types: ["task"], cursor });

  expect(page.memories.map(({ title }) => title)).toEqual(["A task", "A task"]);
});
