import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { EXPORT_VERSION } from "../export-version.js";
import { UnfitExport } from "./import-stopped.js";
import { parseStrictly } from "./json-text.js";
import { type JsonObject, encodingOf, isObject } from "./text.js";

/** A line of an export. */
export type ExportLine =
  | { readonly kind: "start"; readonly memories: unknown; readonly relationships: unknown; readonly version?: unknown }
  | { readonly kind: "memory" | "relationship"; readonly fields: JsonObject }
  /** Without counts, as in earlier exports, those of the start apply. */
  | { readonly kind: "end"; readonly memories?: unknown; readonly relationships?: unknown };

/** A format of the service's own exports, in which each record has its own line. */
export interface ExportFormat {
  /** What the first line looks like. */
  readonly begins: RegExp;
  /** Parses a line; undefined if it is not a line of an export. */
  readonly read: (line: string) => ExportLine | "nothing" | undefined;
}

const JSON_LINES: ExportFormat = {
  begins: /^\{"record":"graph","format":"memory-graph",/,
  read(line) {
    const parsed = parseStrictly(line);
    if (!isObject(parsed)) return undefined;
    const { record, ...fields } = parsed;
    const { memories, relationships } = fields;
    if (record === "graph") return { kind: "start", memories, relationships, version: fields["format_version"] };
    if (record === "end") return { kind: "end", memories, relationships };
    return record === "memory" || record === "relationship" ? { kind: record, fields } : "nothing";
  },
};

const OPENING = ',"memories":[';

/** The JSON of MemoryGraph as this service writes it: the lists' brackets and each record have their own lines. */
const MEMORY_GRAPH: ExportFormat = {
  begins:
    /^\{"format_version":"2\.0","export_version":"1\.0","export_date":"[^"]{1,40}","memory_count":\d+,[^[\]\n]{0,500}"memories":\[\r?(?:\n|$)/,
  read(line) {
    if (line === '],"relationships":[') return "nothing";
    if (line === "]}") return { kind: "end" };
    const counts = parseStrictly(/^\],"exported":(\{.{1,100}\})\}$/.exec(line)?.[1] ?? "");
    if (isObject(counts)) return { kind: "end", memories: counts["memories"], relationships: counts["relationships"] };
    const isStart = line.endsWith(OPENING);
    const text = isStart ? `${line.slice(0, -OPENING.length)}}` : line.replace(/,$/, "");
    const fields = parseStrictly(text);
    if (!isObject(fields)) return undefined;
    const { memory_count: memories, relationship_count: relationships } = fields;
    if (isStart) return { kind: "start", memories, relationships };
    const { from_memory_id: from, to_memory_id: to, properties, ...others } = fields;
    if (from === undefined) return { kind: "memory", fields };
    return { kind: "relationship", fields: { ...others, from, to, ...(isObject(properties) && properties) } };
  },
};

/** The formats by their names. */
export const EXPORT_FORMATS = { jsonl: JSON_LINES, memorygraph: MEMORY_GRAPH } as const;

const BEGINNING_BYTES = 1_024;

/** The format of an export of this service; undefined for any other file, and for one that cannot be read. */
export async function exportFormatOf(place: string): Promise<ExportFormat | undefined> {
  try {
    await using file = await open(place);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGINNING_BYTES), 0, BEGINNING_BYTES, 0);
    const beginning = new TextDecoder(encodingOf(buffer)).decode(buffer.subarray(0, bytesRead));
    return Object.values(EXPORT_FORMATS).find(({ begins }) => begins.test(beginning));
  } catch {
    return undefined;
  }
}

/**
 * Reads an export line by line.
 * @param lengthMax UTF-16 units of a line.
 * @throws UnfitExport for a line that is longer, or is not a record.
 */
export async function* readExport(place: string, format: ExportFormat, lengthMax: number): AsyncGenerator<ExportLine> {
  for await (const line of linesOf(place, lengthMax)) {
    const said = format.read(line);
    if (said === undefined) {
      throw new UnfitExport(`${place} has a line that is no record: ${line.slice(0, 60)}. Export again.`);
    }
    if (said === "nothing") continue;
    if (said.kind === "start" && Number(said.version) > EXPORT_VERSION) {
      throw new UnfitExport(
        `${place} is an export of a newer version of this service (its format is ${Number(said.version)}, not ` +
          `${EXPORT_VERSION}). Update this program and the server, and import it again.`,
      );
    }
    yield said;
  }
}

/**
 * Splits a file into lines, also at CRLF, which editors, shells and Git may write. Holds at most one line and one
 * chunk.
 */
async function* linesOf(place: string, lengthMax: number): AsyncGenerator<string> {
  let rest = "";
  const assertShort = () => {
    if (rest.length <= lengthMax) return;
    throw new UnfitExport(
      `${place} has a line of more than ${lengthMax.toLocaleString("en")} characters: it is no export. Export again.`,
    );
  };
  for await (const text of textOf(place)) {
    const [first = "", ...others] = text.split("\n");
    rest += first;
    assertShort();
    for (const next of others) {
      const line = rest.replace(/\r$/, "");
      if (line !== "") yield line;
      rest = next;
      assertShort();
    }
  }
  if (rest !== "") yield rest;
}

/**
 * Decodes a file in chunks, without a byte order mark.
 * @throws UnfitExport if it is not text.
 */
async function* textOf(place: string): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const chunk of createReadStream(place) as AsyncIterable<Buffer>) {
    decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true });
    try {
      yield decoder.decode(chunk, { stream: true });
    } catch {
      throw new UnfitExport(`${place} is not text in UTF-8: it was changed since it was written. Export again.`);
    }
  }
}
