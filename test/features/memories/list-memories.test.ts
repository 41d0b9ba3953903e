import { expect, it } from "vitest";
import { deleteMemories } from "../../../src/features/bulk/delete-memories.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { type MemoryPage, memories } from "../../../src/features/memories/list-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { cursorOf } from "../../../src/operation/page.js";
import { aMemory, manyMemories, memoriesTitled } from "../../support/memories.js";
import { type Actor, createWorld } from "../../support/world.js";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

it("lists newest first, twenty unless told otherwise", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const made = await memoriesTitled(ann, ...Array.from({ length: 21 }, (_, index) => `Note ${index}`));

  const page = await ann.did(memories);

  expect(page.memories.map(({ id }) => id)).toEqual(
    made
      .map(({ id }) => id)
      .reverse()
      .slice(0, 20),
  );
  expect((await ann.did(memories, { cursor: page.nextCursor })).memories).toMatchObject([{ title: "Note 0" }]);
});

it("lists each memory once, page by page, while others write", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const made = await memoriesTitled(ann, ...Array.from({ length: 30 }, (_, index) => `Note ${index}`));
  const expected = made.map(({ id }) => id).reverse();

  const seen: string[] = [];
  for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages++) {
    const page: { memories: Array<{ id: string }>; nextCursor: string | null } = await ann.did(memories, {
      limit: 7,
      cursor,
    });
    seen.push(...page.memories.map(({ id }) => id));
    cursor = page.nextCursor;
    // One memory is added, one that was read is deleted, and one that is still to come changes.
    await aMemory(ann);
    await ann.did(deleteMemory, { id: seen[pages] });
    await ann.did(updateMemory, { id: expected[29 - pages], title: "Changed" });
  }

  expect(seen).toEqual(expected);
});

it("has no further page when a page ends with the list", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "One", "Two");

  expect((await ann.did(memories, { limit: 2 })).nextCursor).toBeNull();
  expect((await ann.did(memories, { limit: 1 })).nextCursor).toEqual(expect.any(String));
});

it("finds rare and common memories among many in the same order and pages, and so does deleting", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 2_500);
  await world.database.pool.query(
    `UPDATE memory SET type = CASE WHEN n % 500 = 7 THEN 'task' ELSE 'general' END, importance = (n % 4)::float8 / 4,
       created_at = now() - n * interval '1 minute', expires_at = CASE WHEN n % 3 = 0 THEN now() END,
       tags = CASE WHEN n % 700 = 5 THEN ARRAY['it''s \\', 'rare']
         WHEN n % 2 = 0 THEN ARRAY['common', 'even'] ELSE ARRAY['common'] END
     FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM memory) placed WHERE placed.id = memory.id`,
  );
  const { rows } = await world.database.pool.query<{ id: string; n: number }>(
    "SELECT id, row_number() OVER (ORDER BY id DESC)::int AS n FROM memory",
  );
  const isRare = (n: number) => n % 700 === 5;
  const isEven = (n: number) => n % 2 === 0 && !isRare(n);
  const filters: ReadonlyArray<readonly [filter: object, lets: (n: number) => boolean]> = [
    [{ tags: ["rare"] }, isRare],
    [{ tags: ["IT's \\", "rare"] }, isRare],
    [{ tags: ["rare", "even"] }, () => false],
    [{ tags: ["rare", "none"], tagsMatch: "any" }, isRare],
    [{ tags: ["even"] }, isEven],
    [{ types: ["task", "none"] }, (n) => n % 500 === 7],
    [{ types: ["task"], tags: ["even", "rare"], tagsMatch: "any" }, (n) => n % 500 === 7 && isEven(n)],
    [{ tags: ["common"], minImportance: 0.75 }, (n) => !isRare(n) && n % 4 === 3],
    [
      { tags: ["rare"], createdBefore: new Date(Date.now() - 1_000 * MINUTE_MS).toISOString() },
      (n) => isRare(n) && n >= 1_000,
    ],
    [
      { tags: ["rare"], createdAfter: new Date(Date.now() - 1_000 * MINUTE_MS).toISOString() },
      (n) => isRare(n) && n < 1_000,
    ],
    [{ tags: ["rare"], project: "none" }, () => false],
  ];

  for (const [filter, lets] of filters) {
    for (const includeExpired of [false, true]) {
      const input = { ...filter, includeExpired };
      const expected = rows.filter(({ n }) => lets(n) && (includeExpired || n % 3 !== 0)).map(({ id }) => id);
      // What is rare has several pages, too: its index is asked for each.
      const limit = expected.length > 10 ? 100 : 2;
      const seen: string[] = [];
      // One more than it has fails below, in place of pages without end.
      for (let cursor: string | null = null; seen.length <= expected.length;) {
        const page: MemoryPage = await ann.did(memories, { ...input, limit, cursor });
        seen.push(...page.memories.map(({ id }) => id));
        cursor = page.nextCursor;
        if (cursor === null) break;
      }
      expect([filter, seen]).toEqual([filter, expected]);
      const offset = Math.min(3, expected.length);
      const later = await ann.did(memories, { ...input, limit: 2, offset });
      expect(later.memories.map(({ id }) => id)).toEqual(expected.slice(offset, offset + 2));
      const { memoryIds, remaining } = await ann.did(deleteMemories, { ...input, dryRun: true });
      const oldest = expected.toReversed().slice(0, 500);
      expect([filter, memoryIds, remaining]).toEqual([filter, oldest, expected.length - oldest.length]);
    }
  }
});

