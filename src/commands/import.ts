import { Command, Option } from "commander";
import { dryRun } from "../import/dry-run.js";
import { Refused } from "../import/graph-store.js";
import { ImportStopped } from "../import/import-stopped.js";
import { showProgress } from "../import/progress.js";
import { readGraphFile } from "../import/read-file.js";
import { type ImportReport, newReport, runImport } from "../import/run-import.js";
import { ServiceClient } from "../import/service-client.js";

interface Options {
  readonly key?: string;
  readonly url: string;
  readonly graph?: "personal" | "team";
  readonly dryRun?: true;
  readonly json?: true;
}

const EXIT_INTERRUPTED = 130;
const NOT_TAKEN_SHOWN = 20;

const program = new Command("npm run import --")
  .description("Brings the memories of another tool into a graph of this service, over its REST API.")
  .argument(
    "<file>",
    "memory.jsonl of the MCP memory server, or its graph as one JSON object, or a JSON export of MemoryGraph",
  )
  .addOption(
    new Option("--key <key>", "API key; the variable is better, as no shell history keeps it").env("MEMORY_GRAPH_KEY"),
  )
  .option("--url <address>", "where the service answers", "http://127.0.0.1:4000")
  .addOption(
    new Option("--graph <graph>", "the graph to import into (default: the team's, else your own)").choices([
      "personal",
      "team",
    ]),
  )
  .option("--dry-run", "change nothing, only say what would be done; without a key, as for an empty graph")
  .option("--json", "print one JSON value and nothing else")
  .addHelpText(
    "after",
    `
Running it again adds nothing that is there already; a memory that has gained observations since is updated.
Memories from memory.jsonl get the tag mcp-memory, by which a later run finds them: leave it on them.
Ids, times and a memory's confidence are not carried over: the service gives its own.

What cannot be taken is listed with its reason, and the rest goes on. Exit codes: 0 when everything else was
taken, 1 when the import could not begin or go on, 130 after Ctrl-C. Running it again goes on from there.

Examples:
  export MEMORY_GRAPH_KEY=mg_live_…
  npm run import -- memory.jsonl --dry-run
  npm run import -- memory.jsonl
  npm run import -- export.json --graph team --url https://memory.example.com
  npm run --silent import -- memory.jsonl --json`,
  )
  .action(importFile);

async function importFile(file: string, options: Options): Promise<void> {
  const graph = await readGraphFile(file);
  const interrupt = new AbortController();
  // It stays until the end: npm passes a signal on that the terminal has sent already, and the second must not kill.
  process.on("SIGINT", () => interrupt.abort());
  const report = newReport(graph);
  try {
    using progress = showProgress(graph.notes.size + graph.links.size, process.stderr);
    const client = clientOf(options, interrupt.signal, progress.pause);
    const store = options.dryRun || !client ? dryRun(client) : client;
    await runImport(graph, { store, report, onStep: progress.step });
  } catch (error) {
    if (interrupt.signal.aborted) {
      console.error(`Stopped. ${soFar(report, options)}`);
      process.exitCode = EXIT_INTERRUPTED;
      return;
    }
    const isKnown = error instanceof ImportStopped || error instanceof Refused;
    throw isKnown ? new ImportStopped(`${error.message}\n${soFar(report, options)}`) : error;
  }
  if (options.json) console.log(JSON.stringify(plainReport(report)));
  else console.log(textReport(report, file, options));
}

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

/** The report as other programs read it, with REST's names. */
const plainReport = ({ memories, relationships, notTaken }: ImportReport) => ({
  memories,
  relationships,
  not_taken: notTaken,
});

function textReport(report: ImportReport, file: string, { url, dryRun }: Options): string {
  const { memories, relationships, notTaken } = report;
  const lines = [
    dryRun ? `Nothing was changed. Importing ${file} into ${url} would come to this:` : `Imported ${file} into ${url}.`,
    "",
    `  Memories       ${memories.created} made, ${memories.updated} updated, ${memories.existing} already there; ` +
      `${memories.merged} merged as repeats`,
    `  Relationships  ${relationships.created} made, ${relationships.existing} already there; ` +
      `${relationships.merged} merged as repeats`,
  ];
  if (notTaken.length > 0) lines.push("", `Not taken: ${notTaken.length}`);
  for (const { what, reason } of notTaken.slice(0, NOT_TAKEN_SHOWN)) lines.push(`  ${what}: ${reason}`);
  if (notTaken.length > NOT_TAKEN_SHOWN) lines.push(`  … --json lists all of them.`);
  return lines.join("\n");
}

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof ImportStopped ? error.message : error);
  process.exitCode = 1;
}
