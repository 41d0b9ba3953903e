import { expect, it } from "vitest";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { aMemory } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

it("changes the given fields, keeps the rest, and counts the version", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const before = await aMemory(ann, { summary: "Short", tags: ["net"], importance: 0.3 });
  world.travel(60_000);

  const { updatedAt, ...after } = await ann.did(updateMemory, { id: before.id, title: "Another", importance: 0 });

  const { relationships, relationshipsTotal, supersededBy, updatedAt: updatedBefore, ...same } = before;
  expect(after).toEqual({ ...same, title: "Another", importance: 0, version: 2 });
  expect(updatedAt.getTime() - updatedBefore.getTime()).toBeGreaterThanOrEqual(60_000);
  expect(await ann.did(memory, { id: before.id })).toEqual({
    ...after,
    updatedAt,
    relationships,
    relationshipsTotal,
    supersededBy,
  });
});

it("changes every field, and stores its normalized form", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const changes = { type: "fix", title: "Cafe\u0301", content: "New", summary: "S", importance: 1 };

  const after = await ann.did(updateMemory, { id, ...changes, tags: [" B", "b", "A"] });

  expect(after).toMatchObject({ ...changes, title: "Caf\u00e9", tags: ["b", "a"] });
});

it("clears the summary with null and the tags with an empty list", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { summary: "Short", tags: ["net"] });

  expect(await ann.did(updateMemory, { id, title: "Another" })).toMatchObject({ summary: "Short", tags: ["net"] });
  expect(await ann.did(updateMemory, { id, summary: null })).toMatchObject({ summary: null, tags: ["net"] });
  expect(await ann.did(updateMemory, { id, tags: [] })).toMatchObject({ tags: [] });
});

it("refuses to clear required fields, to change nothing, and values that creating refuses", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const before = await aMemory(ann, { summary: "Short" });
  const wrong = [
    { type: null },
    { title: null },
    { content: null },
    { tags: null },
    { importance: null },
    {},
    { expectedVersion: 1 },
    { title: " " },
    { type: "Fix" },
    { content: "" },
    { importance: 2 },
    { tags: "a" },
    { summary: "x".repeat(1_001) },
    { title: "a", expectedVersion: 0 },
    { title: "a", expectedVersion: 2 ** 31 },
    { title: "a", expectedVersion: "1" },
  ];

  for (const changes of wrong) {
    expect(await ann.does(updateMemory, { id: before.id, ...changes }), JSON.stringify(changes)).toBeRefused(
      "bad_request",
    );
  }
  expect(await ann.did(memory, { id: before.id })).toEqual(before);
});

it("refuses an update that expects another version, and names the current one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  await ann.did(updateMemory, { id, title: "Second", expectedVersion: 1 });

  for (const expectedVersion of [1, 3]) {
    const verdict = await ann.does(updateMemory, { id, title: "Third", expectedVersion });
    expect(verdict).toBeRefused("conflict", "version_mismatch");
    expect(verdict).toMatchObject({ failure: { details: { version: 2 } } });
  }
  expect(await ann.did(memory, { id })).toMatchObject({ title: "Second", version: 2 });
  expect(await ann.did(updateMemory, { id, title: "Third", expectedVersion: null })).toMatchObject({ version: 3 });
});

it("answers not_found for an unknown memory, whatever the expected version", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  expect(await ann.does(updateMemory, { id: world.services.newId(), title: "A" })).toBeRefused("not_found");
  expect(await ann.does(updateMemory, { id: world.services.newId(), title: "A", expectedVersion: 1 })).toBeRefused(
    "not_found",
  );
});

it("loses none of twenty simultaneous updates: each has its own version, and its predecessor is kept", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { title: "Title 0" });

  const updated = await Promise.all(numbers(20).map((n) => ann.did(updateMemory, { id, title: `Title ${n}` })));

  const { versions } = await ann.did(memoryVersions, { id, limit: 100 });
  expect(versions.map(({ version }) => version)).toEqual(numbers(21).reverse());
  expect(new Set(versions.map(({ title }) => title)).size).toBe(21);
  const told = new Map(updated.map(({ version, title }) => [version, title]));
  expect(versions.slice(0, 20).map(({ version, title }) => [version, title])).toEqual(
    numbers(20)
      .reverse()
      .map((n) => [n + 1, told.get(n + 1)]),
  );
});

it("lets exactly one of twenty updates succeed that expect the same version", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);

  const verdicts = await Promise.all(
    numbers(20).map((n) => ann.does(updateMemory, { id, title: `Title ${n}`, expectedVersion: 1 })),
  );

  const winners = verdicts.flatMap((verdict) => (verdict.ok ? [verdict.output] : []));
  expect(winners).toHaveLength(1);
  for (const verdict of verdicts) if (!verdict.ok) expect(verdict).toBeRefused("conflict", "version_mismatch");
  expect(await ann.did(memory, { id })).toMatchObject({ version: 2, title: winners[0]?.title });
  expect((await ann.did(memoryVersions, { id })).versions).toHaveLength(2);
});

/** The numbers from 1 to `count`. */
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
