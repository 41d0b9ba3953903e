import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { callerOf } from "../../../src/features/access/caller.js";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { revokeApiKey } from "../../../src/features/access/revoke-api-key.js";
import { Unauthorized } from "../../../src/operation/failure.js";
import { type Ask, ask } from "../../support/http.js";
import { opens } from "../../support/keys.js";
import { type Actor, type World, createWorld } from "../../support/world.js";
import { listenTo, statementsAsked } from "../../support/statements.js";

it("refuses every bad key with the same answer and the same work, so that it reveals nothing", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve();
  const ann = await world.user();
  const requests = await badRequests(world, ann);
  const statements = vi.spyOn(services.database, "run");

  const answers: object[] = [];
  for (const request of Object.values(requests)) {
    const { status, headers, body } = await ask(`${url}/me`, request);
    answers.push({ status, body, headers: [...headers.keys()], challenge: headers.get("www-authenticate") });
  }

  expect(answers[0]).toMatchObject({ status: 401, challenge: "Bearer", body: { error: { code: "unauthorized" } } });
  expect(answers).toEqual(answers.map(() => answers[0]));
  expect(statementsAsked(statements)).toEqual(answers.map(() => "callers_by_keys"));
});

it("refuses them at GraphQL with the same message", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const requests = await badRequests(world, ann);
  const { error } = (await ask(`${url}/me`)).body as { error: { code: string; message: string } };

  for (const request of Object.values(requests)) {
    const { status, headers, body } = await ask(`${url}/graphql`, { ...request, body: { query: "{ viewer { id } }" } });
    expect(body).toEqual({ errors: [{ message: error.message, extensions: { code: "UNAUTHORIZED" } }] });
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  }
});

it("accepts the scheme in any case and with several spaces", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  for (const scheme of ["Bearer ", "bearer ", "BEARER   "]) {
    expect((await ask(`${url}/me`, { headers: { authorization: scheme + ann.key } })).status).toBe(200);
  }
});

it("never reads a key from a URL or a body", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();

  expect((await ask(`${url}/me?api_key=${key}&key=${key}&access_token=${key}`)).status).toBe(401);
  expect((await ask(`${url}/v1/memories`, { body: { api_key: key, key } })).status).toBe(401);
});

it("accepts a key until it expires", async () => {
  await using world = await createWorld();
  const { key } = await world.user();
  const endIn = (seconds: number) =>
    world.database.pool.query("UPDATE api_key SET expires_at = now() + $1 * interval '1 second'", [seconds]);

  await endIn(60);
  expect(await opens(world, key)).toBe(true);
  // Times are stored in whole milliseconds, so the present time may be rounded up.
  await endIn(-0.001);
  expect(await opens(world, key)).toBe(false);
});

it("records when a key was last used, at most once a minute", async () => {
  await using world = await createWorld();
  using ear = listenTo(world);
  const { url } = await ear.serve();
  const ann = await world.user();
  const { keyId: id } = ann.caller;
  // Read from the table: an operation looks the key up, and records its use if it reads the time of before.
  const lastUsed = async () => (await world.database.models.apiKey.findUniqueOrThrow({ where: { id } })).lastUsedAt;
  const setLastUsed = (secondsAgo: number) =>
    world.database.pool.query("UPDATE api_key SET last_used_at = now() - $1 * interval '1 second'", [secondsAgo]);

  await setLastUsed(50);
  const before = await lastUsed();
  ear.heard(/^/);
  for (let count = 0; count < 3; count++) await ask(`${url}/me`, { key: ann.key });
  expect(await lastUsed()).toEqual(before);
  expect(ear.heard(/^UPDATE\b.*\bapi_key\b/s)).toEqual([]);

  await setLastUsed(70);
  ear.heard(/^/);
  const other = await world.database.pool.connect();
  await other.query("BEGIN; SELECT FROM api_key FOR UPDATE");
  // None of them can store the use before all are answered.
  await Promise.all(Array.from({ length: 10 }, () => ask(`${url}/me`, { key: ann.key })));
  await expect.poll(() => ear.heard(/^UPDATE\b.*\bapi_key\b/s)).toHaveLength(1);
  await other.query("COMMIT");
  other.release();
  await expect.poll(async () => Date.now() - ((await lastUsed())?.getTime() ?? 0)).toBeLessThan(10_000);
  expect(ear.heard(/^UPDATE\b.*\bapi_key\b/s)).toEqual([]);
});

