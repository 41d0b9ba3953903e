import { expect, it } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { deleteMemories } from "../../../src/features/bulk/delete-memories.js";
import { exportGraph } from "../../../src/features/bulk/export-graph.js";
import { type RestoredMemoryInput, restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { putMemory } from "../../../src/features/memories/put-memory.js";
import { relatedMemories } from "../../../src/features/memories/related-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { recentActivity } from "../../../src/features/views/recent-activity.js";
import { aLink, aMemory, manyMemories } from "../../support/memories.js";
import { type Actor, createWorld } from "../../support/world.js";

const NOTE = { type: "problem", title: "A needle", content: "Something." };
const HOUR_MS = 3_600_000;

it("hides expired memories unless they are requested", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const expiresAt = new Date(world.services.now().getTime() + HOUR_MS);
  const [lasting, passing] = [await aMemory(ann, NOTE), await aMemory(ann, { ...NOTE, expiresAt })];
  const start = await aMemory(ann, { title: "Start" });
  for (const end of [lasting, passing]) await aLink(ann, start, end);
  const ids = (found: { memories: readonly { id?: string; memoryId?: string }[] }) =>
    found.memories.flatMap(({ id, memoryId }) => id ?? memoryId ?? []).filter((id) => id !== start.id);
  const found = async (wishes: object = {}) => ({
    search: ids(await ann.did(searchMemories, { query: "needle", ...wishes })),
    list: ids(await ann.did(memories, wishes)),
    related: ids(await ann.did(relatedMemories, { id: start.id, ...wishes })),
    each: ids(await ann.did(relatedMemories, { id: start.id, eachRelationship: true, ...wishes })),
    recent: ids(await ann.did(recentActivity, wishes)),
    open: (await ann.did(recentActivity, wishes)).unresolvedProblems.map(({ id }) => id),
    deleted: (await ann.did(deleteMemories, { types: ["problem"], dryRun: true, ...wishes })).memoryIds,
  });
  const everywhere = (...wanted: { id: string }[]) => {
    const names = ["search", "list", "related", "each", "recent", "open", "deleted"];
    return Object.fromEntries(names.map((name) => [name, expect.toSatisfy(hasAll(wanted.map(({ id }) => id)))]));
  };

  expect(await found()).toEqual(everywhere(lasting, passing));
  world.travel(HOUR_MS);
  expect(await found()).toEqual(everywhere(lasting));
  expect(await found({ includeExpired: true })).toEqual(everywhere(lasting, passing));
  expect(await ann.did(memory, { id: passing.id })).toMatchObject({ expiresAt });
  await ann.did(updateMemory, { id: passing.id, expiresAt: null });
  expect(await found()).toEqual(everywhere(lasting, passing));
});

const hasAll = (wanted: readonly string[]) => (found: readonly string[]) =>
  found.toSorted().join() === wanted.toSorted().join();

it("finds a memory behind a thousand expired ones", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const past = new Date(world.services.now().getTime() - HOUR_MS);
  await manyMemories(world, ann, 1_500, "A common word.");
  await world.database.pool.query("UPDATE memory SET expires_at = $1", [past]);
  const last = await aMemory(ann, { content: "A common word." });

  const { memories: hits, total } = await ann.did(searchMemories, { query: "common" });

  expect(hits).toMatchObject([{ memoryId: last.id }]);
  expect(total).toBe(1);
});

it("keeps the expiry in versions, exports and bulk calls", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const [first, second] = [1, 2].map((hours) => new Date(world.services.now().getTime() + hours * HOUR_MS));
  const { memoryIds } = await ann.did(createMemories, { memories: [{ ...NOTE, expiresAt: first }] });
  const [id = ""] = memoryIds;
  expect(await ann.did(updateMemory, { id, expiresAt: second })).toMatchObject({ expiresAt: second });
  expect(await ann.did(putMemory, { ...NOTE, clientId: "one", expiresAt: first })).toMatchObject({
    expiresAt: first,
  });
  expect((await ann.did(memoryVersions, { id })).versions).toMatchObject([{ expiresAt: second }, { expiresAt: first }]);

  const { records } = await ann.did(exportGraph, {});
  const { record: _record, ...exported } = records.find((record) => record["id"] === id) ?? { record: "memory" };
  expect(exported).toMatchObject({ expires_at: second?.toISOString() });
  world.travel(9 * HOUR_MS);
  const times = { createdAt: world.services.now(), updatedAt: world.services.now() };
  const restored = { ...NOTE, id, ...times, expiresAt: second } as RestoredMemoryInput;
  await bob.did(restoreMemories, { memories: [restored] });
  expect(await bob.did(memory, { id })).toMatchObject({ expiresAt: second });
});

it("refuses to store an expired memory", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const refuse = async (...[operation, input]: Parameters<Actor["does"]>) =>
    expect(await ann.does(operation, input)).toBeRefused("bad_request");
  const expiresAt = world.services.now();

  await refuse(createMemory, { ...NOTE, expiresAt });
  await refuse(putMemory, { ...NOTE, clientId: "one", expiresAt });
  await refuse(createMemories, { memories: [{ ...NOTE, expiresAt }] });
  await refuse(createMemory, { ...NOTE, expiresAt: new Date("+010000-01-01T00:00:00Z") });
});
