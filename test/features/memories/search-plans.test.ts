import { expect, it } from "vitest";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { resolve } from "../../../src/features/memories/words/concepts.js";
import { planSearch } from "../../../src/features/memories/words/plan.js";
import { readQuery } from "../../../src/features/memories/words/query.js";
import { findMemories, narrowingOf } from "../../../src/features/memories/words/find-memories.js";
import { type Statement, inOrder } from "../../../src/platform/database/statement.js";
import { LIMITS } from "../../../src/limits.js";
import { aMemory, manyMemories } from "../../support/memories.js";
import { reportCounts } from "../../support/rows-read.js";
import { createWorld } from "../../support/world.js";
import { storeMemories } from "../../search-quality/measure.js";
import { stranger } from "../../search-quality/strangers.js";

it("reads only the indexes that are made for it, and no other that begins with the graph", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  // With fewer it may read all: the planner estimates a graph as a two-hundredth of the table.
  await manyMemories(world, ann, 10_000, "A common word, and one that is seldom.");
  await world.database.pool.query("ANALYZE memory");
  const client = await world.database.pool.connect();
  const run = async <Row, Values extends object>(statement: Statement<Values, Row>, values: Values) =>
    (await client.query({ name: statement.name, text: statement.text, values: inOrder(statement, values) }))
      .rows as Row[];
  const scans = async () => {
    await reportCounts(client);
    const { rows } = await client.query<{ name: string; scans: string }>(
      "SELECT indexrelname AS name, idx_scan AS scans FROM pg_stat_user_indexes WHERE relname = 'memory'",
    );
    return new Map(rows.map(({ name, scans: count }) => [name, Number(count)]));
  };
  const before = await scans();

  for (const query of ["common", "common seldom", "seldm", '"common word"', "note 7"]) {
    const wishes = {
      query,
      limit: 20,
      offset: 0,
      explain: true,
      withText: true,
      withLinks: false,
      expired: new Date(),
    };
    const { hits } = await findMemories(run, ann.caller.personalGraphId, wishes);
    expect(hits.length, query).toBeGreaterThan(0);
  }
  const after = await scans();
  client.release();

  const used = [...after].filter(([name, count]) => count > (before.get(name) ?? 0)).map(([name]) => name);
  // Both of these are used to get memories by their ids.
  const others = used.filter((name) => name !== "memory_pkey" && name !== "memory_listed");
  expect(others.toSorted()).toEqual(["memory_expiry", "memory_search"]);
});

it("finds the same by reading the candidates as by looking them up in the index", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const memories = Array.from({ length: 400 }, (_, index) => stranger(index));
  await storeMemories(world, ann, memories);
  const ask = (query: string, readBytes: number) =>
    world.database.search((run) => {
      const wishes = { query, limit: 100, offset: 0, explain: false, withText: false, withLinks: false };
      return findMemories(run, ann.caller.personalGraphId, wishes, { ...LIMITS.search, readBytes });
    });
  const [first] = memories;

  for (const query of [
    "redis",
    "cache is slow",
    "the default changed",
    first?.title ?? "",
    "getCache cach retry_policy",
  ]) {
    const [looked, read] = [await ask(query, 0), await ask(query, 1_000_000_000)];
    const saying = ({ hits }: typeof read) => hits.map(({ id, relevance }) => ({ id, relevance }));
    expect(saying(read), query).toEqual(saying(looked));
    expect(read.hits.length, query).toBeGreaterThan(1);
  }
});

it("reads more of the candidates' words in a large graph, where it costs more to look them up", async () => {
  const readIn = async (memories: number, query: string) => {
    const resolved = await resolve(readQuery(query), {
      words: async (pieces) =>
        pieces.map(({ text }, index) => ({ place: index + 1, lexemes: [text], documents: 9, known: true, memories })),
      alike: async () => [{ asked: "", word: "+", stem: ["+"], documents: 9, begins: false }],
    });
    return planSearch(resolved, narrowingOf({}), { isPhrase: false, bounds: LIMITS.search }).readBytes;
  };
  const { readBytes, readBytesMost } = LIMITS.search;

  expect(await readIn(10_000, "pool drained")).toBe(readBytes);
  expect(await readIn(1_000_000, "pool drained")).toBeGreaterThan(readBytes);
  expect(await readIn(10_000_000, "pool drained")).toBe(readBytesMost);
});

it("stops when the matches in titles alone exceed what it counts", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, LIMITS.search.ranked + 1, "Something usual.");
  await aMemory(ann, { title: "By tag", tags: ["note"] });
  await aMemory(ann, { title: "By content", content: "A note." });
  await aMemory(ann, { title: "Usual" });
  await world.database.pool.query("SELECT count_words($1, 10000)", [ann.caller.personalGraphId]);
  const titlesOf = async (wishes: object) => {
    const { memories, total, totalIsCapped } = await ann.did(searchMemories, { query: "note", ...wishes });
    return { titles: memories.map(({ title }) => title), total, totalIsCapped };
  };

  const all = await titlesOf({ limit: 1_000 });
  const page = await titlesOf({ limit: 10, offset: 500 });

  expect(all).toMatchObject({ total: 1_000, totalIsCapped: true });
  expect(all.titles.filter((title) => title.startsWith("Note "))).toHaveLength(1_000);
  expect(page.titles).toEqual(all.titles.slice(500, 510));
  expect(await titlesOf({ query: "usual", limit: 2 })).toEqual({
    titles: ["Usual", expect.stringContaining("Note ")],
    total: 1_000,
    totalIsCapped: true,
  });
  expect(await titlesOf({ tags: ["note"] })).toEqual({ titles: ["By tag"], total: 1, totalIsCapped: false });
});
