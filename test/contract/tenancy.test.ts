import { GraphQLID, type GraphQLInputObjectType, getNamedType, isInputObjectType } from "graphql";
import { describe, expect, it } from "vitest";
import { inputTypeOf } from "../../src/operation/input.js";
import type { Operation } from "../../src/operation/operation.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { worldFor } from "../support/billing.js";
import { type Things, exampleInput, thingsOf } from "../support/examples.js";
import { callOperation } from "../support/mcp.js";
import { rowsOf } from "../support/tables.js";
import { askGraphQL, askRest, idFields, inputFields, saidByGraphQL } from "../support/operations.js";

/** Operations for anybody who has an invitation's link, which contains its id. */
const BY_LINK = ["invitationById", "mailInvitation"];

/** What only members of the team can be told is named; all else has no reason, as what belongs to others. */
const REASONS: Readonly<Record<string, string>> = { userId: "no_such_member", invitationId: "no_such_invitation" };

const schema = await graphqlSchema();
const takingIds = operations.filter(
  (operation) => idFields(schema, operation).length > 0 && !BY_LINK.includes(operation.name),
);

it("knows the operations that take an id", () => {
  expect(takingIds.length).toBeGreaterThan(8);
});

describe.each(takingIds.map((operation) => [operation.name, operation] as const))("%s", (_name, operation) => {
  it.each(idFields(schema, operation))("answers for another user's %s as for an unknown one", async (field) => {
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    const [ann, bob] = [await world.user(), await world.user()];
    const mine = exampleInput(operation, await thingsOf(world, ann, operation));
    const theirs = exampleInput(operation, await thingsOf(world, bob, operation));
    const before = await rowsOf(world.database.pool);

    const their = String([theirs[field]].flat()[0]);
    const inPlace = (id: string) => ({ ...mine, [field]: Array.isArray(mine[field]) ? [id] : id });
    const answers = [];
    for (const id of [their, world.services.newId(), "not-an-id", their.slice(1)]) {
      answers.push(await askRest(url, ann.key, operation, inPlace(id)));
    }
    const byGraphQL = await saidByGraphQL(url, ann.key, schema, operation, inPlace(their));

    if (operation.mcp) {
      const call = (id: string) => callOperation(url, ann.key, operation, inPlace(id));
      const called = await call(their);
      expect(called).toEqual(await call(world.services.newId()));
      expect(called).toMatchObject({ isError: true, answer: { error: { code: "not_found" } } });
      // What is no whole id gets further advice.
      expect(await call(their.slice(1))).toEqual(await call("not-an-id"));
    }
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(byGraphQL).toEqual({ ok: false, code: "not_found", reason: REASONS[field] });
    expect(await rowsOf(world.database.pool)).toEqual(before);
    expect(world.bugs).toEqual([]);
  });
});

/** Where else an input can name something: fields that only filter, and those of the inputs in a list. */
const placesOf = (type: GraphQLInputObjectType, list?: string): Array<readonly [field: string, list?: string]> =>
  inputFields(type).flatMap(({ name, type: wrapped }) => {
    const inner = getNamedType(wrapped);
    if (isInputObjectType(inner)) return placesOf(inner, name);
    return inner === GraphQLID ? [list === undefined ? [name] : [name, list]] : [];
  });

const further = operations.flatMap((operation) =>
  placesOf(inputTypeOf(schema, operation))
    .filter(([field, list]) => list !== undefined || !idFields(schema, operation).includes(field))
    .map(([field, list]) => [[operation.name, list, field].filter(Boolean).join("."), operation, field, list] as const),
);

/** What a field names, of all that a user has. */
function namedBy(field: string, list: string | undefined, { memories, relationships }: Things, userId: string): string {
  if (/(?:By|actorId)$/.test(field)) return userId;
  return String((field === "id" && list === "relationships" ? relationships : memories)[0]);
}

/** An example with one item in each of its lists. */
function exampleWithLists(operation: Operation, things: Things): Record<string, unknown> {
  const link = {
    id: "019bb153-8740-7c2d-8e3f-405162738496",
    from: things.memories[0],
    to: things.memories[2],
    type: "ENABLES",
  };
  return {
    ...(operation.name === "restoreMemories" && { relationships: [{ ...link, createdAt: "2026-01-01T00:00:00Z" }] }),
    ...exampleInput(operation, things),
  };
}

it.each(further)(
  "%s: answers for what is another user's as for what is unknown",
  async (_name, operation, field, list) => {
    const answers = [];
    for (const isKnown of [true, false]) {
      await using world = await worldFor(operation);
      const { url } = await world.serve();
      const [ann, bob] = [await world.user(), await world.user()];
      const input = exampleWithLists(operation, await thingsOf(world, ann, operation));
      const theirs = namedBy(field, list, await thingsOf(world, bob, operation), bob.caller.userId);
      const id = isKnown ? theirs : world.services.newId();
      const [first, ...others] = list === undefined ? [] : (input[list] as object[]);
      const asked = {
        ...input,
        ...(list === undefined ? { [field]: id } : { [list]: [{ ...first, [field]: id }, ...others] }),
      };
      const said = [
        await askRest(url, ann.key, operation, asked),
        await askGraphQL(url, ann.key, schema, operation, asked),
      ];
      answers.push(said.map(({ status, body }) => [status, JSON.stringify(body).replaceAll(id, "the id")]));
      expect(world.bugs).toEqual([]);
    }

    expect(answers[0]).toEqual(answers[1]);
  },
);
