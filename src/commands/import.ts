import { stat } from "node:fs/promises";
import { dryRun } from "../import/dry-run.js";
import { type ImportWork, estimateSeconds, requestsFor, secondsLeft, showDuration } from "../import/estimate.js";
import { type ExportFormat, exportFormatOf } from "../import/export-lines.js";
import { type ImportedGraph, bytesIn } from "../import/graph.js";
import { isRefusal } from "../import/graph-store.js";
import { ImportStopped, RefusedAgain } from "../import/import-stopped.js";
import { IMPORTED } from "../import/imported-id.js";
import { showProgress } from "../import/progress.js";
import { readGraphFile } from "../import/read-file.js";
import { readNotesFolder } from "../import/read-folder.js";
import { plainReport, textReport } from "../import/report.js";
import { newRestoreReport, restoreFile } from "../import/restore.js";
import { type ImportReport, newReport, runImport } from "../import/run-import.js";
import { ServiceClient } from "../import/service-client.js";
import { LIMITS } from "../limits.js";
import { WrongUse } from "./for-operator.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { type GraphChoice, graphOption, keyOption, type ServiceOptions, urlOption } from "./service-options.js";
import { graphInWords } from "./table.js";
import { countInWords } from "../wording.js";

interface Options extends ServiceOptions {
  readonly graph?: GraphChoice;
  readonly dryRun?: true;
  readonly allowPartial?: true;
  readonly createMissing?: true;
  readonly json?: true;
}

const EXIT_LEFT_OUT = 3;
const EXIT_INTERRUPTED = 130;
const NOTHING = "Nothing was imported.";
const AGAIN = "A call without an answer may have stored more. Run the same command again: it continues from there.";

const inMiB = (bytes: number): string => `${bytes / 1_048_576} MiB`;

const NOTES = `Files: one JSON object per line, or one JSON value for the whole file. Objects are recognised by their fields:
  a memory        a name or title, and its content: observations, facts, content, text or similar
  a relationship  two ends: from and to, source and target, from_entity and to_entity or similar; also inside a memory
That includes what mem0 lists (get_all), backups of OpenMemory, points of Qdrant, exports and backups of
mcp-memory-service, exports of MemoryGraph, nodes and edges of Graphiti, blocks and passages of Letta, issues and
memories of Beads, exports of Engram and claude-mem, memories of claude.ai, stores of claude-flow, notes of Google Keep
and Simplenote, and answers of MCP tools with any of these. Several values may follow each other in a file: put many
files into one with "cat *.json". Memories that are marked as deleted, and messages of chats, are left out.
Kept as they are: created_at, updated_at and expires_at (without a zone they are read as UTC; a day as its end in
expires_at), confidence, the context of MemoryGraph, and ids that are UUIDs, as client ids. Other ids, versions and
embeddings are only counted in the report; nodes that share a name get their ids as a part of it: "index.ts (src/a)".
Fields that memories do not have become lines of the content: "status: open".
Relationship types that say the same as a well-known one are stored as that: fixes as SOLVES, "caused by" as CAUSES
from the other memory. All others are kept: "part of" as PART_OF.
A file has at most ${inMiB(LIMITS.importFile.bytes)}.

Folders: each Markdown note is a memory, with its whole text, as Obsidian, Basic Memory, Logseq, Dendron and Foam keep
them, as agents keep rules, skills and memories, and as Joplin, Notion and MemoryGraph export them. Notes of a usual
name, such as README and SKILL, get that of their folder, too.
  front matter  title, type, tags, summary, importance, confidence, created, updated or date, an id that is a UUID;
                other fields become lines of the content; in YAML, or in simple TOML
  [[links]]     relationships LINKS_TO and EMBEDS; of the type in "- type [[Target]] (context)", "type: [[Target]]" and
                "type:: [[Target]]"
  [links](to)   the same, to a note of the folder, by its path or id
  #tags         tags; in a graph of Logseq also LINKS_TO, if a page has the name
  properties    of a page of Notion, below its title: tags, times, and relationships to other pages
  drawings      of Excalidraw: their texts and links, without their data
  decisions     "Date: 2024-03-05" above the first section of a record: created
  names         a day, as of daily notes, or a time in front, as in a Zettelkasten: created, unless the note says it
A link finds a note by path, title, name, permalink, alias or id. At most ${LIMITS.importFolder.files} files are read, with ${inMiB(LIMITS.importFolder.fileBytes)} each
and ${inMiB(LIMITS.importFolder.bytes)} together, in UTF-8. Symbolic links are not followed, hidden files
and node_modules not read.

An export of this service (npm run export, in either format) is restored as it is, with ids and times, at any size,
without --dry-run. In the format memorygraph, the file must not have been rewritten by another program.

Running it again, or twice at once, adds nothing that exists already; a memory with new observations or tags is updated.
A memory whose text was changed in the service is left as it is. A text that was changed in the file is another memory,
unless it has an id that was kept. Memories without such an id get a client id that begins with ${IMPORTED}
Memories that are lists of observations get the tag mcp-memory, by which a later run finds them: keep this tag.

The report shows how many items were created, existed already, were repeated or left out, and why.`;

