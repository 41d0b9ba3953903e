/**
 * The floor: what the cases cost at the least. A server written by hand for these requests alone, on the same SQL
 * statements, with the same look at the key, the same checks of the input and the same answers, and with nothing else:
 * no framework, no GraphQL (it knows the five documents by their texts), no rate limit, no log.
 */
import { createHash, randomBytes } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import type { Statement } from "../../src/platform/database.js";
import { type Order, serve } from "./child.js";
import { DOCUMENTS } from "./documents.js";
import { built } from "./built.js";
import type { Statements } from "./statements.js";

const { LIMITS } = await built<typeof import("../../src/limits.js")>("limits.js");
/** What the words of a query stand for is found out by the service's own code: it is the search, and no door. */
const { findMemories } =
  await built<typeof import("../../src/features/memories/search.js")>("features/memories/search.js");
const { finderOf } = await built<typeof import("../../src/features/memories/search-occurrences.js")>(
  "features/memories/search-occurrences.js",
);
const { snippetOf } = await built<typeof import("../../src/features/memories/search-snippet.js")>(
  "features/memories/search-snippet.js",
);
const { memoryBytes } = await built<typeof import("../../src/features/memories/memory-columns.js")>(
  "features/memories/memory-columns.js",
);

interface Caller {
  readonly keyId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  readonly personalGraphId: string;
  readonly teamGraphId: string | null;
  readonly useToNote: Date | null;
}
interface Relationship {
  readonly relationshipId: string;
  readonly type: string;
  readonly direction: "in" | "out";
  readonly from: string;
  readonly to: string;
  readonly memory: { readonly id: string; readonly type: string; readonly title: string };
  readonly strength: number;
  readonly confidence: number;
  readonly createdAt: string;
}
// Whatever JSON: what the service keeps is of the same type.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;
interface Memory {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly summary: string | null;
  readonly tags: string[];
  readonly importance: number;
  readonly context: Json;
  readonly confidence: number;
  readonly externalId: string | null;
  readonly expiresAt: Date | null;
  readonly version: number;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly relationships: readonly Relationship[];
  readonly relationshipsTotal: number;
}
interface Related {
  readonly id: string | null;
  readonly type: string;
  readonly title: string;
  readonly relationship: string;
  readonly direction: "in" | "out";
  readonly depth: number;
  readonly strength: number;
}
interface NewMemory {
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly summary: string | null;
  readonly tags: string[];
  readonly importance: number;
  readonly context: Json;
  readonly confidence: number;
  readonly externalId: string | null;
  readonly expiresAt: Date | null;
}

class Refusal extends Error {
  constructor(readonly status: number) {
    super(`Refused with ${status}.`);
  }
}

let pool: pg.Pool;
let statements: Statements;

