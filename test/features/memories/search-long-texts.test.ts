import { expect, it } from "vitest";
import { TOTAL_MAX, findMemories } from "../../../src/features/memories/words/find-memories.js";
import { LIMITS } from "../../../src/limits.js";
import { type Statement, inOrder } from "../../../src/platform/database/statement.js";
import { manyMemories } from "../../support/memories.js";
import { reportCounts } from "../../support/rows-read.js";
import { type World, createWorld } from "../../support/world.js";

const { bestBytes, phraseBytes, explained } = LIMITS.search;
const PAGE_BYTES = 8_192;
/** Words of the greatest length that the index has, so that texts are as long as they may be and made quickly. */
const LONG_WORDS = `(SELECT string_agg(letters, ' ') FROM (SELECT string_agg(md5(n::text || word || part), '') AS letters
  FROM generate_series(1, 24) AS word, generate_series(1, 60) AS part GROUP BY word) AS words)`;
const LONG_BYTES = 24 * 60 * 32;

/** A graph of memories with a content by SQL, which knows their numbers `n` from 1, the oldest. */
async function graphOf(world: World, memories: number, content: string, importance = "0.5") {
  const ann = await world.user();
  const graphId = ann.caller.personalGraphId;
  await manyMemories(world, ann, memories, "Short.");
  const client = await world.database.pool.connect();
  await client.query(
    `UPDATE memory SET content = ${content}, importance = ${importance}
     FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM memory WHERE graph_id = $1) AS nth
     WHERE memory.graph_id = $1 AND memory.id = nth.id`,
    [graphId],
  );
  await client.query("SELECT count_words($1, 10000)", [graphId]);
  // Otherwise searches of the first seconds look into the list of what the index has not taken in yet.
  await client.query("VACUUM ANALYZE memory");
  const run = async <Row, Values extends object>(statement: Statement<Values, Row>, values: Values) =>
    (await client.query({ name: statement.name, text: statement.text, values: inOrder(statement, values) }))
      .rows as Row[];
  const count = async (counted: string) => {
    await reportCounts(client);
    const { rows } = await client.query<{ count: string }>(`SELECT ${counted} AS count`);
    return Number(rows[0]?.count);
  };
  /** Bytes of long values that were read so far: of these, only vectors are this long. */
  const bytesRead = async () =>
    PAGE_BYTES *
    (await count("(SELECT toast_blks_hit + toast_blks_read FROM pg_statio_user_tables WHERE relname = 'memory')"));
  /** Pages of the index of the search. */
  const pagesRead = () =>
    count("(SELECT idx_blks_hit + idx_blks_read FROM pg_statio_user_indexes WHERE indexrelname = 'memory_search')");
  return {
    graphId,
    client,
    async reading<Answer>(work: () => Promise<Answer>) {
      const before = { bytes: await bytesRead(), pages: await pagesRead() };
      const answer = await work();
      return {
        answer,
        bytes: (await bytesRead()) - before.bytes,
        pages: (await pagesRead()) - before.pages,
      };
    },
    find: (query: string, wishes: object = {}) =>
      findMemories(run, graphId, {
        query,
        limit: 20,
        offset: 0,
        explain: false,
        withText: false,
        withLinks: false,
        expired: new Date(),
        ...wishes,
      }),
    [Symbol.dispose]: () => client.release(),
  };
}

it("looks for phrases in a limited number of bytes, of what passes the filters", async () => {
  await using world = await createWorld({ fresh: true });
  const memories = 400;
  using graph = await graphOf(world, memories, `'A usual word. ' || ${LONG_WORDS}`, "n / 1000.0");

  for (const filter of [{}, { minImportance: 0 }, { createdAfter: new Date("2020-01-01") }, { types: ["general"] }]) {
    const { answer, bytes } = await graph.reading(() => graph.find('"usual word"', filter));

    expect(bytes, JSON.stringify(filter)).toBeLessThan(phraseBytes);
    expect(answer.total, JSON.stringify(filter)).toBeGreaterThan((0.4 * phraseBytes) / LONG_BYTES);
    expect(answer.total, JSON.stringify(filter)).toBeLessThan(phraseBytes / LONG_BYTES);
    // The same ones each time.
    expect(await graph.find('"usual word"', filter)).toEqual(answer);
    const next = await graph.find('"usual word"', { ...filter, offset: 20, explain: true });
    expect(next.total, JSON.stringify(filter)).toBe(answer.total);
    expect(new Set([...answer.hits, ...next.hits].map(({ id }) => id)).size).toBe(40);
  }
  const few = await graph.find('"usual word"', { minImportance: (memories - 9) / 1000 });
  expect([few.total, few.hits.length]).toEqual([10, 10]);
});

