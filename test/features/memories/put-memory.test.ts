import { expect, it } from "vitest";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { putMemory } from "../../../src/features/memories/put-memory.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { waitingForLocks } from "../../support/locks.js";
import { aMemory, miscounted } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

const NOTE = { type: "general", title: "A note", content: "Something.", clientId: "one" };

it("stores a memory, and replaces all its fields when the same id comes again", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const whole = { summary: "Short", tags: ["a"], importance: 0.9, context: { a: 1 }, confidence: 0.1 };

  const first = await ann.did(putMemory, { ...NOTE, ...whole });
  const second = await ann.did(putMemory, { ...NOTE, title: "Frobnication" });

  expect(first).toMatchObject({ ...NOTE, ...whole, version: 1 });
  const defaults = { summary: null, tags: [], importance: 0.5, context: null, confidence: 0.8 };
  expect(second).toMatchObject({ ...NOTE, ...defaults, id: first.id, title: "Frobnication", version: 2 });
  expect((await ann.did(memoryVersions, { id: "one" })).versions).toMatchObject([{ version: 2 }, { ...whole }]);
  expect((await ann.did(searchMemories, { query: "frobnication" })).total).toBe(1);
  expect(await miscounted(world)).toEqual([]);
});

it("replaces a memory that createMemory stored with the same client id, in its own graph only", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const { id } = await aMemory(ann, { clientId: "one" });

  expect((await bob.did(putMemory, NOTE)).id).not.toBe(id);
  expect(await ann.did(putMemory, NOTE)).toMatchObject({ id, version: 2 });
});

it("replaces a memory by its own id, and keeps its client id", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { clientId: "one", tags: ["a"] });
  const other = await aMemory(ann, { clientId: id });

  const replaced = await ann.did(putMemory, { ...NOTE, clientId: id.toUpperCase() });

  expect(replaced).toMatchObject({ id, clientId: "one", tags: [], version: 2 });
  expect(await ann.did(memory, { id: other.id })).toMatchObject({ clientId: id, version: 1 });
});

it("keeps a change of the client id that is made at the same moment", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { clientId: "one" });
  const other = await aMemory(ann);
  const client = await world.database.pool.connect();
  await client.query("BEGIN");
  await client.query("UPDATE memory SET client_id = NULL WHERE id = $1", [id]);
  await client.query("UPDATE memory SET client_id = 'one' WHERE id = $1", [other.id]);

  const put = ann.does(putMemory, NOTE);
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await client.query("COMMIT");
  client.release();

  expect(await put).toMatchObject({ ok: true, output: { id: other.id, version: 2 } });
  expect((await ann.did(memory, { id: "one" })).id).toBe(other.id);
  expect(await ann.did(memory, { id })).toMatchObject({ clientId: null, version: 1 });
});

it("leaves one memory, whatever happens at the same moment, and loses no version", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const puts = Array.from({ length: 10 }, (_, index) => ann.did(putMemory, { ...NOTE, title: `Title ${index}` }));

  const versions = (await Promise.all(puts)).map(({ version }) => version).sort((one, other) => one - other);

  expect(versions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect((await ann.did(memories)).memories).toHaveLength(1);
  const mixed = [ann.did(putMemory, NOTE), ann.does(deleteMemory, { id: "one" }), ann.did(putMemory, NOTE)];
  await Promise.all(mixed);
  expect((await ann.did(memories)).memories.length).toBeLessThanOrEqual(1);
  expect(await miscounted(world)).toEqual([]);
});
