import { expect, it, vi } from "vitest";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { LIMITS } from "../../../src/limits.js";
import { aMemory, findTitles, manyMemories, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

const NOTHING = {
  memories: [],
  total: 0,
  totalIsCapped: false,
  truncated: false,
  meaning: false,
  unknownWords: expect.any(Array) as object[],
};

it("finds words in title, tags, summary and content, in any order and any form", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Retrying failed requests" });
  await aMemory(ann, { title: "By tag", tags: ["request queue", "retry"] });
  await aMemory(ann, { title: "By summary", summary: "We retried each request." });
  await aMemory(ann, { title: "By content", content: "Every request is to be retried." });
  await aMemory(ann, { title: "Neither" });

  const all = ["Retrying failed requests", "By tag", "By content", "By summary"];
  expect((await findTitles(ann, "retry request")).toSorted()).toEqual(all.toSorted());
  expect((await findTitles(ann, "REQUESTS retries")).toSorted()).toEqual(all.toSorted());
});

it("ranks titles above tags above content, however often the content has the word", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Content", content: "backoff ".repeat(200), importance: 1 });
  await aMemory(ann, { title: "Tagged", tags: ["backoff"], importance: 0.5 });
  await aMemory(ann, { title: "How to choose a backoff among many other things", importance: 0 });
  await aMemory(ann, { title: "Backoff", importance: 0 });

  expect(await findTitles(ann, "backoff")).toEqual([
    "Backoff",
    "How to choose a backoff among many other things",
    "Tagged",
    "Content",
  ]);
});

it("ranks by a dozen words of a pasted error, not only by the rarest few", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const rarest = ["traceback", "module", "packages", "python", "library", "thread", "kernel", "socket"];
  for (const word of rarest) await aMemory(ann, { title: `Notes on the ${word}` });
  for (const word of ["merge", "object", "columns", "integer"])
    await aMemory(ann, { title: `Something else about ${word}` });
  await aMemory(ann, { title: "Export of orders", content: "It refused to merge object and integer columns." });

  const [best] = await findTitles(ann, `${rarest.join(" ")}: cannot merge on object and integer columns`);

  expect(best).toBe("Export of orders");
});

it("gives relevance from 0 to 1: near 1 for a title with every word, less for fewer words", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Retry with backoff" });
  await aMemory(ann, { title: "Other", content: "One may retry with a backoff." });
  await aMemory(ann, { title: "Retry at once" });

  const { memories } = await ann.did(searchMemories, { query: "retry backoff" });
  const [best = 0, second = 0] = memories.map(({ relevance }) => relevance);
  const fallback = await ann.did(searchMemories, { query: "retry elephants" });

  expect(memories.map(({ title }) => title)).toEqual(["Retry with backoff", "Other"]);
  expect(best).toBeGreaterThan(0.95);
  expect(best).toBeLessThanOrEqual(1);
  expect(second).toBeLessThan(0.8);
  expect(fallback.memories.every(({ relevance }) => relevance > 0 && relevance < best)).toBe(true);
});

it("keeps quoted words together", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "The connection pool was reset", "Pool of connections, each reset", "A reset connection");

  expect(await findTitles(ann, '"connection pool" reset')).toEqual(["The connection pool was reset"]);
  expect(await findTitles(ann, "connection pool reset")).toHaveLength(2);
});

it("reads punctuation as text, never as an operator", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const texts = [
    "npm install --force",
    "wired in src/app.ts",
    "failed with ERR_PNPM_001",
    "call foo.bar first",
    "grew by 50% a year",
    "the snake_case rule",
    "in C:\\Temp\\logs",
    'they say "hello" to all',
    "a & b | !c",
    "weight:* of it",
    "served at 10.0.0.1:8080",
    "<b>bold</b> claims",
    "mail to ann@example.com",
    "it isn't there",
  ];
  await memoriesTitled(ann, ...texts);
  const queries: Readonly<Record<string, string>> = {
    "--force": "npm install --force",
    "src/app.ts": "wired in src/app.ts",
    "app.ts": "wired in src/app.ts",
    ERR_PNPM_001: "failed with ERR_PNPM_001",
    err_pnpm: "failed with ERR_PNPM_001",
    "foo.bar": "call foo.bar first",
    "50%": "grew by 50% a year",
    "%": "grew by 50% a year",
    snake_case: "the snake_case rule",
    "C:\\Temp": "in C:\\Temp\\logs",
    "\\": "in C:\\Temp\\logs",
    '"say hello"': 'they say "hello" to all',
    '"say': 'they say "hello" to all',
    'hello"': 'they say "hello" to all',
    '"': 'they say "hello" to all',
    "a & b | !c": "a & b | !c",
    "b |": "a & b | !c",
    "weight:*": "weight:* of it",
    ":*": "weight:* of it",
    "10.0.0.1": "served at 10.0.0.1:8080",
    "<b>bold": "<b>bold</b> claims",
    "ann@example.com": "mail to ann@example.com",
    "isn't": "it isn't there",
  };

  for (const [query, title] of Object.entries(queries)) expect((await findTitles(ann, query))[0], query).toBe(title);
});

