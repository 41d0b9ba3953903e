import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import { json } from "node:stream/consumers";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { memories } from "../../src/features/memories/list-memories.js";
import type { FinishOptions } from "../../src/import/draft.js";
import type { ImportedGraph } from "../../src/import/graph.js";
import { GraphReader } from "../../src/import/read-graph.js";
import { type ImportReport, newReport, runImport } from "../../src/import/run-import.js";
import { type ClientOptions, ServiceClient } from "../../src/import/service-client.js";
import { aFolder } from "./folder.js";
import { listen } from "./listening.js";
import type { Actor } from "./world.js";

export const entity = (name: string, entityType: string, ...observations: unknown[]) => ({
  type: "entity",
  name,
  entityType,
  observations,
});
export const relation = (from: string, relationType: string, to: string) => ({
  type: "relation",
  from,
  to,
  relationType,
});
export const jsonLines = (...lines: unknown[]) => lines.map((line) => JSON.stringify(line)).join("\n");

/** Creates a folder with these files; it is removed after the test. */
export async function folderWith(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const folder = await aFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** Two entities and a relation. */
export const RETRY = [
  entity("Retry", "CodePattern", "Waits longer each time", "Gives up after five"),
  entity("Client", "Component", "Talks to the service"),
  relation("Client", "relies on", "Retry"),
];

/** An export of MemoryGraph. */
export const EXPORT = {
  format_version: "2.0",
  export_version: "1.0",
  backend_type: "sqlite",
  memories: [
    {
      id: "m1",
      type: "code_pattern",
      title: "Retry",
      content: "Wait longer.",
      summary: "Backoff",
      tags: ["net"],
      importance: 0.9,
      confidence: 0.8,
      created_at: "2025-11-30T10:00:00+00:00",
      updated_at: "2025-11-30T10:00:00+00:00",
      context: { project_path: "/src/app", languages: ["go", "rust"], frameworks: [], additional_metadata: {} },
    },
    { id: "m2", type: "error", title: "Timeout", content: "Too slow.", summary: null, tags: [], importance: 0.5 },
    {
      id: "m3",
      type: "code_pattern",
      title: "Retry",
      content: "Wait longer.",
      confidence: 0.8,
      context: { project_path: "/src/app", languages: ["go", "rust"] },
    },
    { id: "m2", type: "error", title: "Other", content: "Another." },
    { type: "error" },
  ],
  relationships: [
    {
      from_memory_id: "m1",
      to_memory_id: "m2",
      type: "SOLVES",
      properties: { strength: 0.9, confidence: 0.7, context: "In staging", evidence_count: 2 },
    },
    { from_memory_id: "m3", to_memory_id: "m2", type: "SOLVES", properties: { context: null, evidence_count: 1 } },
    { from_memory_id: "m2", to_memory_id: "m9", type: "CAUSES", properties: {} },
  ],
};

/** The graph of a file's text. */
export function readText(text: string, options?: FinishOptions): ImportedGraph {
  const reader = new GraphReader();
  reader.push(text);
  return reader.end(options);
}

/** What was left out of a graph, in the words of reports. */
export const leftOut = ({ notTaken }: Pick<ImportedGraph, "notTaken">): string[] =>
  notTaken.map(({ what, reason }) => `${what}: ${reason}`);

export const linksOf = ({ links, notes }: ImportedGraph) =>
  Array.from(links.values(), ({ from, type, to, context }) => [
    notes.get(from)?.title,
    type,
    notes.get(to)?.title,
    context,
  ]);

/** A report with these counts; all others are 0, and nothing was left out. */
export const reportOf = (counts: { memories?: object; relationships?: object }) => ({
  memories: { created: 0, updated: 0, merged: 0, existing: 0, read: sumOf(counts.memories), ...counts.memories },
  relationships: {
    created: 0,
    merged: 0,
    existing: 0,
    read: sumOf(counts.relationships),
    ...counts.relationships,
  },
  others: { read: 0 },
  notTaken: [],
  ignored: [],
  notCarried: new Map(),
});

const sumOf = (counts: object = {}): number => Object.values(counts).reduce((sum, count) => sum + Number(count), 0);

export const clientOf = (url: string, key: string, more: Partial<ClientOptions> = {}) =>
  new ServiceClient({ url, key, signal: new AbortController().signal, onPause: () => {}, ...more });

export const importInto = (url: string, { key }: Actor, text: string) => runText(clientOf(url, key), text);

export async function runText(store: ServiceClient, text: string): Promise<ImportReport> {
  const graph = readText(text);
  const result = newReport(graph);
  await runImport(graph, { store, report: result, onStep: () => {} });
  return result;
}

/** A user's first hundred memories, sorted by title. */
export async function memoriesOf(actor: Actor) {
  const page = await actor.did(memories, { limit: 100 });
  return Object.fromEntries(page.memories.map((found) => [found.title, found]));
}

export async function fileWith(text: string | Buffer): Promise<string> {
  return join(await folderWith({ "memory.jsonl": text }), "memory.jsonl");
}

interface FakeAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

interface Bulk {
  readonly memories?: readonly unknown[];
  readonly relationships?: readonly unknown[];
}

const bulkAnswer = ({ memories: made = [], relationships = [] }: Bulk) => ({
  memory_ids: made.map(() => randomUUID()),
  relationship_ids: relationships.map(() => randomUUID()),
  existing_relationships: 0,
});

/** A fake service that is empty and accepts everything, unless `answer` returns another answer. */
export async function fakeService(answer: (request: IncomingMessage) => FakeAnswer | undefined) {
  const requests: IncomingMessage[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    const plain =
      request.method === "GET"
        ? { memories: [], next_cursor: null, storage: [] }
        : bulkAnswer((await json(request)) as Bulk);
    const { status, headers, body } = answer(request) ?? { status: request.method === "GET" ? 200 : 201, body: plain };
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body ?? { error: { code: "busy", message: "Not now." } }));
  };
  const server = createServer((request, response) => void respond(request, response));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, url: `http://127.0.0.1:${await listen(server)}` };
}