it("keeps the last use that another server records at the same moment", async () => {
  await using world = await createWorld();
  const { id, key } = await (await world.user()).did(createApiKey, { name: "CI" });
  const { pool } = world.database;
  const isRecording = async () => {
    const recording = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'active' AND query LIKE 'UPDATE %api_key%'`;
    return (await pool.query(recording)).rowCount !== 0;
  };
  const other = await pool.connect();
  await other.query("BEGIN");
  const { rows } = await other.query(
    "UPDATE api_key SET last_used_at = now() - interval '1 second' WHERE id = $1 RETURNING last_used_at",
    [id],
  );

  await callerOf(`Bearer ${key}`, world.database);
  await expect.poll(isRecording).toBe(true);
  await other.query("COMMIT");
  other.release();
  await expect.poll(isRecording).toBe(false);

  expect(await pool.query("SELECT last_used_at FROM api_key WHERE id = $1", [id])).toMatchObject({ rows });
});

it("finds a caller while all connections of other statements are in use", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { pool } = world.database;
  const taken = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  const found = await callerOf(`Bearer ${ann.key}`, world.database);
  for (const client of taken) client.release();
  expect(found.email).toBe(ann.email);
});

it("reads the user's plan and the key's scopes again for each request", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free", scopes: ["memories:read"] });
  const seen = async () => {
    const { body } = await ask(`${url}/me`, { key: ann.key });
    const { plan, api_key } = body as { plan: string; api_key: { scopes: string[] } };
    return [plan, api_key.scopes];
  };

  expect(await seen()).toEqual(["free", ["memories:read"]]);
  await world.database.models.user.updateMany({ data: { plan: "pro" } });
  await world.database.models.apiKey.updateMany({ data: { scopes: ["teams:read"] } });
  expect(await seen()).toEqual(["pro", ["teams:read"]]);
});

it("looks up all keys that arrive during a look-up together, and reads each again", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const revoked = await ann.did(createApiKey, { name: "Revoked meanwhile" });
  const client = await world.database.pool.connect();
  await client.query("BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE");
  const statements = vi.spyOn(world.database, "run");
  const emailWith = async (key: string) =>
    callerOf(`Bearer ${key}`, world.database).then(
      ({ email }) => email,
      (error: unknown) => error,
    );
  const emailOf = async ({ key }: Actor) => (await emailWith(key)) as string;

  const first = emailOf(ann);
  await expect.poll(() => statements.mock.calls.length).toBe(1);
  // Two turns of the event loop: these arrive together only because a look-up is running.
  const others = [ann.key, revoked.key].map(emailWith);
  await nextTurn();
  others.push(...[`${bob.key}x`, ...Array<string>(20).fill(bob.key)].map(emailWith));
  await client.query("UPDATE api_key SET revoked_at = now() WHERE id = $1", [revoked.id]);
  await client.query("COMMIT");
  client.release();

  const [again, gone, wrong, ...bobs] = await Promise.all(others);
  expect(again).toBe(await first);
  expect([gone, wrong]).toEqual([expect.any(Unauthorized), expect.any(Unauthorized)]);
  expect(new Set([...bobs, again])).toEqual(new Set([await emailOf(bob), await emailOf(ann)]));
  const keysOf = statements.mock.calls.map(([, values]) => (values as { hashes: unknown[] }).hashes.length);
  expect(keysOf.slice(0, 2)).toEqual([1, 4]);
});

it("looks up the next keys after a look-up that failed", async () => {
  await using world = await createWorld();
  const { key } = await world.user();
  vi.spyOn(world.database, "run").mockRejectedValueOnce(new Error("cut"));

  const [failed, next] = [opens(world, key), Promise.resolve().then(() => opens(world, key))];

  expect([await failed, await next]).toEqual([false, true]);
});

/** A request with each kind of key that must be refused. */
async function badRequests({ database }: World, ann: Actor): Promise<Record<string, Ask>> {
  const revoked = await ann.did(createApiKey, { name: "Revoked" });
  await ann.did(revokeApiKey, { id: revoked.id });
  const expired = await ann.did(createApiKey, { name: "Expired" });
  await database.models.apiKey.update({ where: { id: expired.id }, data: { expiresAt: new Date(Date.now() - 1) } });
  const { key } = ann;
  const otherEnd = key.endsWith("a") ? "b" : "a";
  return {
    "no header": {},
    "no key": { headers: { authorization: "Bearer" } },
    "another scheme": { headers: { authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` } },
    "no scheme": { headers: { authorization: key } },
    "two keys": { key: `${key} ${key}` },
    "not a key": { key: "' OR 1=1--" },
    "a long one": { key: "x".repeat(8_000) },
    "an unknown one": { key: key.slice(0, -1) + otherEnd },
    "a part of one": { key: key.slice(0, -1) },
    "one in another case": { key: key.toUpperCase() },
    "a revoked one": { key: revoked.key },
    "an expired one": { key: expired.key },
  };
}