it("takes queries without words literally: wildcards match only themselves", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "100% sure", "snake_case", "C:\\Temp", "plain");

  expect(await findTitles(ann, "%")).toEqual(["100% sure"]);
  expect(await findTitles(ann, "_")).toEqual(["snake_case"]);
  expect(await findTitles(ann, "\\")).toEqual(["C:\\Temp"]);
  expect(await findTitles(ann, "!!")).toEqual([]);
});

it("answers any query without an error", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Unrelated" });
  const regex = "(a+)+$".repeat(20);
  const marks = ["'; DROP TABLE memory; --", '"'.repeat(7), "<->", "a:b:c & (", "\u{1f600}", "\\'", "the of and"];

  for (const query of [...marks, regex, "\u{20000}".repeat(1_000), "a ".repeat(500)]) {
    expect(await ann.did(searchMemories, { query }), query).toEqual(NOTHING);
  }
});

it("finds memories in spite of a typo", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Exponential backoff", "Connection pooling", "Deployment checklist");

  expect(await findTitles(ann, "exponental bakoff")).toEqual(["Exponential backoff"]);
  expect(await findTitles(ann, "conection")).toEqual(["Connection pooling"]);
  expect(await findTitles(ann, "deploymnet")).toEqual(["Deployment checklist"]);
});

it("finds memories in spite of an extra word, those with more of the words first", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Retry", "Retry with backoff", "Something else");

  expect(await findTitles(ann, "retry backoff elephants")).toEqual(["Retry with backoff"]);
  expect(await findTitles(ann, "retry elephants")).toEqual(expect.arrayContaining(["Retry", "Retry with backoff"]));
  expect(await findTitles(ann, "elephants giraffes")).toEqual([]);
});

it("leaves out memories with only some of the words if others have all", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Retry", "Retry with backoff");

  expect(await findTitles(ann, "retry backoff")).toEqual(["Retry with backoff"]);
});

it("counts all matches, whatever the limit", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Retry one", "Retry two", "Retry three", "Other");

  const { memories, total, totalIsCapped } = await ann.did(searchMemories, { query: "retry", limit: 2 });

  expect([memories.length, total, totalIsCapped]).toEqual([2, 3, false]);
});

it.each([
  ["a word", "frequency"],
  ["a typo", "frequncy"],
  ["a mark", "%"],
])("counts to 1,000 exactly and says when there are more: by %s", async (_kind, query) => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 1_000, "A frequency of 50%.");
  const exactly = await ann.did(searchMemories, { query, limit: 1_000 });
  await manyMemories(world, ann, 1, "A frequency of 50%.");
  const more = await ann.did(searchMemories, { query, limit: 1 });

  expect([exactly.memories.length, exactly.total, exactly.totalIsCapped]).toEqual([1_000, 1_000, false]);
  expect([more.memories.length, more.total, more.totalIsCapped]).toEqual([1, 1_000, true]);
});

it("can be filtered like a list, for words, typos and punctuation", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Backoff 1%", type: "fix", tags: ["net"], importance: 0.9 });
  await aMemory(ann, { title: "Backoff 2%", type: "task", tags: ["disk"], importance: 0.1 });
  world.travel(86_400_000);
  const { createdAt } = await aMemory(ann, { title: "Backoff 3%", type: "task", importance: 0.5 });

  for (const query of ["backoff", "bakoff", "%"]) {
    expect(await findTitles(ann, query, { types: ["fix"] }), query).toEqual(["Backoff 1%"]);
    expect(await findTitles(ann, query, { tags: ["disk"] }), query).toEqual(["Backoff 2%"]);
    expect(await findTitles(ann, query, { minImportance: 0.5 }), query).toEqual(["Backoff 1%", "Backoff 3%"]);
    expect(await findTitles(ann, query, { createdAfter: createdAt.toISOString() }), query).toEqual(["Backoff 3%"]);
    expect(await findTitles(ann, query, { createdBefore: createdAt.toISOString(), types: ["task"] }), query).toEqual([
      "Backoff 2%",
    ]);
  }
});

