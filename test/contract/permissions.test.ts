import { describe, expect, it } from "vitest";
import { graphqlSchema, operations } from "../../src/operations.js";
import { type Permission, SCOPES, scopesOf } from "../../src/operation/permission.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { saidByMcp } from "../support/mcp.js";
import { saidByGraphQL, saidByRest } from "../support/operations.js";

const named = operations.map((operation) => [operation.name, operation] as const);
const [open, guarded] = [true, false].map((isOpen) =>
  named.filter(([, { permission }]) => (permission === "public") === isOpen),
);

describe.each(open ?? [])("%s", (_name, operation) => {
  it("is open at every door to somebody without a key", async () => {
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    const [ann, bob] = [await world.user(), await world.user()];
    const inputs = [ann, bob].map(async (actor) => exampleInput(operation, await thingsOf(world, actor, operation)));
    const [forRest = {}, forGraphQL = {}] = await Promise.all(inputs);

    expect(await saidByRest(url, undefined, operation, forRest)).toEqual({ ok: true });
    expect(await saidByGraphQL(url, undefined, await graphqlSchema(), operation, forGraphQL)).toEqual({ ok: true });
    expect(world.bugs).toEqual([]);
  });
});

describe.each(guarded ?? [])("%s", (_name, operation) => {
  it("is refused at every door to a key without its scope, and accepted from one with that alone", async () => {
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    const schema = await graphqlSchema();
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const setScopes = (scopes: readonly string[]) =>
      world.database.models.apiKey.updateMany({ where: { userId: ann.caller.userId }, data: { scopes: [...scopes] } });

    // What takes every scope is refused without any of them, such as the last.
    const needed: readonly Permission[] = operation.permission === "all" ? SCOPES.slice(-1) : [operation.permission];
    await setScopes(SCOPES.filter((scope) => !needed.includes(scope)));
    const without = [
      await saidByRest(url, ann.key, operation, input),
      await saidByGraphQL(url, ann.key, schema, operation, input),
    ];
    // Agents are not told of tools that their key does not allow.
    if (operation.mcp) await expect(saidByMcp(url, ann.key, operation, input)).rejects.toThrow("Unknown tool");
    // Every scope is needed where one makes things for which another is needed as well.
    const makesKeys = operation.name === "createApiKey" || operation.name === "rotateApiKey";
    await setScopes(makesKeys ? SCOPES : scopesOf(operation.permission));
    const withIt = await saidByRest(url, ann.key, operation, input);

    const refused = { ok: false, code: "forbidden", reason: "scope_missing" };
    expect(without).toEqual(operation.permission === "any" ? [{ ok: true }, { ok: true }] : [refused, refused]);
    expect(withIt).toEqual({ ok: true });
    expect(world.bugs).toEqual([]);
  });
});
