/**
 * The work of the cases: the service's own SQL statements, everything else written by hand. The floor and the peers
 * share it, so that they differ only in their doors.
 */
import { hash, randomBytes } from "node:crypto";
import pg from "pg";
import type { Contents } from "../../src/features/memories/memory-columns.js";
import type { LinkItem } from "../../src/features/memories/memory-statements.js";
import type { Statement } from "../../src/platform/database/statement.js";
import { built } from "./built.js";
import type { Order } from "./child.js";
import { Refusal, idOf, notBlank, textOf } from "./floor-input.js";

const { LIMITS } = await built<typeof import("../../src/limits.js")>("limits.js");
/** The service's own code resolves the words of a query: that is part of the search, not of the door. */
const { findMemories } = await built<typeof import("../../src/features/memories/words/find-memories.js")>(
  "features/memories/words/find-memories.js",
);
const { finderOf } = await built<typeof import("../../src/features/memories/search/occurrences.js")>(
  "features/memories/search/occurrences.js",
);
const { snippetOf } = await built<typeof import("../../src/features/memories/search/snippet.js")>(
  "features/memories/search/snippet.js",
);
const { memoryBytes } = await built<typeof import("../../src/features/memories/memory-columns.js")>(
  "features/memories/memory-columns.js",
);

export interface Caller {
  readonly keyId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  readonly personalGraphId: string;
  readonly teamGraphId: string | null;
  readonly useToNote: Date | null;
}
export interface Memory extends Contents {
  readonly id: string;
  readonly version: number;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly relationships: readonly LinkItem[];
  readonly relationshipsTotal: number;
}
export interface Related {
  readonly id: string | null;
  readonly type: string;
  readonly title: string;
  readonly relationship: string;
  readonly direction: "in" | "out";
  readonly depth: number;
  readonly viaMemoryId: string | null;
  readonly strength: number;
}

export const graphOf = ({ teamGraphId, personalGraphId }: Caller): string => teamGraphId ?? personalGraphId;

function requireScope({ scopes }: Caller, scope: string): void {
  if (!scopes.includes(scope)) throw new Refusal(403);
}

const RELATED_LIMIT = 20;
const markKeyUsed: Statement = {
  name: "mark_key_used",
  text: "UPDATE api_key SET last_used_at = now() WHERE id = $1",
};

type MemoryForm = "memoryAlone" | "memoryWithRelationships" | "memoryWithLinks";
export type Work = ReturnType<typeof openWork>;

/** The pool is closed when the process ends. */
export function openWork({ databaseUrl, pool: options, statements }: Order) {
  const pool = new pg.Pool({ ...options, connectionString: databaseUrl });

  async function run<Row, Values extends object = readonly unknown[]>(
    { name, text, names = [] }: Statement<Values, Row>,
    values: Values,
  ): Promise<Row[]> {
    const inOrder = Array.isArray(values) ? values : names.map((one) => Reflect.get(values, one) as unknown);
    // node-postgres copies a plain configuration property by property; a Query object is used as it is.
    const query = Object.assign(new pg.Query(text, inOrder), { name }) as unknown as pg.QueryConfig;
    return (await pool.query(query)).rows as Row[];
  }

  async function callerOf(authorization: string | undefined | null): Promise<Caller> {
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
    const [caller] = await run<Caller, object>(statements.caller, { hashes: [hash("sha256", key, "buffer")] });
    if (!caller) throw new Refusal(401);
    if (caller.useToNote) run(markKeyUsed, [caller.keyId]).catch(() => {});
    return caller;
  }

  async function memoriesAt(caller: Caller, ids: readonly string[], form: MemoryForm): Promise<Memory[]> {
    requireScope(caller, "memories:read");
    return run<Memory, object>(statements[form], { graphId: graphOf(caller), ids, withContent: true });
  }

  async function memoryAt(caller: Caller, id: unknown, form: MemoryForm): Promise<Memory> {
    const [memory] = await memoriesAt(caller, [idOf(id)], form);
    if (!memory) throw new Refusal(404);
    return memory;
  }

  async function create(caller: Caller, memory: Contents): Promise<Memory> {
    requireScope(caller, "memories:write");
    const [id, time, { memories: memoriesMax, bytes: bytesMax }] = [newId(), new Date(), LIMITS.storage.pro];
    const who = { graphId: graphOf(caller), id, userId: caller.userId, time };
    await run(statements.createMemory, { ...memory, ...who, bytes: memoryBytes(memory), memoriesMax, bytesMax });
    const told = { createdBy: caller.userId, createdAt: time, updatedAt: time };
    return { id, ...memory, version: 1, ...told, relationships: [], relationshipsTotal: 0 };
  }

  async function related(caller: Caller, id: unknown): Promise<{ memories: Related[]; truncated: boolean }> {
    requireScope(caller, "memories:read");
    const rows = await run<Related, object>(statements.related, {
      graphId: graphOf(caller),
      start: idOf(id),
      types: null,
      direction: "any",
      limit: RELATED_LIMIT + 1,
      now: new Date(),
    });
    if (rows.length === 0) throw new Refusal(404);
    const memories = rows.slice(0, RELATED_LIMIT).filter((row) => row.id !== null);
    return { memories, truncated: rows.length > RELATED_LIMIT };
  }

  async function find(caller: Caller, given: unknown, withText: boolean) {
    requireScope(caller, "memories:read");
    const query = notBlank(textOf(given, 1, 1_000));
    const wishes = {
      query,
      limit: 20,
      offset: 0,
      explain: false,
      withText,
      withLinks: withText,
      withUnknownWords: withText,
      expired: new Date(),
    };
    const { hits, total, concepts, unknownWords } = await findMemories(run, graphOf(caller), wishes);
    const finder = finderOf(concepts);
    return {
      memories: hits.map(({ id, type, title, relevance, ...hit }) => {
        const { summary, tags, updated, matches, text, continues, newer, solution } = hit;
        if (text === null) return { id, type, title, relevance };
        const snippet = snippetOf({ text, summary, goesOn: continues === true }, finder);
        return {
          id,
          type,
          title,
          summary,
          tags,
          updated_at: updated,
          snippet,
          relevance,
          superseded_by: newer,
          solved_by: solution && { id: solution.memoryId, title: solution.title },
          matches,
        };
      }),
      total: Math.min(total, 1_000),
      totalIsCapped: total > 1_000,
      unknownWords,
    };
  }

  return { callerOf, memoriesAt, memoryAt, create, related, find };
}

export type Hits = Awaited<ReturnType<Work["find"]>>;

/** A UUIDv7. */
function newId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const text = bytes.toString("hex");
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}
