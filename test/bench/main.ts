import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { built } from "./built.js";
import { CASES, type Case } from "./cases.js";
import { chartOf } from "./chart.js";
import { compare } from "./compare.js";
import type { Plan } from "./measure.js";
import { PEERS } from "./peers.js";
import { documentOf, reportOf } from "./report.js";
import { benchSearch, tableOfCosts } from "./search.js";

const { startEmbeddedPostgres } =
  await built<typeof import("../../src/platform/embedded/index.js")>("platform/embedded/index.js");
const { PROJECT } = await built<typeof import("../../src/platform/project.js")>("platform/project.js");
const { JSON_OPTION, commandLine, runCommand } =
  await built<typeof import("../../src/commands/command-line.js")>("commands/command-line.js");

interface Options {
  readonly case: readonly Case[];
  readonly peers?: true;
  readonly rounds?: number;
  readonly connections: readonly number[];
  readonly inserts: number;
  readonly quick?: true;
  readonly compare?: true;
  readonly profile?: true;
  readonly out?: string;
  readonly json?: true;
  readonly search?: true;
  readonly graph: readonly number[];
}

const SEARCH_SIZES: readonly number[] = [10_000, 100_000];
/** V8 has compiled what is used often after about 9,000 requests: the first 1,000 take the service six times the CPU. */
const FULL = { rounds: 9, turnMs: 1_500, warmUp: { requests: 10_000, ms: 15_000 } };
const QUICK = { rounds: 3, turnMs: 100, warmUp: { requests: 50, ms: 15_000 } };
const CONNECTIONS = 4;
/** Where the other servers take part, the service and the floor are compared once more with so many. */
const MORE_CONNECTIONS = 64;

const program = commandLine({
  script: "bench",
  description:
    "Compares the service with the floor, a server written by hand for the same requests on the same SQL: both serve " +
    "the same data, take turns, and are checked to answer alike. A ratio is the floor's time by the service's: 1 is " +
    "as fast as the floor, 0.5 takes twice as long.",
  notes:
    "It uses the PostgreSQL of DATABASE_URL (the user must be allowed to create databases), else the embedded one, in\n" +
    "node_modules/.cache/bench-postgres. The data are made once and kept.\n" +
    "With --peers other GraphQL servers take turns too, each with its own packages, which are installed once.",
  examples: [
    "npm run bench",
    "npm run bench -- --peers",
    "BENCH_MEMORIES=2000 npm run bench -- --compare",
    `npm run bench -- --quick --case "${CASES[0]?.name}"`,
    "npm run bench -- --connections 64 --inserts 5000",
    "npm run --silent bench -- --json > bench.json",
    "npm run bench -- --search --graph 1000000",
  ],
})
  .option("--case <name>", `only this case; may be repeated (${CASES.map(({ name }) => name).join(", ")})`, chosen, [])
  .option("--peers", `also ${PEERS.map(({ title }) => title).join("; ")}`)
  .option("--rounds <number>", `how often each takes its turn (${FULL.rounds})`, numbered)
  .option(
    "--connections <number>",
    "how many requests are under way at once, 32 from an address; repeated: the service and the floor once more " +
      `(${CONNECTIONS}, and with --peers ${MORE_CONNECTIONS})`,
    listed,
    [],
  )
  .option("--inserts <memories>", "how many memories to store before, without vacuuming afterwards", numbered, 0)
  .option("--profile", "also where Node's CPU goes (always with --peers)")
  .option("--quick", "few and short rounds: to see that it works, not how fast")
  .option("--compare", "only check that all answer alike")
  .option("--out <folder>", "where to write speed.md and speed.svg (docs, if all cases were measured with --peers)")
  .option(
    "--search",
    "what searches cost PostgreSQL instead, likely and hostile ones, in graphs of some sizes (on Linux)",
  )
  .option("--graph <memories>", "with --search: a graph of this size; may be repeated (10000 and 100000)", listed, [])
  .option(...JSON_OPTION)
  .action(bench);

function chosen(name: string, before: readonly Case[]): readonly Case[] {
  const found = CASES.find((known) => known.name === name);
  if (!found) throw new InvalidArgumentError("There is no such case.");
  return [...before, found];
}

function numbered(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError("It must be a number from 1 to 9999999.");
  return Number(text);
}

function listed(text: string, before: readonly number[]): readonly number[] {
  return [...before, numbered(text)];
}

async function bench(options: Options): Promise<void> {
  const say = (message: string) => void process.stderr.write(`${message}\n`);
  const given = process.env["DATABASE_URL"] || undefined;
  const embedded = given ? undefined : await startEmbeddedPostgres({ dataDir: "node_modules/.cache/bench-postgres" });
  try {
    const serverUrl = given ?? (await embedded?.administratorUrl()) ?? "";
    if (options.search) {
      const sizes = options.graph.length > 0 ? options.graph : SEARCH_SIZES;
      const costs = await benchSearch(serverUrl, sizes, say);
      console.log(options.json ? JSON.stringify(Object.fromEntries(costs)) : tableOfCosts(costs));
    } else await benchServers(serverUrl, options, say);
  } finally {
    await embedded?.stop();
  }
}

async function benchServers(serverUrl: string, options: Options, say: (message: string) => void): Promise<void> {
  const { inserts, peers, profile, quick, rounds, json } = options;
  const cases = options.case.length > 0 ? options.case : CASES;
  const byDefault = peers && !quick ? [CONNECTIONS, MORE_CONNECTIONS] : [CONNECTIONS];
  const [connections = CONNECTIONS, ...moreConnections] =
    options.connections.length > 0 ? options.connections : byDefault;
  const own = { ...(rounds === undefined ? {} : { rounds }), connections, profile: Boolean(peers ?? profile) };
  const plan: Plan = { ...(quick ? QUICK : FULL), ...own };
  const wishes = {
    cases,
    plan,
    moreConnections,
    inserts,
    peers: peers ? PEERS : [],
    onlyAnswers: options.compare ?? false,
  };
  const out = options.out ?? (peers && !quick && cases === CASES ? join(PROJECT, "docs") : undefined);
  // Before the long measurement: a folder that cannot be created ends the program at once.
  if (out !== undefined) mkdirSync(out, { recursive: true });
  const report = await compare(serverUrl, wishes, say);
  if (!report) return;
  console.log(json ? JSON.stringify(report) : reportOf(report));
  if (quick && !json) console.log("These rounds are too few and too short to rely on.");
  if (out === undefined) return;
  for (const [name, text] of Object.entries({ "speed.md": documentOf(report), "speed.svg": chartOf(report) })) {
    writeFileSync(join(out, name), text);
    say(`Wrote ${join(out, name)}.`);
  }
}

await runCommand(program, import.meta.url);
