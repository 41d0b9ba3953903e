/**
 * The floor: the lowest possible cost of the cases. A server written by hand for only these requests, with the same SQL
 * statements, the same look-up of the key, the same checks of the input and the same answers, and nothing else: no
 * framework, no GraphQL (it knows the five documents by their texts), no rate limit, no log.
 */
import { isUtf8 } from "node:buffer";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Order, serve } from "./child.js";
import { DOCUMENTS } from "./documents.js";
import { graphqlHits, graphqlMemory, graphqlNested, graphqlRelated, restMemory, restRelated } from "./floor-answers.js";
import { Refusal, isObject, newMemory } from "./floor-input.js";
import { type Caller, type Work, openWork } from "./floor-work.js";

interface Answer {
  readonly status: number;
  readonly body: object;
}

const MEMORIES = "/v1/memories";
const BODY_MAX_BYTES = 1_048_576;

let work: Work;

serve(async (order: Order) => {
  work = openWork(order);
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return (server.address() as AddressInfo).port;
});

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = await answerTo(request).catch(refusal);
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", "Content-Length": length });
  response.end(text);
}

function refusal(error: unknown): Answer {
  if (error instanceof Refusal) return { status: error.status, body: { error: { code: "refused" } } };
  throw error;
}

async function answerTo(request: IncomingMessage): Promise<Answer> {
  const caller = await work.callerOf(request.headers.authorization);
  const url = request.url ?? "";
  const queryAt = url.indexOf("?");
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  if (path === "/graphql" && request.method === "POST") return graphqlAnswer(caller, await jsonOf(request));
  if (path === MEMORIES && request.method === "POST") {
    return { status: 201, body: restMemory(await work.create(caller, newMemory(await jsonOf(request)))) };
  }
  if (request.method !== "GET" || !path.startsWith(`${MEMORIES}/`)) throw new Refusal(404);
  const rest = path.slice(MEMORIES.length + 1);
  if (rest === "search") {
    const parameters = new URLSearchParams(url.slice(queryAt));
    for (const name of parameters.keys()) if (name !== "query") throw new Refusal(400);
    const hits = await work.find(caller, parameters.get("query"), true);
    const { memories, total, totalIsCapped: total_is_capped, unknownWords } = hits;
    const unknown_words = unknownWords.map(({ word, takenAs }) => ({ word, taken_as: takenAs }));
    return { status: 200, body: { memories, total, total_is_capped, unknown_words, truncated: false, meaning: false } };
  }
  if (queryAt >= 0) throw new Refusal(400);
  if (rest.endsWith("/related")) {
    const { memories, truncated } = await work.related(caller, rest.slice(0, -"/related".length));
    return { status: 200, body: { memories: memories.map(restRelated), truncated } };
  }
  return { status: 200, body: restMemory(await work.memoryAt(caller, rest, "memoryWithLinks")) };
}

async function jsonOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  if (!/^application\/json\b/.test(request.headers["content-type"] ?? "")) throw new Refusal(415);
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on("data", (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > BODY_MAX_BYTES) reject(new Refusal(413));
    });
    request.on("end", () => resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)));
    request.on("error", reject);
  });
  if (!isUtf8(bytes)) throw new Refusal(400);
  try {
    const body: unknown = JSON.parse(bytes.toString());
    if (isObject(body)) return body;
  } catch {
    // Refused by the check just below.
  }
  throw new Refusal(400);
}

async function graphqlAnswer(caller: Caller, { query, variables }: Record<string, unknown>): Promise<Answer> {
  if (!isObject(variables)) throw new Refusal(400);
  return { status: 200, body: { data: await dataOf(caller, query, variables) } };
}

async function dataOf(caller: Caller, query: unknown, variables: Record<string, unknown>): Promise<object> {
  switch (query) {
    case DOCUMENTS.get:
      return { memory: graphqlMemory(await work.memoryAt(caller, variables["id"], "memoryAlone")) };
    case DOCUMENTS.related: {
      const { memories } = await work.related(caller, variables["id"]);
      return { relatedMemories: { memories: memories.map(graphqlRelated) } };
    }
    case DOCUMENTS.create: {
      const { input } = variables;
      if (!isObject(input)) throw new Refusal(400);
      return { createMemory: graphqlMemory(await work.create(caller, newMemory(input))) };
    }
    case DOCUMENTS.search:
      return { searchMemories: graphqlHits(await work.find(caller, variables["query"], false)) };
    case DOCUMENTS.nested:
      return { memory: await nested(caller, variables["id"]) };
    default:
      throw new Refusal(400);
  }
}

/** One statement for each level. */
async function nested(caller: Caller, id: unknown): Promise<object> {
  const memory = await work.memoryAt(caller, id, "memoryWithRelationships");
  const ids = [...new Set(memory.relationships.map(([, , , otherId]) => otherId))];
  return graphqlNested(memory, ids.length === 0 ? [] : await work.memoriesAt(caller, ids, "memoryWithRelationships"));
}
