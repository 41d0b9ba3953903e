import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Option } from "commander";
import { type ExportCounts, countRecords } from "../import/count-records.js";
import { ImportStopped, KEY_REFUSED, assertKeyFits } from "../import/import-stopped.js";
import { showProgress } from "../import/progress.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { type GraphChoice, graphOption, keyOption, type ServiceOptions, urlOption } from "./service-options.js";
import { graphInWords } from "./table.js";
import { writeWholeFile } from "./write-whole-file.js";

interface Options extends ServiceOptions {
  readonly graph?: GraphChoice;
  readonly format: "jsonl" | "memorygraph";
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
    "In the format jsonl, each line is a record: memories, then relationships, with ids, times and authors. The file\n" +
    "appears when it is complete.",
})
  .argument("<file>", "the file to write; one that exists is replaced")
  .addOption(keyOption())
  .addOption(urlOption())
  .addOption(graphOption("export"))
  .addOption(
    new Option("--format <format>", "jsonl, or the JSON of MemoryGraph")
      .choices(["jsonl", "memorygraph"])
      .default("jsonl"),
  )
  .option(...JSON_OPTION)
  .action(exportFile);

async function exportFile(file: string, options: Options): Promise<void> {
  const counts: ExportCounts = { memories: 0, relationships: 0, expected: undefined, isComplete: false };
  let progress: ReturnType<typeof showProgress> | undefined;
  const onRecords = (records: number) => {
    const { expected = 0 } = counts;
    progress ??= showProgress({
      total: expected,
      stream: process.stderr,
      secondsLeft: (steps, each = 0) => steps * each,
    });
    progress.step(records);
  };
  try {
    await writeWholeFile(file, async (openPartial) => {
      const body = await ask(options);
      const whole = options.format === "jsonl" ? countRecords(counts, onRecords) : undefined;
      const parts = [body, ...(whole ? [whole] : []), openPartial()] as const;
      await pipeline([...parts]).catch((error: unknown) => {
        throw isFileProblem(error) ? error : new ImportStopped(BROKEN);
      });
      if (whole && !counts.isComplete) throw new ImportStopped(BROKEN);
    });
  } finally {
    progress?.[Symbol.dispose]();
  }
  const { memories, relationships } = counts;
  if (options.json)
    console.log(JSON.stringify({ file, ...(options.format === "jsonl" && { memories, relationships }) }));
  else if (options.format === "jsonl") console.log(`Wrote ${graphInWords(memories, relationships)} to ${file}.`);
  else console.log(`Wrote the graph to ${file}.`);
}

const BROKEN = "The connection broke before the export was complete, so nothing was written. Try again.";

const isFileProblem = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && ["open", "write"].includes(String(error.syscall));

async function ask({ key, url, graph, format }: Options): Promise<Readable> {
  if (!key) throw new ImportStopped("An API key is needed: set MEMORY_GRAPH_KEY, or give --key.");
  const query = new URLSearchParams({ format, ...(graph && { graph }) });
  assertKeyFits(key);
  const answer = await fetch(`${url}/v1/export?${query}`, {
    headers: { authorization: `Bearer ${key}` },
  }).catch(() => {
    throw new ImportStopped(`${url} does not answer. Start the service there with \`npm start\`, or check --url.`);
  });
  if (answer.ok && answer.body) return Readable.fromWeb(answer.body);
  if (answer.status === 401) throw new ImportStopped(KEY_REFUSED);
  const body = (await answer.json().catch(() => ({}))) as { readonly error?: { readonly message?: string } };
  throw new ImportStopped(body.error?.message ?? `The server at ${url} is not this service (status ${answer.status}).`);
}

await runCommand(program, import.meta.url);