export const program = commandLine({
  script: "import",
  description: "Brings the memories of another tool into a graph of this service, over its REST API.",
  examples: [
    "npm run import -- memory.jsonl --dry-run",
    "MEMORY_GRAPH_KEY=mg_live_… npm run import -- memory.jsonl --url https://memory.example.com",
    "npm run import -- export.json --graph team --allow-partial",
    "npm run import -- ~/notes --dry-run --create-missing",
    "npm run --silent import -- memory.jsonl --json",
  ],
  notes: NOTES,
  exitCodes:
    `${EXIT_LEFT_OUT} when the whole file was read and parts of it were left out (0 with --allow-partial);\n` +
    `${EXIT_INTERRUPTED} after Ctrl-C. Running it again continues from there.`,
})
  .argument("<file>", "memory.jsonl or memory.json of an MCP memory server, a JSON export, or a folder of notes")
  .addOption(keyOption())
  .addOption(urlOption())
  .addOption(graphOption("import into"))
  .option("--dry-run", "change nothing, only show what would be done; without a key, for an empty graph")
  .option("--allow-partial", "exit with 0 also when something was left out")
  .option(
    "--create-missing",
    "create a memory for each name that occurs only in relationships, instead of leaving these out",
  )
  .option(...JSON_OPTION)
  .action(importFile);

async function importFile(file: string, options: Options): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  const isFolder = found?.isDirectory();
  // The first bytes are read twice, which a pipe does not allow; opening one waits for its writer.
  if (found && !isFolder && !found.isFile()) {
    throw new ImportStopped(
      `"${file}" is neither a file nor a folder. Write what it gives to a file, and import that.`,
    );
  }
  const format = await exportFormatOf(file);
  if (format) return restoreExport(file, format, options);
  const graph = isFolder ? await readNotesFolder(file, options) : await readGraphFile(file, options);
  const interrupt = abortedByCtrlC();
  const report = newReport(graph);
  let hasBegun = false;
  try {
    const onBegin = () => void (hasBegun = !options.dryRun);
    await runWithProgress(graph, { options, report, interrupt, onBegin });
  } catch (error) {
    if (options.json) console.log(JSON.stringify(plainReport(report, { isComplete: false })));
    return endEarly(error, interrupt, hasBegun ? adviseAfter(error, soFar(report)) : NOTHING);
  }
  if (options.json) console.log(JSON.stringify(plainReport(report, { isComplete: true })));
  else console.log(`${headline(file, options)}\n\n${textReport(report)}`);
  if (report.notTaken.length > 0 && !options.allowPartial) process.exitCode = EXIT_LEFT_OUT;
}

/** Restores the graph of an export. After an interruption, the same command continues from there. */
async function restoreExport(file: string, format: ExportFormat, options: Options): Promise<void> {
  if (options.dryRun) {
    throw new WrongUse("An export of this service is restored as it is, without a dry run: leave out --dry-run.");
  }
  const report = newRestoreReport();
  const interrupt = abortedByCtrlC();
  let progress: ReturnType<typeof showProgress> | undefined;
  const client = clientOf(options, interrupt, (seconds, why) => progress?.pause(seconds, why));
  const onStart = async (records: number) => {
    await client.greet();
    const work = { items: records, bytes: (await stat(file)).size };
    const time = showDuration(estimateSeconds(requestsFor(work), client.budget));
    console.error(`Found an export of ${countInWords(records, "record", "records")}: this takes ${time}.`);
    progress?.[Symbol.dispose]();
    progress = showProgress({
      total: records,
      stream: process.stderr,
      secondsLeft: (steps, each) => secondsLeft(steps, work, { budget: client.budget, each }),
    });
  };
  try {
    const onStep = (records: number) => progress?.step(records);
    await restoreFile(file, { format, client, report, onStart, onStep }).finally(() => progress?.[Symbol.dispose]());
  } catch (error) {
    if (options.json) console.log(JSON.stringify({ complete: false, ...report }));
    const restored = `Restored so far: ${graphInWords(report.memories.restored, report.relationships.restored)}.`;
    return endEarly(error, interrupt, adviseAfter(error, restored));
  }
  const { memories, relationships } = report;
  if (options.json) console.log(JSON.stringify({ complete: true, ...report }));
  else {
    console.log(
      `Restored ${graphInWords(memories.restored, relationships.restored)} of ${file}. ` +
        `There already: ${graphInWords(memories.existing, relationships.existing)}.`,
    );
    const { skipped } = relationships;
    if (skipped > 0) {
      const what = countInWords(skipped, "relationship", "relationships");
      console.error(
        `Left out ${what} of memories that the export does not have: they were shared while it was written.`,
      );
    }
  }
}

