import pg from "pg";
import { expect, it } from "vitest";
import { ROW_FILTERS, TagsMatch } from "../../../src/features/memories/memory-filter.js";
import { findMemories } from "../../../src/features/memories/words/find-memories.js";
import { LIMITS } from "../../../src/limits.js";
import { type Statement, inOrder } from "../../../src/platform/database/statement.js";
import { manyMemories } from "../../support/memories.js";
import { reportCounts } from "../../support/rows-read.js";
import { type World, createWorld } from "../../support/world.js";

/** With fewer, PostgreSQL may read all of them: it estimates a graph as a two-hundredth of its table. */
const MEMORIES = 10_000;
/** So few candidates are wanted that a small graph has many times more. */
const BOUNDS = { ...LIMITS.search, candidates: 40, commonCandidates: 20, walkedRows: 400 };

/** A graph of notes with a common word, of which some have been changed: every memory has a number from 0, by age. */
async function commonGraph(world: World, changes: Readonly<Record<string, string>> = {}) {
  const ann = await world.user();
  const graphId = ann.caller.personalGraphId;
  await manyMemories(world, ann, MEMORIES, "A usual word.");
  const client = await world.database.pool.connect();
  // Otherwise these reads could be taken for a search's.
  await reportCounts(client);
  for (const [set, which] of Object.entries(changes)) {
    await client.query(
      `UPDATE memory SET ${set} FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM memory WHERE graph_id = $1) AS nth
       WHERE memory.graph_id = $1 AND memory.id = nth.id AND ${which}`,
      [graphId],
    );
  }
  await client.query("SELECT count_words($1, 10000)", [graphId]);
  await client.query("ANALYZE memory");
  const { rows } = await client.query<{ id: string }>("SELECT id FROM memory WHERE graph_id = $1 ORDER BY id", [
    graphId,
  ]);
  const run = async <Row, Values extends object>(statement: Statement<Values, Row>, values: Values) =>
    (await client.query({ name: statement.name, text: statement.text, values: inOrder(statement, values) }))
      .rows as Row[];
  /** How many memories the index of the search has found. */
  const indexed = async () => {
    await reportCounts(client);
    const { rows: counts } = await client.query<{ indexed: string }>(
      "SELECT idx_tup_read AS indexed FROM pg_stat_user_indexes WHERE indexrelname = 'memory_search'",
    );
    return Number(counts[0]?.indexed);
  };
  return {
    ids: rows.map(({ id }) => id),
    async find(query: string, wishes: object = {}, bounds = BOUNDS) {
      const before = await indexed();
      const { hits, total } = await findMemories(
        run,
        graphId,
        {
          query,
          limit: 1_000,
          offset: 0,
          explain: false,
          withText: false,
          withLinks: false,
          expired: new Date(),
          ...wishes,
        },
        bounds,
      );
      const found = hits.map(({ id }) => rows.findIndex((row) => row.id === id)).toSorted((one, other) => one - other);
      return { found, total, indexed: (await indexed()) - before };
    },
    /** Has the graph seem so many times larger. */
    count: (times: number) =>
      client.query("UPDATE lexicon SET documents = documents * $2 WHERE graph_id = $1", [graphId, times]),
    [Symbol.dispose]: () => client.release(),
  };
}

it("reads the newest memories instead of the index for a word that nearly all have", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await commonGraph(world);

  for (const query of ["usual", '"usual word"', "usual word"]) {
    const { found, total, indexed } = await graph.find(query);
    expect({ total, indexed }, query).toEqual({ total: BOUNDS.candidates, indexed: 0 });
    expect(found, query).toEqual(Array.from({ length: BOUNDS.candidates }, (_, n) => MEMORIES - BOUNDS.candidates + n));
  }
  // With these bounds it is the index that finds them.
  expect((await graph.find("usual", {}, { ...BOUNDS, walkedRows: 0 })).indexed).toBeGreaterThan(0);
  expect((await graph.find("usual", {}, LIMITS.search)).indexed).toBeGreaterThan(0);
});

