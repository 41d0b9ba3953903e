import { expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { apiKeys } from "../../../src/features/access/list-api-keys.js";
import { revokeApiKey } from "../../../src/features/access/revoke-api-key.js";
import { rotateApiKey } from "../../../src/features/access/rotate-api-key.js";
import { opens } from "../../support/keys.js";
import { type Actor, createWorld } from "../../support/world.js";

const DAY_MS = 86_400_000;

it("creates a key with the same name and scopes, and lets the old one work for a day", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const old = await ann.did(createApiKey, { name: "CI", scopes: ["memories:read"] });

  const made = await ann.did(rotateApiKey, { id: old.id });

  expect(made).toMatchObject({ name: "CI", scopes: ["memories:read"], expiresAt: null });
  expect([made.id, made.key]).not.toEqual([old.id, old.key]);
  expect([await opens(world, old.key), await opens(world, made.key)]).toEqual([true, true]);
  expect(await endOf(ann, old.id)).toBeCloseTo(made.createdAt.getTime() + DAY_MS, -5);
});

it("ends the old key after the requested grace, or at once without any", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, other] = [await ann.did(createApiKey, { name: "A" }), await ann.did(createApiKey, { name: "B" })];

  await ann.did(rotateApiKey, { id: one.id, graceSeconds: 0 });
  const { createdAt } = await ann.did(rotateApiKey, { id: other.id, graceSeconds: 3_600 });

  expect([await opens(world, one.key), await opens(world, other.key)]).toEqual([false, true]);
  expect(await endOf(ann, other.id)).toBeCloseTo(createdAt.getTime() + 3_600_000, -5);
});

it("gives the successor of an expiring key the same lifetime, and never extends the old key", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const expiresAt = new Date(Date.now() + 10_000);
  const old = await ann.did(createApiKey, { name: "CI", expiresAt: expiresAt.toISOString() });
  world.travel(5_000);

  const made = await ann.did(rotateApiKey, { id: old.id, graceSeconds: 604_800 });

  expect(await endOf(ann, old.id)).toBe(expiresAt.getTime());
  expect((made.expiresAt?.getTime() ?? 0) - expiresAt.getTime()).toBeGreaterThan(4_000);
});

it("replaces a key once, even if several requests do so at the same time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await ann.did(createApiKey, { name: "CI" });

  const verdicts = await Promise.all(Array.from({ length: 5 }, () => ann.does(rotateApiKey, { id })));

  expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
  for (const verdict of verdicts) if (!verdict.ok) expect(verdict).toBeRefused("conflict", "api_key_not_active");
  expect((await ann.did(apiKeys)).keys.map(({ name }) => name)).toEqual(["CI", "CI", "First key"]);
});

it("refuses to replace a key that has ended", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const revoked = await ann.did(createApiKey, { name: "Revoked" });
  await ann.did(revokeApiKey, { id: revoked.id });
  const expired = await ann.did(createApiKey, {
    name: "Expired",
    expiresAt: new Date(Date.now() + DAY_MS).toISOString(),
  });
  world.travel(DAY_MS);

  for (const { id } of [revoked, expired]) {
    expect(await ann.does(rotateApiKey, { id })).toBeRefused("conflict", "api_key_not_active");
  }
});

it("gives no key more scopes than the key in use has", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { key } = await ann.did(createApiKey, { name: "Small", scopes: ["keys:write"] });
  const small = await ann.withKey(key);

  expect(await small.does(rotateApiKey, { id: ann.caller.keyId })).toBeRefused("forbidden", "scope_not_held");
});

it("refuses to replace the key as which a connected program acts", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await ann.did(createApiKey, { name: "A program" });
  await world.database.models.apiKey.update({ where: { id }, data: { client: "app.example.com" } });

  expect(await ann.does(rotateApiKey, { id })).toBeRefused("conflict", "api_key_of_client");
});

it("refuses a grace that is out of bounds, and keys of other users", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];

  for (const graceSeconds of [-1, 604_801, 0.5, null, "60"]) {
    expect(await ann.does(rotateApiKey, { id: ann.caller.keyId, graceSeconds })).toBeRefused("bad_request");
  }
  expect(await ann.does(rotateApiKey, { id: bob.caller.keyId })).toBeRefused("not_found");
});

async function endOf(actor: Actor, id: string): Promise<number | undefined> {
  const { keys } = await actor.did(apiKeys);
  return keys.find((key) => key.id === id)?.expiresAt?.getTime();
}
