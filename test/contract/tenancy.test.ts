import { describe, expect, it } from "vitest";
import { graphqlSchema, operations } from "../../src/operations.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { callOperation } from "../support/mcp.js";
import { rowsOf } from "../support/tables.js";
import { askRest, idFields, saidByGraphQL } from "../support/operations.js";

/** Operations for anybody who has an invitation's link, which contains its id. */
const BY_LINK = ["invitationById", "mailInvitation"];

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
      const called = [];
      for (const id of [their, "not-an-id"]) called.push(await callOperation(url, ann.key, operation, inPlace(id)));
      expect(called[0]).toEqual(called[1]);
      expect(called[0]).toMatchObject({ isError: true, answer: { error: { code: "not_found" } } });
    }
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(byGraphQL).toEqual({ ok: false, code: "not_found" });
    expect(await rowsOf(world.database.pool)).toEqual(before);
    expect(world.bugs).toEqual([]);
  });
});