it("reads the oldest memories, too, and the index if neither suffice", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await commonGraph(world, {
    "content = content || ' Old.'": "n < 9800",
    "content = content || ' Middle.', title = 'Middle'": "n BETWEEN 200 AND 9799",
  });

  const old = await graph.find("old");
  expect(old).toMatchObject({ total: BOUNDS.candidates, indexed: 0 });
  expect(Math.max(...old.found)).toBeLessThan(200);
  const middle = await graph.find("middle");
  expect(middle.indexed).toBeGreaterThan(0);
  expect(middle.total).toBeGreaterThanOrEqual(BOUNDS.candidates);
  expect(middle.found.every((n) => n >= 200 && n < 9800)).toBe(true);
});

it("reads only as many bytes, and the index where texts are long", async () => {
  await using world = await createWorld({ fresh: true });
  const words = "(SELECT string_agg(md5(n::text || i::text), ' ') FROM generate_series(1, 200) AS i)";
  using graph = await commonGraph(world, { [`content = content || ' ' || ${words}`]: "n NOT BETWEEN 100 AND 9899" });

  const { total, indexed } = await graph.find("usual");

  expect(total).toBe(BOUNDS.candidates);
  expect(indexed).toBeGreaterThan(0);
});

it("finds all that pass a filter where few do, without the index", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await commonGraph(world, {
    "importance = 1": "n % 1000 = 7",
    "created_at = '2020-01-01'": "n % 1250 = 9",
    'context = \'{"project_path": "/p"}\'': "n BETWEEN 100 AND 119",
    "expires_at = '2020-01-01'": "n IN (7, 9, 100)",
  });
  const numbers = (step: number, first: number) =>
    Array.from({ length: Math.ceil((MEMORIES - first) / step) }, (_, n) => first + n * step);

  const filters: ReadonlyArray<readonly [object, number[]]> = [
    [{ minImportance: 1 }, numbers(1000, 7).slice(1)],
    [{ createdBefore: new Date("2020-06-01") }, numbers(1250, 9).slice(1)],
    [{ project: "/p" }, Array.from({ length: 19 }, (_, n) => 101 + n)],
    [{ project: "/none" }, []],
    [{ createdAfter: new Date("2999-01-01") }, []],
    [{ minImportance: 1, createdBefore: new Date("2020-06-01") }, []],
  ];
  const tried = new Set(filters.flatMap(([filter]) => Object.keys(filter)));
  expect(
    Object.keys(ROW_FILTERS).filter((name) => !tried.has(name)),
    "Try it here: `walk_memories` and `search_hits` must know it.",
  ).toEqual([]);
  for (const [filter, passing] of filters) {
    const { found, total, indexed } = await graph.find("usual", filter);
    expect({ found, total, indexed }, JSON.stringify(filter)).toEqual({
      found: passing,
      total: passing.length,
      indexed: 0,
    });
  }
  // More pass than are read: the newest of them, more than would be found among as many that match.
  const few = await graph.find("usual", { minImportance: 1 }, { ...BOUNDS, walkedRows: 18 });
  expect(few).toEqual({ found: numbers(1000, 7).slice(-6), total: 6, indexed: 0 });
  // Most pass: those that are read suffice, or the index finds more.
  expect(await graph.find("usual", { minImportance: 0.1 })).toMatchObject({ total: BOUNDS.candidates, indexed: 0 });
  expect(await graph.find("usual", { minImportance: 0.1 }, { ...BOUNDS, walkedRows: 90 })).toMatchObject({
    total: BOUNDS.candidates,
    indexed: expect.toSatisfy((rows: number) => rows > 0),
  });
});

