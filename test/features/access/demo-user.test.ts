import { createHash } from "node:crypto";
import { open, readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { prepareDemoKey } from "../../../src/features/access/index.js";
import { folderWith } from "../../support/imports.js";
import { ROUNDS, manyAtOnce } from "../../support/races.js";
import { type World, createWorld } from "../../support/world.js";

const hashOf = (key: string) => createHash("sha256").update(key).digest();

it("gives each of several servers that start at once a valid key of one demo user", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    await using world = await createWorld();
    await using other = await createWorld();
    const folder = await folderWith({});
    const stored = async ({ database: { models } }: World) => ({
      users: await models.user.count(),
      keys: (await models.apiKey.findMany({ select: { hash: true } })).map(({ hash }) => Buffer.from(hash)),
    });

    const keys = await manyAtOnce(() => prepareDemoKey(world.services, folder));
    const kept = (await readFile(join(folder, "demo-key"), "utf8")).trim();
    // Another database does not know the key that the folder has.
    const others = await manyAtOnce(() => prepareDemoKey(other.services, folder));

    expect(keys).toContain(kept);
    const made = await stored(world);
    expect(made.users).toBe(1);
    expect(made.keys).toEqual(expect.arrayContaining(keys.map(hashOf)));
    expect(new Set(others)).toEqual(new Set([kept]));
    expect(await stored(other)).toEqual({ users: 1, keys: [hashOf(kept)] });
  }
});

it("replaces the file of a revoked key as a whole, readable by its user only", async () => {
  await using world = await createWorld();
  const folder = await folderWith({});
  const file = join(folder, "demo-key");
  const old = await prepareDemoKey(world.services, folder);
  await world.services.database.models.apiKey.updateMany({ data: { revokedAt: new Date() } });
  // Like a reader who has opened the file, and reads it while it is replaced.
  const reader = await open(file);
  onTestFinished(() => reader.close());

  const key = await prepareDemoKey(world.services, folder);

  expect(await reader.readFile("utf8")).toBe(`${old}\n`);
  expect(await readFile(file, "utf8")).toBe(`${key}\n`);
  expect(key).not.toBe(old);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["demo-key"]);
});