it("compares a phrase of many words with fewer memories, however short their texts", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await graphOf(world, 300, "repeat('b c ', 600)");
  const words = (LIMITS.search.queryLength - 2) / 2 / 2;
  const find = (pairs: number) => graph.find(`"${"b c ".repeat(pairs).trim()}"`);

  expect((await find(1)).total).toBe(300);
  expect((await find(3)).total).toBe(300);
  const { total } = await find(Math.floor(words));
  expect(total).toBeGreaterThan(20);
  expect(total).toBeLessThan(100);
});

it("looks for pairs and explains the best hits in a limited number of bytes", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await graphOf(world, 60, `'A usual word. ' || ${LONG_WORDS}`);
  const most = Math.floor(bestBytes / LONG_BYTES);

  const explaining = await graph.reading(() => graph.find("usual word", { explain: true, limit: explained }));
  const { hits } = explaining.answer;

  const pairs = hits.filter(({ relevance }) => relevance === hits[0]?.relevance).length;
  const explainedHits = hits.filter(({ matches }) => matches?.length).length;
  expect(hits).toHaveLength(explained);
  for (const count of [pairs, explainedHits]) expect([most - 1, most]).toContain(count);
  expect(hits.slice(0, explainedHits).every(({ matches }) => matches?.length === 2)).toBe(true);
});

it("finds titles first where many memories have all of many common words", async () => {
  await using world = await createWorld({ fresh: true });
  const memories = 8_000;
  const words = "amber birch cedar daisy elder fern grape hazel";
  using graph = await graphOf(world, memories, `'${words}'`);
  // Neither the newest nor the oldest, which searches walk along, nor those that the index finds first.
  const { rows } = await graph.client.query<{ id: string }>(
    `UPDATE memory SET title = 'Amber and hazel' WHERE id IN
       (SELECT id FROM memory WHERE graph_id = $1 ORDER BY id OFFSET ${memories / 2} LIMIT 2) RETURNING id`,
    [graph.graphId],
  );
  await graph.client.query("CLUSTER memory USING memory_pkey");

  const { total, hits } = await graph.find(words);

  expect(total).toBe(TOTAL_MAX + 1);
  expect(new Set(hits.slice(0, 2).map(({ id }) => id))).toEqual(new Set(rows.map(({ id }) => id)));
});

it("looks up a rare word without the others", async () => {
  await using world = await createWorld({ fresh: true });
  const words = "amber birch cedar daisy elder fern grape hazel ivory juniper kelp larch".split(" ");
  using graph = await graphOf(world, 240, `('{${words.join()}}'::text[])[1 + n % 12] || ' ' || ${LONG_WORDS}`);

  const { answer, pages } = await graph.reading(() => graph.find(words.join(" ")));

  expect(answer.total).toBe(240);
  expect(pages).toBeLessThan(2_000);
});

it("looks at both ends of a graph in a limited number of bytes", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await graphOf(world, 200, `'A usual word. ' || ${LONG_WORDS}`);

  const { answer, bytes } = await graph.reading(() =>
    graph.client.query<{ share: number }>("SELECT share_at_ends($1, 'usual', '{general}', NULL, $2) AS share", [
      graph.graphId,
      bestBytes,
    ]),
  );

  expect(answer.rows[0]?.share).toBe(1);
  expect(bytes).toBeGreaterThan(bestBytes / 2);
  expect(bytes).toBeLessThan(1.5 * bestBytes);
});

it("takes a vector that PostgreSQL has compressed for as long as its text", async () => {
  await using world = await createWorld({ fresh: true });
  using graph = await graphOf(
    world,
    1,
    "'A usual word. ' || (SELECT string_agg(repeat('a', 1000) || n, ' ') FROM generate_series(1, 40) AS n)",
  );

  const { rows } = await graph.client.query<{ stored: number; taken: number; bytes: number }>(
    `SELECT pg_column_size(search) AS stored, vector_bytes(search, content) AS taken,
       pg_column_size(search || ''::tsvector) AS bytes FROM memory WHERE graph_id = $1`,
    [graph.graphId],
  );

  expect(rows[0]?.stored).toBeLessThan(10_000);
  expect(rows[0]?.bytes).toBeGreaterThan(40_000);
  expect(rows[0]?.taken).toBeGreaterThan(rows[0]?.bytes ?? 0);
});