it("finds what dates let pass, wherever in the graph it is", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await commonGraph(world, { "created_at = '2020-01-01'::timestamptz + n * interval '1 hour'": "true" });
  const at = (n: number) => new Date(Date.UTC(2020, 0, 1, n));

  for (const [first, end] of [
    [9_500, MEMORIES],
    [6_000, 6_500],
    [0, 500],
  ] as const) {
    const { found, total } = await graph.find("usual", { createdAfter: at(first), createdBefore: at(end) });
    expect(total, `${first}`).toBe(BOUNDS.candidates);
    expect(found.every((n) => n >= first && n < end)).toBe(true);
  }
  const few = await graph.find("usual", { createdAfter: at(6_000), createdBefore: at(6_010) });
  expect(few.found).toEqual(Array.from({ length: 10 }, (_, n) => 6_000 + n));
});

it.each(["tags", "types"] as const)("finds memories with any of many %s, however many have one", async (name) => {
  await using world = await createWorld({ fresh: true });
  const rarest = `ra're "{\\,} é \u{1F600}`;
  const quoted = pg.escapeLiteral(rarest);
  using graph = await commonGraph(world, {
    [name === "tags" ? "tags = '{common}'" : "type = 'common'"]: "n % 3 = 0",
    [name === "tags" ? `tags = ARRAY[${quoted}, ${quoted}]` : `type = ${quoted}`]: "n % 1000 = 500",
  });
  const anyOf = (one: string) => ({
    [name]: [one, one, ...Array.from({ length: 48 }, (_, n) => `other${n}`)],
    tagsMatch: TagsMatch.ANY,
  });
  const multiples = Array.from({ length: BOUNDS.candidates }, (_, n) => 3 * n);
  const rare = Array.from({ length: 10 }, (_, n) => 500 + 1_000 * n);
  const noWalk = { ...BOUNDS, walkedRows: 0 };

  expect(await graph.find("usual", anyOf(rarest))).toMatchObject({ found: rare, total: 10 });
  expect(await graph.find("usual", anyOf("common"))).toMatchObject({ total: BOUNDS.candidates, indexed: 0 });
  const lookedUp = await graph.find("usual", anyOf("common"), noWalk);
  expect(lookedUp.found).toEqual(multiples);
  // In a large graph, they are first compared with what has the words, as the index finds all that have. Here most of
  // these have none, since what was changed is stored behind.
  await graph.count(100);
  const compared = await graph.find("usual", anyOf("common"), noWalk);
  expect(compared.found).toEqual(multiples);
  expect(compared.indexed).toBeGreaterThan(lookedUp.indexed);
  expect((await graph.find("usual", anyOf(rarest), noWalk)).found).toEqual(rare);
});

it("leaves out what has expired, and counts nothing twice if hardly anything is left", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await commonGraph(world, { "expires_at = '2020-01-01'": "n BETWEEN 10 AND 9989" });

  const { found, total } = await graph.find("usual");

  expect({ found: found.length, total }).toEqual({ found: 20, total: 20 });
});

it("shows pages of what it has read without gaps or repeats", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await commonGraph(world);

  const all = await graph.find("usual");
  const pages = [];
  for (let offset = 0; offset < BOUNDS.candidates; offset += 15)
    pages.push(...(await graph.find("usual", { limit: 15, offset })).found);

  expect(pages.toSorted((one, other) => one - other)).toEqual(all.found);
});

it("finds the same memories by two queries of the index as by one", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await commonGraph(world, {
    "content = content || ' red'": "n % 2 = 0",
    "content = content || ' green' ": "n % 3 = 0",
    "content = content || ' blue'": "n % 5 = 0",
    "content = content || ' white'": "n % 7 = 0",
    "content = content || ' black'": "n % 11 = 0",
  });
  const having = (...steps: number[]) =>
    Array.from({ length: MEMORIES }, (_, n) => n).filter((n) => steps.every((step) => n % step === 0));
  const whole = { ...LIMITS.search, walkedRows: 0 };

  for (const [query, steps] of [
    ["red green blue white", [2, 3, 5, 7]],
    ["black usual word red green blue", [11, 2, 3, 5]],
    ["usual black white", [11, 7]],
  ] as const) {
    const { total, found } = await graph.find(query, {}, whole);
    expect({ query, total }).toEqual({ query, total: having(...steps).length });
    expect(having(...steps).every((n) => found.includes(n))).toBe(true);
  }
});
