import { expect, it } from "vitest";
import { v7 as newId } from "uuid";
import { exportAccount } from "../../../src/features/accounts/export-account.js";
import { restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { cursorOf } from "../../../src/operation/page.js";
import { aMemory } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

it("tells who made each version, when, and with which content, the current one first", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const first = await aMemory(ann, { title: "First", summary: "Short", tags: ["a"], importance: 0.2 });
  world.travel(60_000);
  const second = await ann.did(updateMemory, {
    id: first.id,
    title: "Second",
    summary: null,
    tags: ["b"],
    type: "fix",
  });

  const { versions, nextCursor } = await ann.did(memoryVersions, { id: first.id });

  const by = { changedBy: ann.caller.userId, content: "Something.", importance: 0.2 };
  expect(versions).toMatchObject([
    { ...by, version: 2, changedAt: second.updatedAt, type: "fix", title: "Second", summary: null, tags: ["b"] },
    { ...by, version: 1, changedAt: first.createdAt, type: "general", title: "First", summary: "Short", tags: ["a"] },
  ]);
  expect(nextCursor).toBeNull();
});

it("lists each version once, page by page, while new ones are added", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  for (let count = 2; count <= 7; count++) await ann.did(updateMemory, { id, title: `Title ${count}` });

  const seen: number[] = [];
  for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages++) {
    const page: { versions: Array<{ version: number }>; nextCursor: string | null } = await ann.did(memoryVersions, {
      id,
      cursor,
      limit: 3,
    });
    seen.push(...page.versions.map(({ version }) => version));
    cursor = page.nextCursor;
    await ann.did(updateMemory, { id, title: "Meanwhile" });
  }

  expect(seen).toEqual([7, 6, 5, 4, 3, 2, 1]);
});

it("continues after the last version at which a memory can be restored, also in an account's export", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const past = "2026-01-01T00:00:00.000Z";
  const note = { id: newId(), type: "general", title: "A", content: "B", createdAt: past, updatedAt: past };
  await ann.did(restoreMemories, { memories: [{ ...note, version: 1_000_000_000 }] });
  for (const title of ["C", "D"]) await ann.did(updateMemory, { id: note.id, title });

  const seen: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<typeof memoryVersions.handle>> = await ann.did(memoryVersions, {
      id: note.id,
      limit: 1,
      cursor,
    });
    seen.push(...page.versions.map(({ version }) => version));
    cursor = page.nextCursor;
  }
  const exported: number[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<typeof exportAccount.handle>> = await ann.did(exportAccount, { limit: 1, cursor });
    exported.push(...page.versions.map(({ version }) => version));
    cursor = page.nextCursor;
  }

  expect(seen).toEqual([1_000_000_002, 1_000_000_001, 1_000_000_000]);
  expect(exported).toEqual([1_000_000_000, 1_000_000_001]);
});

it("is empty after its last page, and refuses the cursor of another list", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const cursor = (place: string) => cursorOf("memoryVersions", place);

  expect(await ann.did(memoryVersions, { id, cursor: cursor("1") })).toEqual({ versions: [], nextCursor: null });
  expect(await ann.does(memoryVersions, { id, cursor: cursor(id) })).toBeRefused("bad_request");
  expect(await ann.does(memoryVersions, { id, limit: 101 })).toBeRefused("bad_request");
});

it("ends the pages of a memory that was deleted meanwhile", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  await ann.did(updateMemory, { id, title: "Another" });
  const { nextCursor: cursor } = await ann.did(memoryVersions, { id, limit: 1 });
  await ann.did(deleteMemory, { id });

  expect(cursor).not.toBeNull();
  expect(await ann.did(memoryVersions, { id, cursor })).toEqual({ versions: [], nextCursor: null });
});

it("finds no versions of an unknown memory", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  expect(await ann.does(memoryVersions, { id: world.services.newId() })).toBeRefused("not_found");
});
