import { isUtf8 } from "node:buffer";
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { ImportedGraph } from "./graph.js";
import { ImportStopped } from "./import-stopped.js";
import { readGraph } from "./read-graph.js";

/** All of a file is held in memory, several times over. */
const FILE_MAX_MIB = 256;

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file",
  ENOTDIR: "There is no such file",
  EISDIR: "This is a folder, not a file",
  EACCES: "This file may not be read",
  EPERM: "This file may not be read",
};

/** @throws ImportStopped when the file cannot be read or is in no known format. */
export async function readGraphFile(path: string): Promise<ImportedGraph> {
  const place = resolve(path);
  const bytes = await bytesOf(place);
  const graph = isUtf8(bytes) ? readGraph(new TextDecoder().decode(bytes)) : undefined;
  if (graph) return graph;
  throw new ImportStopped(
    `${place} is neither a memory.jsonl of the MCP memory server, nor its graph as one JSON object, nor a JSON ` +
      `export of MemoryGraph${isUtf8(bytes) ? "" : ": it is not text in UTF-8"}. Give one of these files.`,
  );
}

async function bytesOf(place: string): Promise<Buffer> {
  try {
    const { size } = await stat(place);
    if (size <= FILE_MAX_MIB * 2 ** 20) return await readFile(place);
  } catch (error) {
    const problem = error instanceof Error && "code" in error ? PROBLEMS[String(error.code)] : undefined;
    if (problem === undefined) throw error;
    throw new ImportStopped(`${problem}: ${place}`);
  }
  throw new ImportStopped(`${place} is larger than ${FILE_MAX_MIB} MiB. Split it and import the parts.`);
}
