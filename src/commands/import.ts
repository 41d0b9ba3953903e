import { Option } from "commander";
import { dryRun } from "../import/dry-run.js";
import { estimateSeconds, showDuration } from "../import/estimate.js";
import type { ImportedGraph } from "../import/graph.js";
import { Refused } from "../import/graph-store.js";
import { ImportStopped } from "../import/import-stopped.js";
import { showProgress } from "../import/progress.js";
import { readGraphFile } from "../import/read-file.js";
import { plainReport, textReport } from "../import/report.js";
import { type ImportReport, newReport, runImport } from "../import/run-import.js";
import { ServiceClient } from "../import/service-client.js";
import { LIMITS } from "../limits.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";

interface Options {
  readonly key?: string;
  readonly url: string;
  readonly graph?: "personal" | "team";
  readonly dryRun?: true;
  readonly allowPartial?: true;
  readonly createMissing?: true;
  readonly json?: true;
}

const EXIT_LEFT_OUT = 3;
const EXIT_INTERRUPTED = 130;

const NOTES = `What is read: one JSON object a line, or one JSON value for the whole file. Each object is known by its fields:
  a memory        a name or title, and what is known: observations, facts, content, text or the like
  a relationship  two ends: from and to, source and target, from_entity and to_entity or the like; also within a memory
Fields that a memory or relationship has no place for become lines of its content or context: "status: open".
Ids, versions, times of creation and embeddings are counted in the report alone: the service has its own.

Running it again adds nothing that is there already; a memory that has gained observations or tags since is updated.
Memories that are lists of observations get the tag mcp-memory, by which a later run finds them: leave it on them.

The report says for all that was read whether it was made, was there already, is a repeat or was left out, and why.`;

export const program = commandLine({
  script: "import",
  description: "Brings the memories of another tool into a graph of this service, over its REST API.",
  examples: [
    "npm run import -- memory.jsonl --dry-run",
    "MEMORY_GRAPH_KEY=mg_live_… npm run import -- memory.jsonl --url https://memory.example.com",
    "npm run import -- export.json --graph team --allow-partial",
    "npm run --silent import -- memory.jsonl --json",
  ],
  notes: NOTES,
  exitCodes:
    `${EXIT_LEFT_OUT} when all of the file was read and something of it was left out (0 with --allow-partial);\n` +
    `${EXIT_INTERRUPTED} after Ctrl-C. Running it again goes on from there.`,
})
  .argument("<file>", "memory.jsonl or memory.json of an MCP memory server, or a JSON export of memories")
  .addOption(
    new Option("--key <key>", "API key; the variable is better, as no shell history keeps it").env("MEMORY_GRAPH_KEY"),
  )
  .addOption(
    new Option("--url <address>", "where the service answers").env("MEMORY_GRAPH_URL").default("http://127.0.0.1:4000"),
  )
  .addOption(
    new Option("--graph <graph>", "the graph to import into (default: the team's, else your own)").choices([
      "personal",
      "team",
    ]),
  )
  .option("--dry-run", "change nothing, only say what would be done; without a key, as for an empty graph")
  .option("--allow-partial", "exit with 0 also when something was left out")
  .option(
    "--create-missing",
    "make a memory of each name that only relationships speak of, instead of leaving these out",
  )
  .option(...JSON_OPTION)
  .action(importFile);

async function importFile(file: string, options: Options): Promise<void> {
  const graph = await readGraphFile(file, options);
  const interrupt = new AbortController();
  // It stays until the end: npm passes a signal on that the terminal has sent already, and the second must not kill.
  process.on("SIGINT", () => interrupt.abort());
  const report = newReport(graph);
  try {
    await runWithProgress(graph, { options, report, interrupt: interrupt.signal });
  } catch (error) {
    if (options.json) console.log(JSON.stringify(plainReport(report, { isComplete: false })));
    if (interrupt.signal.aborted) {
      console.error(`Stopped. ${soFar(report, options)}`);
      process.exitCode = EXIT_INTERRUPTED;
      return;
    }
    const isKnown = error instanceof ImportStopped || error instanceof Refused;
    throw isKnown ? new ImportStopped(`${error.message}\n${soFar(report, options)}`) : error;
  }
  if (options.json) console.log(JSON.stringify(plainReport(report, { isComplete: true })));
  else console.log(`${headline(file, options)}\n\n${textReport(report)}`);
  if (report.notTaken.length > 0 && !options.allowPartial) process.exitCode = EXIT_LEFT_OUT;
}

interface Run {
  readonly options: Options;
  readonly report: ImportReport;
  readonly interrupt: AbortSignal;
}

/** Says what was found and how long it will take, and then how far it is; all on standard error. */
async function runWithProgress(graph: ImportedGraph, { options, report, interrupt }: Run): Promise<void> {
  const pausing = { tell: (_seconds: number, _why: string) => {} };
  const client = clientOf(options, interrupt, (seconds, why) => pausing.tell(seconds, why));
  const found = `Found ${count(graph.notes.size, "memory", "memories")} and ${count(graph.links.size, "relationship")}`;
  console.error(client ? `${found}. Looking at what is there already …` : `${found}: ${timeByPlan(graph)}.`);
  using progress = showProgress({
    total: graph.notes.size + graph.links.size,
    stream: process.stderr,
    secondsLeft: (steps, each) => estimateSeconds(steps, client?.budget, each),
  });
  pausing.tell = progress.pause;
  await runImport(graph, {
    store: options.dryRun || !client ? dryRun(client) : client,
    report,
    onStep: progress.step,
    onPlan: (requests) => {
      if (!client) return;
      const time = showDuration(estimateSeconds(requests, client.budget));
      console.error(
        `${count(requests, "change")} to ${options.dryRun ? "make, which would take" : "make: this takes"} about ${time}.`,
      );
    },
  });
}

const count = (number: number, one: string, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/** How long an import into an empty graph takes, where no key says whose it is. */
function timeByPlan({ notes, links }: ImportedGraph): string {
  const times = Object.entries(LIMITS.budgets.requestsByPlan).map(([plan, quota]) => {
    const windowSeconds = LIMITS.budgets.windowMs / 1_000;
    const budget = { quota, windowSeconds, left: quota, resetSeconds: windowSeconds };
    return `${showDuration(estimateSeconds(notes.size + links.size, budget))} on the plan ${plan}`;
  });
  return `into an empty graph, about ${times.join(", ")}`;
}

const headline = (file: string, { url, dryRun }: Options): string =>
  dryRun ? `Nothing was changed. Importing ${file} into ${url} would come to this:` : `Imported ${file} into ${url}.`;

function clientOf(
  { key, url, graph, dryRun }: Options,
  signal: AbortSignal,
  onPause: (seconds: number, why: string) => void,
): ServiceClient | undefined {
  if (key) return new ServiceClient({ url, key, graph, signal, onPause });
  if (dryRun) return undefined;
  throw new ImportStopped(
    "An API key is needed: set MEMORY_GRAPH_KEY to it, or give --key. `npm start` prints that of the demo user; " +
      "`npm run user -- create --email <address>` makes a user with one.",
  );
}

function soFar({ memories, relationships }: ImportReport, { dryRun }: Options): string {
  const memoriesDone = memories.created + memories.updated + memories.existing;
  if (dryRun || memoriesDone === 0) return "Nothing was imported.";
  const relationshipsDone = relationships.created + relationships.existing;
  return (
    `Memories in the graph so far: ${memoriesDone}; relationships: ${relationshipsDone}. ` +
    "Run the same command again: it goes on from there."
  );
}

await runCommand(program, import.meta.url);
