import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Option } from "commander";
import { callService, notServed, stoppedBy } from "../import/call-service.js";
import { RecordCount, countRecords } from "../import/count-records.js";
import { EXPORT_FORMATS } from "../import/export-lines.js";
import { ImportStopped, KEY_REFUSED, NO_TEAM, assertKeyFits } from "../import/import-stopped.js";
import { showProgress } from "../import/progress.js";
import { FIRST_BACKOFF_MS, RATE_LIMITED, RATE_WAITS_MAX, retryAfterMs } from "../import/rate-limit-wait.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { type GraphChoice, graphOption, keyOption, type ServiceOptions, urlOption } from "./service-options.js";
import { graphInWords } from "./table.js";
import { writeWholeFile } from "./write-whole-file.js";

interface Options extends ServiceOptions {
  readonly graph?: GraphChoice;
  readonly format: keyof typeof EXPORT_FORMATS;
  readonly json?: true;
}

export const program = commandLine({
  script: "export",
  description: "Writes a whole graph of this service to a file, from which `npm run import` restores it.",
  examples: [
    "npm run export -- graph.json --format memorygraph --graph personal",
    "MEMORY_GRAPH_KEY=mg_live_… npm run export -- graph.jsonl",
  ],
  notes:
    "In the format jsonl, each line is a record: memories, then relationships, with ids, times and authors, between\n" +
    "two that say how many there are. Earlier versions of memories are left out. The file appears when it is complete.",
})
  .argument("<file>", "the file to write; one that exists is replaced")
  .addOption(keyOption())
  .addOption(urlOption())
  .addOption(graphOption("export"))
  .addOption(
    new Option("--format <format>", "jsonl, or the JSON of MemoryGraph")
      .choices(Object.keys(EXPORT_FORMATS))
      .default("jsonl"),
  )
  .option(...JSON_OPTION)
  .action(exportFile);

async function exportFile(file: string, options: Options): Promise<void> {
  const count = new RecordCount();
  let progress: ReturnType<typeof showProgress> | undefined;
  const onRecords = (records: number) => {
    progress ??= showProgress({
      total: count.announced,
      stream: process.stderr,
      secondsLeft: (steps, each = 0) => steps * each,
    });
    progress.step(records);
  };
  try {
    await writeWholeFile(file, async (openPartial) => {
      const format = EXPORT_FORMATS[options.format];
      const counting = countRecords({ url: options.url, format, count, onRecords });
      await pipeline(await ask(options), counting, openPartial()).catch((error: unknown) => {
        throw error instanceof ImportStopped || isFileProblem(error) ? error : new ImportStopped(BROKEN);
      });
      if (!count.isComplete) throw new ImportStopped(BROKEN);
    });
  } finally {
    progress?.[Symbol.dispose]();
  }
  const { memories, relationships } = count.read;
  if (options.json) console.log(JSON.stringify({ file, memories, relationships }));
  else console.log(`Wrote ${graphInWords(memories, relationships)} to ${file}.`);
}

const BROKEN = "The connection broke before the export was complete, so nothing was written. Try again.";

const isFileProblem = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && ["open", "write", "fsync"].includes(String(error.syscall));

/** Asks for the export, and waits for the rate limit as an import does. */
async function ask({ key, url, graph, format }: Options): Promise<Readable> {
  if (!key) throw new ImportStopped("An API key is needed: set MEMORY_GRAPH_KEY, or give --key.");
  const query = new URLSearchParams({ format, ...(graph && { graph }) });
  assertKeyFits(key);
  const headers = { authorization: `Bearer ${key}` };
  const send = () =>
    callService(url, `/v1/export?${query}`, { headers }).catch((error: unknown) => {
      throw stoppedBy(url, error);
    });
  let answer = await send();
  for (let waits = 0; answer.status === 429 && waits < RATE_WAITS_MAX; waits++) {
    await answer.body?.cancel();
    const waitMs = retryAfterMs(answer.headers) ?? FIRST_BACKOFF_MS;
    console.error(`Waiting ${Math.ceil(waitMs / 1_000)} s: ${RATE_LIMITED}.`);
    await sleep(waitMs);
    answer = await send();
  }
  if (answer.ok && answer.body) return Readable.fromWeb(answer.body);
  if (answer.status === 401) throw new ImportStopped(KEY_REFUSED);
  const body = (await answer.json().catch(() => ({}))) as {
    readonly error?: { readonly message?: string; readonly reason?: string };
  };
  if (body.error?.reason === "no_team") throw new ImportStopped(NO_TEAM);
  throw body.error?.message ? new ImportStopped(body.error.message) : notServed(url, answer.status);
}

await runCommand(program, import.meta.url);