serve(async (order: Order) => {
  ({ statements } = order);
  pool = new pg.Pool({ ...order.pool, connectionString: order.databaseUrl });
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

async function run<Row, Values extends object = readonly unknown[]>(
  { name, text, names = [] }: Statement<Values, Row>,
  values: Values,
): Promise<Row[]> {
  const inOrder = Array.isArray(values) ? values : names.map((one) => Reflect.get(values, one) as unknown);
  return (await pool.query({ name, text, values: inOrder })).rows as Row[];
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

const MEMORIES = "/v1/memories";

async function answerTo(request: IncomingMessage): Promise<Answer> {
  const caller = await callerOf(request.headers.authorization);
  const url = request.url ?? "";
  const queryAt = url.indexOf("?");
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  if (path === "/graphql" && request.method === "POST") return graphqlAnswer(caller, await jsonOf(request));
  if (path === MEMORIES && request.method === "POST") {
    return { status: 201, body: restMemory(await created(caller, newMemory(await jsonOf(request)))) };
  }
  if (request.method !== "GET" || !path.startsWith(`${MEMORIES}/`)) throw new Refusal(404);
  const rest = path.slice(MEMORIES.length + 1);
  if (rest === "search") {
    const parameters = new URLSearchParams(url.slice(queryAt));
    for (const name of parameters.keys()) if (name !== "query") throw new Refusal(400);
    const hits = await found(caller, parameters.get("query"), true);
    const { memories, total, totalIsCapped: total_is_capped } = hits;
    return { status: 200, body: { memories, total, total_is_capped, truncated: false, meaning: false } };
  }
  if (queryAt >= 0) throw new Refusal(400);
  if (rest.endsWith("/related")) {
    return { status: 200, body: await related(caller, rest.slice(0, -"/related".length)) };
  }
  const [memory] = await memoriesAt(caller, statements.memoryWithRelationships, [idOf(rest)]);
  if (!memory) throw new Refusal(404);
  return { status: 200, body: restMemory(memory) };
}

const markKeyUsed: Statement = {
  name: "mark_key_used",
  text: "UPDATE api_key SET last_used_at = now() WHERE id = $1",
};

async function callerOf(authorization: string | undefined): Promise<Caller> {
  const key = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
  const [caller] = await run<Caller, object>(statements.caller, { hash: createHash("sha256").update(key).digest() });
  if (!caller) throw new Refusal(401);
  if (caller.useToNote) run(markKeyUsed, [caller.keyId]).catch(() => {});
  return caller;
}

const BODY_MAX_BYTES = 1_048_576;

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
  try {
    const body: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (isObject(body)) return body;
  } catch {
    // Refused just below.
  }
  throw new Refusal(400);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const graphOf = ({ teamGraphId, personalGraphId }: Caller): string => teamGraphId ?? personalGraphId;

function requireScope({ scopes }: Caller, scope: string): void {
  if (!scopes.includes(scope)) throw new Refusal(403);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function idOf(value: unknown): string {
  if (typeof value !== "string") throw new Refusal(400);
  if (!UUID.test(value)) throw new Refusal(404);
  return value.toLowerCase();
}

function textOf(value: unknown, min: number, max: number): string {
  if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed()) throw new Refusal(400);
  const text = value.normalize("NFC");
  let length = 0;
  for (const _ of text) length++;
  if (length < min || length > max) throw new Refusal(400);
  return text;
}

function notBlank(text: string): string {
  if (!/[^\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)) throw new Refusal(400);
  return text;
}

const FIELDS = new Set([
  "type",
  "title",
  "content",
  "summary",
  "tags",
  "importance",
  "context",
  "confidence",
  "external_id",
]);

function newMemory(body: Record<string, unknown>): NewMemory {
  for (const name of Object.keys(body)) if (!FIELDS.has(name)) throw new Refusal(400);
  const { summary = null, tags = [], importance = 0.5, context = null, confidence = 0.8 } = body;
  const { external_id: externalId = null } = body;
  const type = textOf(body["type"], 1, 50);
  if (!/^[a-z][a-z0-9_]{0,49}$/.test(type)) throw new Refusal(400);
  if (!Array.isArray(tags) || tags.length > 50) throw new Refusal(400);
  if (typeof importance !== "number" || !(importance >= 0 && importance <= 1)) throw new Refusal(400);
  if (typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1)) throw new Refusal(400);
  if (typeof context !== "object" || JSON.stringify(context).length > 16_384) throw new Refusal(400);
  const normalTags = tags.map((tag) => textOf(tag, 0, 100).trim().toLowerCase().normalize("NFC"));
  return {
    type,
    title: notBlank(textOf(body["title"], 1, 500)),
    content: textOf(body["content"], 1, 50_000),
    summary: summary === null ? null : textOf(summary, 0, 1_000),
    tags: [...new Set(normalTags)].filter((tag) => tag !== ""),
    importance,
    context: context as Json,
    confidence,
    externalId: externalId === null ? null : notBlank(textOf(externalId, 1, 200)),
    expiresAt: null,
  };
}

async function created(caller: Caller, memory: NewMemory): Promise<Memory> {
  requireScope(caller, "memories:write");
  const [id, time, { memories: memoriesMax, bytes: bytesMax }] = [newId(), new Date(), LIMITS.storage.pro];
  const who = { graphId: graphOf(caller), id, userId: caller.userId, time };
  await run(statements.createMemory, { ...memory, ...who, bytes: memoryBytes(memory), memoriesMax, bytesMax });
  const told = { createdBy: caller.userId, createdAt: time, updatedAt: time };
  return { id, ...memory, version: 1, ...told, relationships: [], relationshipsTotal: 0 };
}

/** A UUIDv7. */
function newId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const text = bytes.toString("hex");
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}

async function memoriesAt(caller: Caller, statement: Statement<object>, ids: readonly string[]): Promise<Memory[]> {
  requireScope(caller, "memories:read");
  return run<Memory, object>(statement, { graphIds: ids.map(() => graphOf(caller)), ids, withContent: true });
}

const RELATED_LIMIT = 20;

async function related(caller: Caller, id: unknown): Promise<{ memories: Related[]; truncated: boolean }> {
  requireScope(caller, "memories:read");
  const rows = await run<Related, object>(statements.related, {
    ...{ graphId: graphOf(caller), start: idOf(id), types: null, direction: "any", limit: RELATED_LIMIT + 1 },
    ...{ now: new Date() },
  });
  if (rows.length === 0) throw new Refusal(404);
  const memories = rows.slice(0, RELATED_LIMIT).filter((row) => row.id !== null);
  return { memories, truncated: rows.length > RELATED_LIMIT };
}

async function found(caller: Caller, given: unknown, withText: boolean) {
  requireScope(caller, "memories:read");
  const query = notBlank(textOf(given, 1, 1_000));
  const wishes = { query, limit: 20, offset: 0, explain: false, withText, expired: new Date() };
  const { hits, total, concepts } = await findMemories(run, graphOf(caller), wishes);
  const find = finderOf(concepts);
  return {
    memories: hits.map(({ id, type, title, relevance, ...hit }) => {
      const { summary, tags, matches, text, continues, newer } = hit;
      if (text === null) return { id, type, title, relevance };
      const snippet = snippetOf({ text, summary, goesOn: continues === true }, find);
      return { id, type, title, summary, tags, snippet, relevance, superseded_by: newer, matches };
    }),
    total: Math.min(total, 1_000),
    totalIsCapped: total > 1_000,
  };
}

const restMemory = (memory: Memory): object => ({
  id: memory.id,
  type: memory.type,
  title: memory.title,
  content: memory.content,
  summary: memory.summary,
  tags: memory.tags,
  importance: memory.importance,
  context: memory.context,
  confidence: memory.confidence,
  external_id: memory.externalId,
  expires_at: memory.expiresAt,
  created_at: memory.createdAt,
  updated_at: memory.updatedAt,
  version: memory.version,
  created_by: memory.createdBy,
  relationships: memory.relationships.map((item) => ({
    id: item.relationshipId,
    type: item.type,
    direction: item.direction,
    from: item.from,
    to: item.to,
    memory: { id: item.memory.id, type: item.memory.type, title: item.memory.title },
    strength: item.strength,
    confidence: item.confidence,
    created_at: new Date(item.createdAt),
  })),
  relationships_total: memory.relationshipsTotal,
  superseded_by: supersededBy(memory),
});

/** Memories here have few relationships: all of them are there. */
function supersededBy({ relationships }: Memory): object | null {
  const newest = relationships.find(
    ({ type, direction }) => type === (direction === "in" ? "REPLACES" : "DEPRECATED_BY"),
  );
  return newest ? { id: newest.memory.id, title: newest.memory.title } : null;
}

async function graphqlAnswer(caller: Caller, body: Record<string, unknown>): Promise<Answer> {
  const { query, variables } = body;
  if (!isObject(variables)) throw new Refusal(400);
  return { status: 200, body: { data: await dataOf(caller, query, variables) } };
}

async function dataOf(caller: Caller, query: unknown, variables: Record<string, unknown>): Promise<object> {
  switch (query) {
    case DOCUMENTS.get: {
      const [memory] = await memoriesAt(caller, statements.memoryAlone, [idOf(variables["id"])]);
      return { memory: graphqlMemory(memory) };
    }
    case DOCUMENTS.related: {
      const memories = (await related(caller, variables["id"])).memories.map(upperCaseDirection);
      return { relatedMemories: { memories } };
    }
    case DOCUMENTS.create: {
      const { input } = variables;
      if (!isObject(input)) throw new Refusal(400);
      return { createMemory: graphqlMemory(await created(caller, newMemory(input))) };
    }
    case DOCUMENTS.search:
      return { searchMemories: graphqlHits(await found(caller, variables["query"], false)) };
    case DOCUMENTS.nested:
      return { memory: await nested(caller, idOf(variables["id"])) };
    default:
      throw new Refusal(400);
  }
}

const graphqlHits = ({ memories, ...rest }: Awaited<ReturnType<typeof found>>): object => ({
  memories: memories.map(({ id: memoryId, ...hit }) => ({ memoryId, ...hit })),
  ...rest,
});

const upperCaseDirection = ({ id, type, title, relationship, direction, depth, strength }: Related): object => ({
  memoryId: id,
  type,
  title,
  relationship,
  direction: direction.toUpperCase(),
  depth,
  strength,
});

function graphqlMemory(memory: Memory | undefined): object {
  if (!memory) throw new Refusal(404);
  return {
    id: memory.id,
    type: memory.type,
    title: memory.title,
    content: memory.content,
    summary: memory.summary,
    tags: memory.tags,
    importance: memory.importance,
    context: memory.context,
    confidence: memory.confidence,
    externalId: memory.externalId,
    expiresAt: memory.expiresAt,
    createdAt: memory.createdAt,
    updatedAt: memory.updatedAt,
    version: memory.version,
    createdBy: memory.createdBy,
  };
}

/** The memory, those related to it, and their relationships: a query a level, as the service's DataLoader makes it. */
async function nested(caller: Caller, id: string): Promise<object> {
  const [memory] = await memoriesAt(caller, statements.memoryWithRelationships, [id]);
  if (!memory) throw new Refusal(404);
  const ids = [...new Set(memory.relationships.map((item) => item.memory.id))];
  const others = ids.length === 0 ? [] : await memoriesAt(caller, statements.memoryAlone, ids);
  const further = ids.length === 0 ? [] : await memoriesAt(caller, statements.memoryWithRelationships, ids);
  const otherOf = new Map(others.map((other) => [other.id, other]));
  const furtherOf = new Map(further.map((other) => [other.id, other.relationships]));
  return {
    id: memory.id,
    title: memory.title,
    relationships: memory.relationships.map((item) => {
      const other = otherOf.get(item.memory.id);
      return {
        type: item.type,
        direction: item.direction.toUpperCase(),
        memory: {
          id: item.memory.id,
          title: other?.title,
          content: other?.content,
          tags: other?.tags,
          relationships: furtherOf.get(item.memory.id)?.map((next) => ({
            type: next.type,
            direction: next.direction.toUpperCase(),
            memory: { id: next.memory.id, title: next.memory.title },
          })),
        },
      };
    }),
  };
}