/** How far it came, and that the same command continues from there, unless that would be refused, too. */
const adviseAfter = (error: unknown, done: string): string =>
  error instanceof RefusedAgain ? done : `${done} ${AGAIN}`;

/**
 * Says how far it came when Ctrl-C stopped it.
 * @throws the error otherwise, with the same if it is a refusal.
 */
function endEarly(error: unknown, interrupt: AbortSignal, done: string): void {
  if (!interrupt.aborted) throw isRefusal(error) ? new ImportStopped(`${error.message}\n${done}`) : error;
  console.error(`Stopped. ${done}`);
  process.exitCode = EXIT_INTERRUPTED;
}

/** A signal that Ctrl-C aborts, instead of ending the process. */
function abortedByCtrlC(): AbortSignal {
  const interrupt = new AbortController();
  // Not `once`: the terminal sends the signal, npm forwards it again, and the second one must not kill the process.
  process.on("SIGINT", () => interrupt.abort());
  return interrupt.signal;
}

interface Run {
  readonly options: Options;
  readonly report: ImportReport;
  readonly interrupt: AbortSignal;
  /** Called before the first change, which may be stored even if no answer arrives. */
  readonly onBegin: () => void;
}

/** Prints what was found, the estimated time and the progress, all on standard error. */
async function runWithProgress(graph: ImportedGraph, { options, report, interrupt, onBegin }: Run): Promise<void> {
  const onPause = (seconds: number, why: string) => progress.pause(seconds, why);
  const client = options.dryRun && !options.key ? undefined : clientOf(options, interrupt, onPause);
  const found = `Found ${graphInWords(graph.notes.size, graph.links.size)}`;
  console.error(client ? `${found}. Reading the existing memories …` : `${found}: ${timeByPlan(graph)}.`);
  const work = workOf(graph);
  using progress = showProgress({
    total: work.items,
    stream: process.stderr,
    secondsLeft: (steps, each) => secondsLeft(steps, work, { budget: client?.budget, each }),
  });
  await client?.greet();
  await runImport(graph, {
    store: options.dryRun || !client ? dryRun(client) : client,
    report,
    onStep: progress.step,
    onPlan: (plan) => {
      onBegin();
      if (!client) return;
      const { items, updates } = plan;
      const time = showDuration(estimateSeconds(requestsFor(plan), client.budget));
      console.error(
        `${countInWords(items + updates, "change", "changes")} to ${options.dryRun ? "make, which would take" : "make: this takes"} ${time}.`,
      );
    },
  });
}

/** The work of an import into an empty graph. */
const workOf = ({ notes, links }: ImportedGraph): ImportWork => ({
  items: notes.size + links.size,
  bytes: bytesIn(notes.values()),
});

/** The estimated time for an empty graph, by plan, when no key is given. */
function timeByPlan(graph: ImportedGraph): string {
  const times = Object.entries(LIMITS.budgets.requestsByPlan).map(([plan, quota]) => {
    const windowSeconds = LIMITS.budgets.windowMs / 1_000;
    const budget = { quota, windowSeconds, left: quota, resetSeconds: windowSeconds };
    return `${showDuration(estimateSeconds(requestsFor(workOf(graph)), budget))} on the plan ${plan}`;
  });
  return `into an empty graph, ${times.join(", ")}`;
}

const headline = (file: string, { url, dryRun }: Options): string =>
  dryRun
    ? `Nothing was changed. The result of importing ${file} into ${url} would be:`
    : `Imported ${file} into ${url}.`;

/** @throws ImportStopped without a key. */
function clientOf(
  { key, url, graph }: Options,
  signal: AbortSignal,
  onPause: (seconds: number, why: string) => void,
): ServiceClient {
  if (key) return new ServiceClient({ url, key, graph, signal, onPause });
  throw new ImportStopped(
    "An API key is needed: set MEMORY_GRAPH_KEY, or give --key. `npm start` prints the key of the demo user; " +
      "`npm run user -- create --email <address>` creates a user with a key.",
  );
}

function soFar({ memories, relationships }: ImportReport): string {
  const count = memories.created + memories.updated + memories.existing;
  return `Memories in the graph so far: ${count}; relationships: ${relationships.created + relationships.existing}.`;
}

await runCommand(program, import.meta.url);