it("sorts equal matches by importance, then the newer first", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const important = await aMemory(ann, { title: "Backoff", importance: 0.8 });
  await aMemory(ann, { title: "Backoff", content: "old", importance: 0.5 });
  const newer = await aMemory(ann, { title: "Backoff", content: "new", importance: 0.5 });

  const { memories } = await ann.did(searchMemories, { query: "backoff", limit: 2 });

  expect(memories.map(({ memoryId }) => memoryId)).toEqual([important.id, newer.id]);
});

it("ranks a title that equals the query above longer titles that contain it", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await memoriesTitled(ann, "Pool sizing", "Pool sizing (old)", "Notes on pool sizing", "find_all", "find_all (old)");

  expect((await findTitles(ann, "pool sizing"))[0]).toBe("Pool sizing");
  expect((await findTitles(ann, "find_all"))[0]).toBe("find_all");
});

it("finds the current text of a memory, and no longer the previous one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { title: "Elephant" });

  await ann.did(updateMemory, { id, title: "Giraffe" });
  expect([await findTitles(ann, "elephant"), await findTitles(ann, "giraffe")]).toEqual([[], ["Giraffe"]]);
  await ann.did(deleteMemory, { id });
  expect(await findTitles(ann, "giraffe")).toEqual([]);
});

it("never finds other users' words, nor lets them change the results in one's own graph", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  await aMemory(bob, { title: "Zanzibar \u00a7 elephants" });
  await aMemory(ann, { title: "Something of her own" });

  for (const query of ["zanzibar", "zanzibr", "zanzibar giraffes", "\u00a7"]) {
    expect(await ann.did(searchMemories, { query }), query).toEqual(NOTHING);
    expect(await findTitles(bob, query), query).toEqual(["Zanzibar \u00a7 elephants"]);
  }

  const { id } = await aMemory(ann, { title: "Zanzibra \u00a7" });
  for (const query of ["zanzibar", "zanzibra", "\u00a7"]) {
    expect(await ann.did(searchMemories, { query }), query).toMatchObject({ memories: [{ memoryId: id }], total: 1 });
  }
});

it("refuses a query or a limit out of bounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const wrong = [
    {},
    { query: "" },
    { query: "  \t" },
    { query: "\u200b" },
    { query: null },
    { query: 1 },
    { query: ["a"] },
    { query: "\u{1f600}".repeat(1_001) },
    { query: "a\0b" },
    { query: "\ud800" },
    { query: "a", limit: 0 },
    { query: "a", limit: 1_001 },
    { query: "a", cursor: "b" },
  ];

  for (const input of wrong)
    expect(await ann.does(searchMemories, input), JSON.stringify(input)).toBeRefused("bad_request");
});

it("returns whole memories if requested", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann, { title: "Lighthouse", content: "All that there is to say." });

  const { memories } = await ann.did(searchMemories, { query: "lighthouse", full: true });
  const plain = await ann.did(searchMemories, { query: "lighthouse" });

  expect(memories[0]?.memory).toMatchObject({ id, content: "All that there is to say." });
  expect(plain.memories[0]?.memory).toBeUndefined();
});

it.each([
  ["contents", { count: 250, content: `Lighthouse. ${"x".repeat(49_000)}`, context: null }],
  ["contexts", { count: 400, content: "Lighthouse.", context: { note: "x".repeat(16_000) } }],
])("reads no more whole memories than a page has room for: %s", async (_what, { count, content, context }) => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, count, content);
  await world.database.pool.query("UPDATE memory SET context = $1", [context]);
  const read = vi.spyOn(world.database, "run");

  const { memories, total } = await ann.did(searchMemories, { query: "lighthouse", limit: 1_000, full: true });

  expect(total).toBe(count);
  expect(memories.length).toBeGreaterThan(50);
  const bytes = Buffer.byteLength(JSON.stringify(memories));
  expect(bytes).toBeLessThan(LIMITS.answer.restPageBytes);
  const batches = read.mock.calls.filter(([{ name }]) => name === "memories_alone").length;
  expect(batches * 50).toBeLessThan(memories.length + 100);
});
