import { expect, it } from "vitest";
import { createMemory } from "../../../src/features/memories/create-memory.js";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { putMemory } from "../../../src/features/memories/put-memory.js";
import { relatedMemories } from "../../../src/features/memories/related-memories.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { createRelationship } from "../../../src/features/relationships/create-relationship.js";
import { relationships } from "../../../src/features/relationships/list-relationships.js";
import { aMemory, miscounted } from "../../support/memories.js";
import { roundsOf } from "../../support/rounds.js";
import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

const NOTE = { type: "general", title: "A note", content: "Something." };

it("is accepted wherever the memory's id is, and may be any text", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const other = await aMemory(ann);
  for (const clientId of ["m-1", "Ein/Pfad?x=1", "A1B2C3D4-0000-4000-8000-00000000000F", "caf\u00e9"]) {
    const { id } = await ann.did(createMemory, { ...NOTE, clientId });

    expect((await ann.did(memory, { id: clientId })).id).toBe(id);
    expect((await ann.did(updateMemory, { id: clientId, title: "Another" })).id).toBe(id);
    expect((await ann.did(memoryVersions, { id: clientId })).versions).toHaveLength(2);
    const link = { fromMemoryId: clientId, toMemoryId: other.id, relationshipType: "SOLVES" };
    expect(await ann.did(createRelationship, link)).toMatchObject({ from: id, to: other.id });
    expect((await ann.did(relatedMemories, { id: clientId })).memories).toHaveLength(1);
    expect((await ann.did(relationships, { memoryId: clientId })).relationships).toMatchObject([{ from: id }]);
    expect(await ann.did(deleteMemory, { id: clientId })).toEqual({ id });
    expect(await ann.does(memory, { id: clientId })).toBeRefused("not_found");
  }
  expect(await miscounted(world)).toEqual([]);
});

it("cannot be . or .., which no path can contain, but is restored", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const clientId of [".", ".."]) {
    expect(await ann.does(createMemory, { ...NOTE, clientId })).toBeRefused("bad_request");
    expect(await ann.does(putMemory, { ...NOTE, clientId })).toBeRefused("bad_request");
    expect(await ann.does(createMemories, { memories: [{ ...NOTE, clientId }] })).toBeRefused("bad_request");
  }
  for (const clientId of ["...", "..\n", ".a", "a.", ". "]) await ann.did(createMemory, { ...NOTE, clientId });
  const time = new Date("2026-01-02T03:04:05Z");
  const exported = { ...NOTE, id: "01890000-0000-7000-8000-000000000001", createdAt: time, updatedAt: time };
  await ann.did(restoreMemories, { memories: [{ ...exported, clientId: "." }] });
});

it("is never matched by a malformed id, whatever its text", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { clientId: "00000000-0000-0000-0000-000000000000" });

  for (const malformed of ["\0", "\ud800", "x".repeat(1_000), "a" + "\u0301".repeat(100)]) {
    expect(await ann.does(memory, { id: malformed })).toBeRefused("not_found");
    expect(await ann.does(deleteMemory, { id: malformed })).toBeRefused("not_found");
  }
  expect((await ann.did(memory, { id: "00000000-0000-0000-0000-000000000000" })).id).toBe(id);
});

it("gives way to the id of another memory with the same text", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const first = await aMemory(ann);
  await aMemory(ann, { clientId: first.id });

  expect((await ann.did(memory, { id: first.id })).clientId).toBeNull();
});

it("is refused to a second memory of the graph by every operation", async () => {
  await using world = await createWorld();
  const { owner: ann } = await aTeam(world);
  await aMemory(ann, { clientId: "one" });
  const second = await aMemory(ann, { clientId: "two" });
  const own = await aMemory(ann, { clientId: "one", graph: "personal" });
  const taken = ["conflict", "client_id_exists"] as const;

  expect(await ann.does(createMemory, { ...NOTE, clientId: "one" })).toBeRefused(...taken);
  expect(await ann.does(updateMemory, { id: second.id, clientId: "one" })).toBeRefused(...taken);
  const shared = await ann.does(shareMemories, { ids: [own.id] });
  expect(shared).toBeRefused(...taken);
  expect(shared).toMatchObject({ failure: { message: expect.stringContaining(`the memory ${own.id}`) as string } });
  expect(await ann.did(updateMemory, { id: second.id, clientId: null })).toMatchObject({ clientId: null });
  expect(await ann.did(updateMemory, { id: "one", clientId: "two" })).toMatchObject({ clientId: "two" });
  expect(await miscounted(world)).toEqual([]);
});

it("is given to one memory, even with many requests at once", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  const verdicts = await Promise.all(
    Array.from({ length: 8 }, () => ann.does(createMemory, { ...NOTE, clientId: "one" })),
  );

  const refused = verdicts.filter(({ ok }) => !ok);
  expect(refused).toHaveLength(7);
  for (const verdict of refused) expect(verdict).toBeRefused("conflict", "client_id_exists");
});

it("does not let a memory be linked to itself, as id and client id name the same memory", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { clientId: "one" });

  const link = { fromMemoryId: "one", toMemoryId: id, relationshipType: "SOLVES" };
  expect(await ann.does(createRelationship, link)).toBeRefused("bad_request");
});

it.each(["", " ", "x".repeat(201), "a\0b", "\ud800"])("has 1 to 200 valid characters, not %j", async (id) => {
  await using world = await createWorld();
  const ann = await world.user();

  expect(await ann.does(createMemory, { ...NOTE, clientId: id })).toBeRefused("bad_request");
  expect(await ann.does(memory, { id })).toBeRefused("not_found");
});

it("lets one of several simultaneous renames and deletions by the old client id succeed", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let round = 0; round < roundsOf(20); round++) {
    const { id } = await ann.did(createMemory, { ...NOTE, clientId: `old-${round}` });
    const rename = (name: string) => ann.does(updateMemory, { id: `old-${round}`, clientId: `${name}-${round}` });

    const verdicts = await Promise.all([
      rename("one"),
      rename("other"),
      ann.does(deleteMemory, { id: `old-${round}` }),
    ]);

    expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
    for (const verdict of verdicts.filter(({ ok }) => !ok)) expect(verdict).toBeRefused("not_found");
    await ann.does(deleteMemory, { id });
  }
});
