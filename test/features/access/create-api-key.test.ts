import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { apiKeys } from "../../../src/features/access/list-api-keys.js";
import { SCOPES } from "../../../src/operation/permission.js";
import { opens } from "../../support/keys.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

it("creates a key that works, with the given scopes and end", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const expiresAt = "2999-01-01T00:00:00.000Z";

  const made = await ann.did(createApiKey, { name: "CI", scopes: ["memories:read", "memories:read"], expiresAt });

  expect(made).toMatchObject({ name: "CI", scopes: ["memories:read"], lastUsedAt: null, revokedAt: null });
  expect(made.expiresAt?.toISOString()).toBe(expiresAt);
  expect(made.key.startsWith(made.prefix)).toBe(true);
  expect(await opens(world, made.key)).toBe(true);
});

it("creates keys in the format that scanners for leaked secrets know, with a correct checksum", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const { key } = await ann.did(createApiKey, { name: "CI" });

  const [, random = "", checksum = ""] = /^mg_live_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/.exec(key) ?? [];
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  expect(Array.from(checksum).reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)).toBe(crc32(random));
});

it("stores only the hash of a key", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const { key, id } = await ann.did(createApiKey, { name: "CI" });

  const { rows } = await world.database.pool.query<{ hash: Buffer; row: string }>(
    "SELECT hash, api_key::text AS row FROM api_key WHERE id = $1",
    [id],
  );
  expect(rows[0]?.hash.equals(createHash("sha256").update(key).digest())).toBe(true);
  expect(rows[0]?.row).not.toContain(key.slice(12));
});

it("lets a key do what the key that creates it may do, and no more", async () => {
  await using world = await createWorld();
  const ann = await world.user({ scopes: ["keys:write", "memories:read"] });

  expect(await ann.did(createApiKey, { name: "All" })).toMatchObject({ scopes: ["keys:write", "memories:read"] });
  expect(await ann.does(createApiKey, { name: "More", scopes: ["memories:read", "memories:write"] })).toBeRefused(
    "forbidden",
    "scope_not_held",
  );
  expect(await ann.does(createApiKey, { name: "Other", scopes: ["teams:read"] })).toBeRefused(
    "forbidden",
    "scope_not_held",
  );
  expect((await ann.did(apiKeys)).keys).toHaveLength(2);
});

it("refuses an invalid name, scopes or end", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const wrong = [
    {},
    { name: "" },
    { name: " " },
    { name: "x".repeat(101) },
    { name: 1 },
    { name: "CI", scopes: [] },
    { name: "CI", scopes: ["memories"] },
    { name: "CI", scopes: ["MEMORIES_READ"] },
    { name: "CI", scopes: [...SCOPES, ...SCOPES] },
    { name: "CI", expiresAt: "2001-01-01T00:00:00Z" },
    { name: "CI", expiresAt: new Date().toISOString() },
    { name: "CI", expiresAt: "tomorrow" },
    { name: "CI", key: "mg_live_mine" },
  ];

  for (const input of wrong)
    expect(await ann.does(createApiKey, input), JSON.stringify(input)).toBeRefused("bad_request");
});

it("lets a user have a hundred active keys, even with many requests at once; ended keys do not count", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await addKeys(world, ann, { count: 96, ended: false });
  await addKeys(world, ann, { count: 50, ended: true });

  const verdicts = await Promise.all(
    Array.from({ length: 8 }, (_, index) => ann.does(createApiKey, { name: `${index}` })),
  );

  expect(verdicts.filter(({ ok }) => ok)).toHaveLength(3);
  for (const verdict of verdicts) if (!verdict.ok) expect(verdict).toBeRefused("conflict", "too_many_api_keys");
});

async function addKeys({ database }: World, { caller }: Actor, { count, ended }: { count: number; ended: boolean }) {
  await database.pool.query(
    `INSERT INTO api_key (id, user_id, name, prefix, hash, scopes, expires_at)
     SELECT gen_random_uuid(), $1, 'Old', 'mg_live_', sha256(gen_random_uuid()::text::bytea), '{}', $3::timestamptz
     FROM generate_series(1, $2::int)`,
    [caller.userId, count, ended ? "2001-01-01T00:00:00Z" : null],
  );
}