it("filters by type, tags, importance and time, all of which must match", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "A", type: "error", tags: ["net", "dns"], importance: 0.9 });
  world.travel(DAY_MS);
  const middle = await aMemory(ann, { title: "B", type: "fix", tags: ["net"], importance: 0.5 });
  world.travel(DAY_MS);
  await aMemory(ann, { title: "C", type: "task", tags: ["dns"], importance: 0.1 });
  const at = middle.createdAt.toISOString();

  expect(await titles(ann, { types: ["error", "task"] })).toEqual(["C", "A"]);
  expect(await titles(ann, { types: ["unheard_of"] })).toEqual([]);
  expect(await titles(ann, { tags: ["net"] })).toEqual(["B", "A"]);
  expect(await titles(ann, { tags: [" DNS", "net"] })).toEqual(["A"]);
  expect(await titles(ann, { minImportance: 0.5 })).toEqual(["B", "A"]);
  expect(await titles(ann, { createdAfter: at })).toEqual(["C", "B"]);
  expect(await titles(ann, { createdBefore: at })).toEqual(["A"]);
  expect(await titles(ann, { createdAfter: at, createdBefore: at })).toEqual([]);
  expect(await titles(ann, { types: ["fix", "task"], tags: ["net"], minImportance: 0.2, createdAfter: at })).toEqual([
    "B",
  ]);
  expect(await titles(ann, { types: null, tags: null, minImportance: null, createdAfter: null })).toEqual([
    "C",
    "B",
    "A",
  ]);
});

it("keeps its filter from page to page", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const [index, type] of ["fix", "task", "fix", "task", "fix"].entries())
    await aMemory(ann, { type, title: `${index}` });

  const first = await ann.did(memories, { types: ["fix"], limit: 2 });
  const second = await ann.did(memories, { types: ["fix"], limit: 2, cursor: first.nextCursor });

  expect([...first.memories, ...second.memories].map(({ title }) => title)).toEqual(["4", "2", "0"]);
  expect(second.nextCursor).toBeNull();
});

it("shows nothing of other users", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  await aMemory(bob, { title: "Bob's" });
  const { nextCursor } = await ann.did(memories, { limit: 1 });

  expect(nextCursor).toBeNull();
  expect(await titles(ann, {})).toEqual([]);
});

it.each([
  ["a limit", [{ limit: 0 }, { limit: 101 }, { limit: -1 }, { limit: 1.5 }, { limit: null }, { limit: "10" }]],
  [
    "a cursor",
    [{ cursor: "" }, { cursor: "abc" }, { cursor: "x".repeat(300) }, { cursor: cursorTo("now") }, { cursor: 1 }],
  ],
  ["a filter", [{ types: [] }, { types: ["Fix"] }, { types: "fix" }, { minImportance: 1.1 }, { createdAfter: "soon" }]],
  [
    "a time",
    [
      { createdAfter: "2026-01-01" },
      { createdBefore: "2026-02-30T00:00:00Z" },
      { createdBefore: "0000-01-01T00:00:00Z" },
    ],
  ],
])("refuses what is not %s", async (_kind, inputs) => {
  await using world = await createWorld();
  const ann = await world.user();

  for (const input of inputs) expect(await ann.does(memories, input), JSON.stringify(input)).toBeRefused("bad_request");
});

const titles = async (actor: Actor, filter: object) =>
  (await actor.did(memories, filter)).memories.map(({ title }) => title);

function cursorTo(place: string): string {
  return cursorOf("memories", place);
}

it("skips as many memories as the offset says", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "1", "2", "3", "4", "5");
  const titles = async (input: object) => (await ann.did(memories, input)).memories.map(({ title }) => title).join("");

  expect(await titles({ offset: 0, limit: 2 })).toBe("54");
  expect(await titles({ offset: 2, limit: 2 })).toBe("32");
  expect(await titles({ offset: 4, limit: 2 })).toBe("1");
  expect(await titles({ offset: 5 })).toBe("");
  const { nextCursor } = await ann.did(memories, { offset: 1, limit: 2 });
  expect(await titles({ cursor: nextCursor })).toBe("21");
  expect(await ann.does(memories, { cursor: nextCursor, offset: 1 })).toBeRefused("bad_request");
  expect(await ann.does(memories, { offset: 1_000_001 })).toBeRefused("bad_request");
});

it.each([memories, searchMemories, deleteMemories])(
  "refuses $name by blank tags alone: it would be one without a filter",
  async ({ name }) => {
    await using world = await createWorld();
    const ann = await world.user();
    await aMemory(ann, { tags: ["a"] });
    const filters: Readonly<Record<string, (tags: string[]) => Promise<unknown>>> = {
      memories: (tags) => ann.does(memories, { tags }),
      searchMemories: (tags) => ann.does(searchMemories, { query: "title", tags }),
      deleteMemories: (tags) => ann.does(deleteMemories, { tags }),
    };

    for (const tags of [[""], [" ", "\u00a0"], ["\u200b"]])
      expect(await filters[name]?.(tags)).toBeRefused("bad_request");
    expect((await ann.did(memories, { tags: ["", "A "] })).memories).toHaveLength(1);
  },
);
