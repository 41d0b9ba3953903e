import { type FileHandle, open } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { LIMITS } from "../limits.js";
import type { FinishOptions } from "./draft.js";
import type { ImportedGraph } from "./graph.js";
import { ImportStopped, showReasons } from "./import-stopped.js";
import { GraphReader } from "./read-graph.js";
import { adviceFor, encodingOf, isNote } from "./text.js";

const CHUNK_BYTES = 1_048_576;

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file",
  ENOTDIR: "There is no such file",
  EISDIR: "This is a folder, not a file",
  EACCES: "You have no permission to read this file",
  EPERM: "You have no permission to read this file",
};

const TO_NOTES = "Convert it to Markdown notes, one for each of its notes, and import their folder.";

/** What to do with files of other programs, in which each line would be refused. */
const CONVERSIONS: Readonly<Record<string, string>> = {
  ".csv":
    'Write each row as a line of JSON, such as {"title": "Deploy", "content": "On Tuesdays."}, and import that file.',
  ".enex": TO_NOTES,
  ".org": TO_NOTES,
};

interface ReadOptions extends FinishOptions {
  readonly bytesMax?: number;
}

/** @throws ImportStopped when the file cannot be read, or contains no memory. */
export async function readGraphFile(path: string, options: ReadOptions = {}): Promise<ImportedGraph> {
  const place = resolve(path);
  const graph = await readWhole(place, options);
  if (graph.notes.size > 0) return graph;
  if (isNote(place)) throw new ImportStopped(`${place} is a note. Give the folder that it is in.`);
  const conversion = CONVERSIONS[extname(place).toLowerCase()];
  if (conversion !== undefined) throw new ImportStopped(`There are no memories in ${place}. ${conversion}`);
  throw new ImportStopped(
    `There are no memories in ${place}.${showReasons(graph)}\nGive a memory.jsonl or memory.json of an MCP memory ` +
      "server, or a JSON export of memories: --help says what their lines look like.",
  );
}

async function readWhole(place: string, options: ReadOptions): Promise<ImportedGraph> {
  try {
    await using file = await open(place);
    return await readChunks(file, place, options);
  } catch (error) {
    const problem = error instanceof Error && "code" in error ? PROBLEMS[String(error.code)] : undefined;
    throw problem === undefined ? error : new ImportStopped(`${problem}: ${place}`);
  }
}

async function readChunks(file: FileHandle, place: string, options: ReadOptions): Promise<ImportedGraph> {
  const { bytesMax = LIMITS.importFile.bytes } = options;
  const reader = new GraphReader();
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let bytes = 0;
  let lines = 1;
  const push = (chunk: Buffer, stream: boolean) => {
    const advice = decoder ? undefined : adviceFor(chunk);
    if (advice !== undefined) throw new ImportStopped(`${place} ${advice}`);
    decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true });
    let text: string;
    try {
      text = decoder.decode(chunk, { stream });
    } catch {
      throw new ImportStopped(`${place} is not text in UTF-8, from line ${lines} on. Save it as UTF-8 and try again.`);
    }
    lines += text.split("\n").length - 1;
    reader.push(text);
  };
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
    bytes += bytesRead;
    if (bytes > bytesMax) {
      throw new ImportStopped(`${place} has more than ${bytesMax} bytes. Split it and import the parts.`);
    }
    push(buffer.subarray(0, bytesRead), bytesRead > 0);
    if (bytesRead === 0) return reader.end(options);
  }
}
