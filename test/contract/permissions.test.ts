import { describe, expect, it } from "vitest";
import { graphqlSchema, operations } from "../../src/operations.js";
import { LIMITS } from "../../src/limits.js";
import { type Permission, SCOPES, scopesOf } from "../../src/operation/permission.js";
import { backendAliases } from "../../src/surfaces/rest/aliases/backend-aliases.js";
import { sdkAliases } from "../../src/surfaces/rest/aliases/sdk-aliases.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { ask } from "../support/http.js";
import { saidByMcp } from "../support/mcp.js";
import { saidByGraphQL, saidByRest } from "../support/operations.js";
import { createWorld } from "../support/world.js";

const named = operations.map((operation) => [operation.name, operation] as const);
const [open, guarded] = [true, false].map((isOpen) =>
  named.filter(([, { permission }]) => (permission === "public") === isOpen),
);

describe.each(open ?? [])("%s", (_name, operation) => {
  it("lets callers without a key in at every door", async () => {
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
  it("refuses a key without its scope at every door, and accepts one with only that scope", async () => {
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    const schema = await graphqlSchema();
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const setScopes = (scopes: readonly string[]) =>
      world.database.models.apiKey.updateMany({ where: { userId: ann.caller.userId }, data: { scopes: [...scopes] } });

    // An operation that needs all scopes is tried with all but the last.
    const needed: readonly Permission[] = operation.permission === "all" ? SCOPES.slice(-1) : [operation.permission];
    await setScopes(SCOPES.filter((scope) => !needed.includes(scope)));
    const without = [
      await saidByRest(url, ann.key, operation, input),
      await saidByGraphQL(url, ann.key, schema, operation, input),
    ];
    await setScopes([]);
    const bare = await ann.does(operation, input);
    // Agents are not shown tools that their key does not allow.
    if (operation.mcp) await expect(saidByMcp(url, ann.key, operation, input)).rejects.toThrow("Unknown tool");
    // Creating a key also needs the scopes that the created key gets.
    const makesKeys = operation.name === "createApiKey" || operation.name === "rotateApiKey";
    await setScopes(makesKeys ? SCOPES : scopesOf(operation.permission));
    const withIt = await saidByRest(url, ann.key, operation, input);

    const refused = { ok: false, code: "forbidden", reason: "scope_missing" };
    // One refusal names everything that is missing: nobody has to find out one by one.
    for (const scope of scopesOf(operation.permission)) expect(bare.ok ? "" : bare.failure.message).toContain(scope);
    expect(without).toEqual(operation.permission === "any" ? [{ ok: true }, { ok: true }] : [refused, refused]);
    expect(withIt).toEqual({ ok: true });
    expect(world.bugs).toEqual([]);
  });
});

it("refuses a key without scopes at every path of another service's clients, also beyond the last page", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user({ scopes: [] });
  const memory = { type: "fix", title: "A title", content: "Some content." };
  const link = { from_memory_id: "a", to_memory_id: "b", relationship_type: "SOLVES" };
  const { search, storage } = LIMITS;
  const offsets = [0, search.ranked, storage.team.memories + 1].map(String);
  const wishes = offsets.flatMap((offset) => [{ offset }, { offset, query: "redis" }]);

  for (const { method, path } of [...sdkAliases, ...backendAliases]) {
    for (const wish of wishes) {
      const query = new URLSearchParams(wish);
      const at = path.replace(":id", "x");
      const { status } = await (method === "GET"
        ? ask(`${url}${at}?${String(query)}`, { method, key })
        : ask(url + at, { method, key, body: { ...memory, ...link, ...wish } }));
      expect([method, path, wish, status]).toEqual([method, path, wish, 403]);
    }
  }
});
