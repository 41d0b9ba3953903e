import { readFileSync } from "node:fs";
import pg from "pg";
import type { SearchWishes } from "../../src/features/memories/words/find-memories.js";
import type { Statement } from "../../src/platform/database/statement.js";
import { built } from "./built.js";
import { median } from "./measure.js";
import { type SearchGraph, openSearchGraph } from "./search-graphs.js";
import { memoryAt } from "./dataset.js";
import { GATES, RARE_GATE, SEARCH_QUESTIONS, type SearchQuestion } from "./search-queries.js";

const { findMemories } = await built<typeof import("../../src/features/memories/words/find-memories.js")>(
  "features/memories/words/find-memories.js",
);
const { inOrder } = await built<typeof import("../../src/platform/database/statement.js")>(
  "platform/database/statement.js",
);
const { LIMITS } = await built<typeof import("../../src/limits.js")>("limits.js");
const { tableOf } = await built<typeof import("../../src/commands/table.js")>("commands/table.js");

const YARDSTICK_NAME = "(20,000 times md5)";
const TIMES = 20;
/** PostgreSQL plans a statement during its first executions on a connection. */
const WARM_UP = 6;

/** Took 9 ms of CPU on the machine of the documented numbers. */
const YARDSTICK = "SELECT sum(length(md5(n::text))) FROM generate_series(1, 20000) AS n";

export interface SearchCost {
  readonly name: string;
  readonly hits: number;
  /** Milliseconds of PostgreSQL's CPU time. */
  readonly median: number;
  readonly worst: number;
}

/** Measures what searches cost PostgreSQL in graphs of these sizes. */
export async function benchSearch(
  serverUrl: string,
  sizes: readonly number[],
  say: (message: string) => void,
): Promise<ReadonlyMap<number, readonly SearchCost[]>> {
  const results = new Map<number, readonly SearchCost[]>();
  for (const memories of sizes) {
    const graphs = await openSearchGraph(serverUrl, memories, say);
    const client = new pg.Client({ connectionString: graphs.url });
    await client.connect();
    try {
      results.set(memories, await measureQuestions(client, graphs, memories));
    } finally {
      await client.end();
    }
  }
  return results;
}

async function measureQuestions(client: pg.Client, graphs: SearchGraph, memories: number): Promise<SearchCost[]> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const pid = rows[0]?.pid ?? 0;
  const run = async <Row, Values extends object>({ name, text, names }: Statement<Values, Row>, values: Values) => {
    const answer = await client.query({ name, text, values: inOrder({ name, text, ...(names && { names }) }, values) });
    return answer.rows as Row[];
  };
  const costs = [await measureYardstick(client, pid)];
  for (const question of SEARCH_QUESTIONS) {
    const wishes = wishesOf(question, memories);
    const graphId = question.inLongTexts ? graphs.longGraphId : graphs.graphId;
    const times: number[] = [];
    let hits = 0;
    for (let time = -WARM_UP; time < TIMES; time++) {
      const before = cpuMs(pid);
      hits = (await findMemories(run, graphId, wishes)).hits.length;
      if (time >= 0) times.push(cpuMs(pid) - before);
    }
    costs.push({ name: question.name, hits, median: median(times), worst: Math.max(...times) });
  }
  return costs;
}

/** Work of constant cost: shows how much slower everything is while the machine does other work as well. */
async function measureYardstick(client: pg.Client, pid: number): Promise<SearchCost> {
  const times: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const before = cpuMs(pid);
    await client.query(YARDSTICK);
    times.push(cpuMs(pid) - before);
  }
  return { name: YARDSTICK_NAME, hits: 0, median: median(times), worst: Math.max(...times) };
}

const wishesOf = (
  { name: _name, aged, inLongTexts: _long, ...wishes }: SearchQuestion,
  memories: number,
): SearchWishes => ({
  offset: 0,
  explain: false,
  withText: true,
  withUnknownWords: true,
  limit: 20,
  expired: new Date(),
  ...(aged && { createdAfter: timeAt(aged[0] * memories), createdBefore: timeAt(aged[1] * memories) }),
  // Only exporters ask for so many, and they show none.
  withLinks: (wishes.limit ?? 20) <= LIMITS.answer.pageItems,
  ...wishes,
});

const timeAt = (index: number): Date => new Date(memoryAt(Math.round(index)).time);

/** How long a process has run, by the scheduler's own count; the other counters are in hundredths of a second. */
const cpuMs = (pid: number): number => Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1_000_000;

export function tableOfCosts(results: ReadonlyMap<number, readonly SearchCost[]>): string {
  const sizes = [...results.keys()];
  const head = [
    "query",
    ...sizes.flatMap((size) => [`${size.toLocaleString("en")}: hits`, "median ms", "worst of 20"]),
  ];
  const rows = [YARDSTICK_NAME, ...SEARCH_QUESTIONS.map(({ name }) => name)].map((name) => {
    const costs = sizes.map((size) => results.get(size)?.find((cost) => cost.name === name));
    return [name, ...costs.flatMap((cost, place) => (cost ? cellsOf(cost, sizes[place] ?? 0) : ["", "", ""]))];
  });
  return tableOf(head, rows);
}

/** Costs above the gate are marked. */
function cellsOf({ name, hits, median: usual, worst }: SearchCost, size: number): string[] {
  const gate = name === SEARCH_QUESTIONS[0]?.name ? RARE_GATE : GATES.find(({ memories }) => size <= memories);
  const mark = (cost: number, most = Infinity) =>
    `${cost.toFixed(1)}${name !== YARDSTICK_NAME && cost > most ? " !" : ""}`;
  return [String(hits), mark(usual, gate?.median), mark(worst, gate?.worst)];
}
