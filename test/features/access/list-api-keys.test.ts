import { expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { apiKeys } from "../../../src/features/access/list-api-keys.js";
import { revokeApiKey } from "../../../src/features/access/revoke-api-key.js";
import { ask } from "../../support/http.js";
import { createWorld } from "../../support/world.js";

it("lists the caller's keys newest first, page by page, including revoked ones", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  await bob.did(createApiKey, { name: "Bob's" });
  for (const name of ["One", "Two", "Three"]) await ann.did(createApiKey, { name });
  const { keys: all } = await ann.did(apiKeys);
  await ann.did(revokeApiKey, { id: all[0]?.id });

  const first = await ann.did(apiKeys, { limit: 3 });
  const second = await ann.did(apiKeys, { limit: 3, cursor: first.nextCursor });

  expect(first.keys.map(({ name }) => name)).toEqual(["Three", "Two", "One"]);
  expect(first.keys.map(({ revokedAt }) => revokedAt !== null)).toEqual([true, false, false]);
  expect([second.keys.map(({ name }) => name), second.nextCursor]).toEqual([["First key"], null]);
});

it("never shows a key again, nor its hash", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const { body } = await ask(`${url}/keys`, { key: ann.key });

  const times = ["created_at", "expires_at", "last_used_at", "revoked_at"];
  const fields = ["id", "name", "prefix", "scopes", "created_by_key", "replaced_by", "client", ...times];
  expect(body).toMatchObject({ keys: [{ name: "First key", prefix: ann.key.slice(0, 12) }] });
  const { keys } = body as { keys: object[] };
  expect(keys.map((key) => Object.keys(key).toSorted())).toEqual([fields.toSorted()]);
  expect(JSON.stringify(body)).not.toContain(ann.key.slice(12));
});
