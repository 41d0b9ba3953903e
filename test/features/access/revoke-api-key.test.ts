import { expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { apiKeys } from "../../../src/features/access/list-api-keys.js";
import { revokeApiKey } from "../../../src/features/access/revoke-api-key.js";
import { ask } from "../../support/http.js";
import { opens } from "../../support/keys.js";
import { roundsOf } from "../../support/rounds.js";
import { createWorld } from "../../support/world.js";

it("takes effect with the next request, at every server", async () => {
  await using world = await createWorld();
  const servers = [await world.serve(), await world.serve()];
  const ann = await world.user();
  const { id, key } = await ann.did(createApiKey, { name: "CI" });
  const statuses = () => Promise.all(servers.map(async ({ url }) => (await ask(`${url}/me`, { key })).status));
  expect(await statuses()).toEqual([200, 200]);

  const { status } = await ask(`${servers[0]?.url}/keys/${id}`, { key: ann.key, method: "DELETE" });

  expect([status, ...(await statuses())]).toEqual([204, 401, 401]);
  expect(await opens(world, ann.key)).toBe(true);
});

it("changes nothing the second time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await ann.did(createApiKey, { name: "CI" });
  await ann.did(revokeApiKey, { id });
  const before = await ann.did(apiKeys);
  world.travel(60_000);

  expect(await ann.did(revokeApiKey, { id })).toEqual({ id, alsoRevoked: [] });
  expect(await ann.did(apiKeys)).toEqual(before);
});

it("can revoke the key in use", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  await ann.did(revokeApiKey, { id: ann.caller.keyId });

  expect(await opens(world, ann.key)).toBe(false);
});

it("lets one of two keys win that revoke each other at the same moment", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let round = 0; round < roundsOf(50); round++) {
    const keys = await Promise.all([1, 2].map((name) => ann.did(createApiKey, { name: `${name}` })));
    const actors = await Promise.all(keys.map(({ key }) => ann.withKey(key)));
    await Promise.all(actors.map((actor, index) => actor.does(revokeApiKey, { id: keys[1 - index]?.id })));

    const open = await Promise.all(keys.map(({ key }) => opens(world, key)));

    expect(open.filter(Boolean)).toHaveLength(1);
    await Promise.all(keys.map(({ id }) => ann.did(revokeApiKey, { id })));
    await world.database.pool.query("DELETE FROM api_key WHERE revoked_at IS NOT NULL");
  }
});

it("refuses keys of other users", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];

  expect(await ann.does(revokeApiKey, { id: bob.caller.keyId })).toBeRefused("not_found");
  expect(await opens(world, bob.key)).toBe(true);
});
