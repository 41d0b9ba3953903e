import { rmSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import pg from "pg";
import { built } from "./built.js";
import type { Order } from "./child.js";
import { type Ask, CASES, type Case } from "./cases.js";
import { GRAPHS, MEMORIES, RELATIONSHIPS, memoryId, openDataset, userOf } from "./dataset.js";
import { type Plan, type Result, type Servers, compareAnswers, compareRefusals, measure, median } from "./measure.js";
import { benchSearch, tableOfCosts } from "./search.js";
import { startServer } from "./server.js";
import { statements } from "./statements.js";

const { startEmbeddedPostgres } =
  await built<typeof import("../../src/platform/embedded/index.js")>("platform/embedded/index.js");
const { openDatabase } = await built<typeof import("../../src/platform/database.js")>("platform/database.js");
const { JSON_OPTION, commandLine, runCommand } =
  await built<typeof import("../../src/commands/command-line.js")>("commands/command-line.js");
const { tableOf } = await built<typeof import("../../src/commands/table.js")>("commands/table.js");

interface Options {
  readonly case: readonly Case[];
  readonly quick?: true;
  readonly compare?: true;
  readonly json?: true;
  readonly search?: true;
  readonly graph: readonly number[];
}

const SEARCH_SIZES: readonly number[] = [10_000, 100_000];
const FULL: Plan = { rounds: 9, turnMs: 1_500, warmUpMs: 1_500 };
const QUICK: Plan = { rounds: 3, turnMs: 400, warmUpMs: 400 };

const program = commandLine({
  script: "bench",
  description:
    "Compares the service with the floor, a server written by hand for the same requests on the same SQL: both serve " +
    "the same data, take turns, and are checked to answer alike. A ratio is the floor's time by the service's: 1 is " +
    "as fast as the floor, 0.5 takes twice as long.",
  notes:
    "It uses the PostgreSQL of DATABASE_URL (the user must be allowed to create databases), else the embedded one, in\n" +
    "node_modules/.cache/bench-postgres. The data are made once and kept.",
  examples: [
    "npm run bench",
    "BENCH_MEMORIES=2000 npm run bench -- --compare",
    `npm run bench -- --quick --case "${CASES[0]?.name}"`,
    "npm run --silent bench -- --json > bench.json",
    "npm run bench -- --search",
    "npm run bench -- --search --graph 1000000",
  ],
})
  .option("--case <name>", `only this case; may be repeated (${CASES.map(({ name }) => name).join(", ")})`, chosen, [])
  .option("--quick", "few and short rounds: to see that it works, not how fast")
  .option("--compare", "only check that the service and the floor answer alike")
  .option(
    "--search",
    "what searches cost PostgreSQL instead, likely and hostile ones, in graphs of some sizes (on Linux)",
  )
  .option("--graph <memories>", "with --search: a graph of this size; may be repeated (10000 and 100000)", sized, [])
  .option(...JSON_OPTION)
  .action(bench);

function chosen(name: string, before: readonly Case[]): readonly Case[] {
  const found = CASES.find((known) => known.name === name);
  if (!found) throw new InvalidArgumentError("There is no such case.");
  return [...before, found];
}

function sized(memories: string, before: readonly number[]): readonly number[] {
  if (!/^[1-9]\d{0,6}$/.test(memories)) throw new InvalidArgumentError("It must be a number of memories.");
  return [...before, Number(memories)];
}

async function bench(options: Options): Promise<void> {
  const say = (message: string) => void process.stderr.write(`${message}\n`);
  const given = process.env["DATABASE_URL"];
  const embedded = given ? undefined : await startEmbeddedPostgres({ dataDir: "node_modules/.cache/bench-postgres" });
  try {
    const serverUrl = given ?? (await embedded?.administratorUrl()) ?? "";
    if (options.search) {
      const sizes = options.graph.length > 0 ? options.graph : SEARCH_SIZES;
      const costs = await benchSearch(serverUrl, sizes, say);
      console.log(options.json ? JSON.stringify(Object.fromEntries(costs)) : tableOfCosts(costs));
      return;
    }
    await using dataset = await openDataset(serverUrl, say);
    await compare(dataset.url, options, say);
  } finally {
    await embedded?.stop();
  }
}

async function compare(databaseUrl: string, options: Options, say: (message: string) => void): Promise<void> {
  const plan = options.quick ? QUICK : FULL;
  const cases = options.case.length > 0 ? options.case : CASES;
  const logFile = join(tmpdir(), `memory-graph-bench-${process.pid}.log`);
  const order = { databaseUrl, pool: await poolOptions(databaseUrl), statements: await statements() };
  const monitor = new pg.Client({ connectionString: databaseUrl });
  await monitor.connect();
  try {
    await using service = await startServer("service", order, logFile);
    await using floor = await startServer("floor", order, logFile);
    await compareRefusals({ service, floor }, REFUSED);
    for (const each of cases) await compareAnswers(each, { service, floor });
    say("Both answer alike.");
    if (options.compare) return;
    const results = await run({ service, floor }, { cases, plan, monitor, say });
    const memory = { service: await service.usage(), floor: await floor.usage() };
    const megabytes = (bytes: number) => Math.round(bytes / 1_048_576);
    const memoryMb = { service: megabytes(memory.service.memoryBytes), floor: megabytes(memory.floor.memoryBytes) };
    print({ results, memoryMb, plan }, options);
  } finally {
    await monitor.end();
    rmSync(logFile, { force: true });
  }
}

/** Taken from the service, so that the floor connects as it does. */
async function poolOptions(databaseUrl: string): Promise<Order["pool"]> {
  await using database = openDatabase(databaseUrl);
  const { max, options, statement_timeout } = database.pool.options;
  return { max, ...(options === undefined ? {} : { options }), statement_timeout: statement_timeout ?? false };
}

interface Work {
  readonly cases: readonly Case[];
  readonly plan: Plan;
  readonly monitor: pg.Client;
  readonly say: (message: string) => void;
}

async function run(servers: Servers, { cases, plan, monitor, say }: Work): Promise<Result[]> {
  say(`${plan.rounds} rounds of 2 × ${plan.turnMs / 1_000} s for each case …`);
  const results: Result[] = [];
  for (const each of cases) {
    const result = await measure(each, servers, plan, monitor);
    say(`  ${each.name} ${median(result.ratios).toFixed(2)}`);
    results.push(result);
  }
  return results;
}

const { key } = userOf(0);
const memory = { type: "fix", title: "A title", content: "Some content." };
const create = (changes: object): Ask => ({
  method: "POST",
  path: "/v1/memories",
  key,
  body: JSON.stringify({ ...memory, ...changes }),
});

/** What both must refuse, with the same status: the floor has the same checks. */
const REFUSED: readonly Ask[] = [
  { method: "GET", path: `/v1/memories/${memoryId(0)}`, key: "mg_live_unknown" },
  { method: "GET", path: "/v1/memories/none", key },
  // Another user's.
  { method: "GET", path: `/v1/memories/${memoryId(1)}`, key },
  { method: "GET", path: `/v1/memories/${memoryId(1)}/related`, key },
  { method: "GET", path: `/v1/memories/${memoryId(0)}?unknown=1`, key },
  { method: "GET", path: "/v1/memories/search", key },
  { method: "GET", path: "/v1/memories/search?query=%20", key },
  { method: "GET", path: `/v1/memories/search?query=${"x".repeat(1_001)}`, key },
  create({ type: "No Type" }),
  create({ title: "" }),
  create({ title: "\u200b" }),
  create({ title: "x".repeat(501) }),
  create({ title: "\ud800" }),
  create({ content: "nul \0" }),
  create({ content: "x".repeat(50_001) }),
  create({ summary: "x".repeat(1_001) }),
  create({ tags: Array.from({ length: 51 }, (_, index) => `tag${index}`) }),
  create({ tags: ["x".repeat(101)] }),
  create({ importance: 1.01 }),
  create({ unknown: 1 }),
];

interface Report {
  readonly results: readonly Result[];
  readonly memoryMb: { readonly service: number; readonly floor: number };
  readonly plan: Plan;
}

function print({ results, memoryMb, plan }: Report, { json, quick }: Options): void {
  const machine = { cpu: cpus()[0]?.model ?? "unknown", cores: availableParallelism(), node: process.version };
  if (json) {
    console.log(JSON.stringify({ machine, load: loadavg()[0], plan, results, memoryMb }));
    return;
  }
  console.log(`
${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, load ${loadavg()[0]?.toFixed(1)}
${MEMORIES} memories, ${RELATIONSHIPS} relationships, ${GRAPHS} graphs; ${plan.rounds} rounds of ${plan.turnMs / 1_000} s
floor → service; µs of CPU for a request

${tableOfResults(results)}

Memory (resident): ${memoryMb.floor} → ${memoryMb.service} MB`);
  if (quick) console.log("These rounds are too few and too short to rely on.");
}

function tableOfResults(results: readonly Result[]): string {
  const head = ["case", "ratio", "range", "target", "requests/s", "p50 ms", "p99 ms", "Node µs", "PostgreSQL µs"];
  const rows = results.map(({ name, target, ratios, floor, service }) => {
    const both = (value: (figures: typeof floor) => number | undefined, digits: number) =>
      [floor, service].map((figures) => value(figures)?.toFixed(digits) ?? "?").join(" → ");
    return [
      name,
      median(ratios).toFixed(2),
      `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
      target === undefined ? "" : `${target} ${median(ratios) >= target ? "met" : "MISSED"}`,
      both(({ requestsPerSecond }) => requestsPerSecond, 0),
      both(({ p50Ms }) => p50Ms, 2),
      both(({ p99Ms }) => p99Ms, 2),
      both(({ nodeCpuMicroseconds }) => nodeCpuMicroseconds, 0),
      both(({ postgresCpuMicroseconds }) => postgresCpuMicroseconds, 0),
    ];
  });
  return tableOf(head, rows);
}

await runCommand(program, import.meta.url);
