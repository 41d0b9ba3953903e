import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { LIMITS } from "../limits.js";
import { TEMPORARY, callService, codeOf, noAnswer, notServed } from "./call-service.js";
import type { Budget } from "./estimate.js";
import type { DatedNote, Note } from "./graph.js";
import {
  type Change,
  type DatedLink,
  type GraphStore,
  type PlacedLink,
  Refused,
  type StoredLink,
  type StoredMemory,
} from "./graph-store.js";
import { ImportStopped, KEY_REFUSED, NO_TEAM, RefusedAgain, TEAM_LEFT, assertKeyFits } from "./import-stopped.js";
import { parseStrictly } from "./json-text.js";
import { FIRST_BACKOFF_MS, RATE_LIMITED, RATE_WAITS_MAX, retryAfterMs } from "./rate-limit-wait.js";
import { isObject } from "./text.js";

export interface ClientOptions {
  /** The service's address, such as http://127.0.0.1:4000. */
  readonly url: string;
  readonly key: string;
  readonly graph?: "personal" | "team" | undefined;
  /** Aborts every request and every wait. */
  readonly signal: AbortSignal;
  /** Called when the client pauses, with the reason. */
  readonly onPause: (seconds: number, why: string) => void;
}

const PAGE_LIMIT = LIMITS.answer.pageItems;
const ANSWER_TIMEOUT_MS = 30_000;
/** How often a request is retried after a lost connection, or while the service is busy. */
const RETRIES_MAX = 5;
/** Error codes of an answer that was lost after the connection was made. */
const LOST = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "TimeoutError"]);

/** An answer; the status 0 means that none came. */
interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly retryAfterMs?: number | undefined;
  /** The system's error code if no answer came, such as ECONNREFUSED. */
  readonly networkError?: string;
}

interface Ask {
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: object;
}

/** A client of the service's REST API for imports. It retries and waits for rate limits. */
export class ServiceClient implements GraphStore {
  #pausedUntil = 0;
  #hasAnswered = false;
  #budget: (Budget & { readonly at: number }) | undefined;
  #graph: ClientOptions["graph"];

  /** @throws ImportStopped when the key has no valid format. */
  constructor(private readonly options: ClientOptions) {
    assertKeyFits(options.key);
    this.#graph = options.graph;
  }

  /** The budget in the last answer, less the time since then. */
  get budget(): Budget | undefined {
    if (!this.#budget) return undefined;
    const resetSeconds = this.#budget.resetSeconds - (performance.now() - this.#budget.at) / 1_000;
    return { ...this.#budget, resetSeconds: Math.max(resetSeconds, 0) };
  }

  /**
   * Sends a small request, to learn the budget and to find a wrong address or key before anything is announced. If no
   * graph is chosen, all requests use the one that is the default now: a person who joins a team during an import must
   * not have the rest of it stored for the team.
   */
  async greet(): Promise<void> {
    if (this.#graph) return void (await this.#ask("GET", "/v1/memories", { query: { limit: "1" } }));
    const { storage } = await this.#ask<Viewer>("GET", "/me");
    if (!Array.isArray(storage)) throw this.#failure({ status: 200 });
    this.#graph = storage.some(({ graph }) => graph === "team") ? "team" : "personal";
  }

  async *memories(tag: string | undefined): AsyncGenerator<StoredMemory> {
    const query = { include_expired: "true", ...(tag !== undefined && { tags: tag }) };
    for await (const { memories } of this.#pages<MemoryPage>("/v1/memories", query)) {
      if (!Array.isArray(memories)) throw this.#failure({ status: 200 });
      yield* memories;
    }
  }

  memory(id: string): Promise<StoredMemory> {
    return this.#ask("GET", `/v1/memories/${id}`);
  }

  async createMemories(notes: readonly Note[]): Promise<readonly string[]> {
    return (await this.#askBulk({ memories: notes.map(contentsOf) })).memory_ids;
  }

  async createDated(notes: readonly DatedNote[]): Promise<readonly string[]> {
    const records = notes.map((note) => {
      const { createdAt: created_at, updatedAt: updated_at = created_at } = note.kept;
      return { id: uuidv7({ msecs: created_at.getTime() }), ...contentsOf(note), created_at, updated_at };
    });
    await this.restore("memories", records).catch(refuseWithoutPlace);
    return records.map(({ id }) => id);
  }

  async update({ id, version }: StoredMemory, change: Change): Promise<void> {
    await this.#ask("PATCH", `/v1/memories/${id}`, { body: { ...change, expected_version: version } });
  }

  async createRelationships(links: readonly PlacedLink[]): Promise<number> {
    const relationships = links.map(({ fromId, toId, type: relationship_type, context, strength, confidence }) => {
      return { from_memory_id: fromId, to_memory_id: toId, relationship_type, context, strength, confidence };
    });
    return (await this.#askBulk({ relationships })).existing_relationships;
  }

  async createDatedRelationships(links: readonly DatedLink[]): Promise<number> {
    const records = links.map(({ fromId: from, toId: to, type, context, strength, confidence, createdAt }) => {
      const id = uuidv7({ msecs: createdAt.getTime() });
      return { id, from, to, type, context, strength, confidence, created_at: createdAt };
    });
    return (await this.restore("relationships", records).catch(refuseWithoutPlace)).existing;
  }

  /** Restores records of an export; all of them or none. */
  async restore(list: List, records: readonly object[]) {
    const answer = await this.#ask<RestoreAnswer>("POST", "/v1/memories/restore", { body: { [list]: records } });
    return { restored: answer[list], existing: answer[`existing_${list}`] };
  }

  #askBulk(body: object): Promise<BulkAnswer> {
    return this.#ask<BulkAnswer>("POST", "/v1/memories/bulk", { body }).catch(refuseWithoutPlace);
  }

  /**
   * Whether a relationship of this type leads from one memory to another. Looks at the first hundred memories that such
   * relationships lead to.
   */
  async leadsTo(from: string, to: string, type: string): Promise<boolean> {
    const query = { types: type, direction: "out", limit: "100" };
    const { memories } = await this.#ask<RelatedPage>("GET", `/v1/memories/${from}/related`, { query });
    return memories.some(({ id }) => id === to);
  }

  async relationshipsWithin(requests: number): Promise<AsyncIterable<StoredLink> | undefined> {
    const { relationships_total: total } = await this.#ask<Statistics>("GET", "/v1/graph/statistics");
    return total > requests * PAGE_LIMIT ? undefined : this.relationships();
  }

  /** All relationships of the graph, or those of up to fifty types, a hundred in a request. */
  async *relationships(types?: readonly string[]): AsyncGenerator<StoredLink> {
    const query = types && { types: types.join() };
    for await (const { relationships } of this.#pages<RelationshipPage>("/v1/relationships", query)) {
      yield* relationships;
    }
  }

  async *#pages<OnePage extends Page>(path: string, query: Ask["query"]): AsyncGenerator<OnePage> {
    let cursor: string | null = null;
    do {
      const place = { limit: String(PAGE_LIMIT), ...(cursor !== null && { cursor }) };
      const page: OnePage = await this.#ask<OnePage>("GET", path, { query: { ...query, ...place } });
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** Sends a request with retries. The type of the body is the one documented for the path. */
  async #ask<Body>(method: string, path: string, { query, body }: Ask = {}): Promise<Body> {
    const { key } = this.options;
    const graph = this.#graph;
    const search = new URLSearchParams({ ...query, ...(graph && { graph }) });
    const headers: Record<string, string> = { authorization: `Bearer ${key}`, accept: "application/json" };
    if (body) headers["content-type"] = "application/json";
    // The same key for every retry: a request whose answer was lost is not executed again.
    if (method === "POST") headers["idempotency-key"] = randomUUID();
    const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const target = search.size > 0 ? `${path}?${search.toString()}` : path;
    for (let rateWaits = 0, retries = 0; ;) {
      await this.#waitForPause();
      const answer = await this.#send(target, request);
      if (answer.status >= 200 && answer.status < 300 && isObject(answer.body)) return answer.body as Body;
      if (answer.status === 429 && rateWaits++ < RATE_WAITS_MAX) {
        this.#pause(answer.retryAfterMs ?? FIRST_BACKOFF_MS, RATE_LIMITED);
      } else if (this.#isTemporary(answer) && retries++ < RETRIES_MAX) {
        const backoff = FIRST_BACKOFF_MS * 2 ** (retries - 1);
        this.#pause(answer.retryAfterMs ?? backoff, answer.status ? "service busy" : "connection lost");
      } else {
        throw this.#failure(answer);
      }
    }
  }

  async #send(path: string, request: RequestInit): Promise<Answer> {
    const { url, signal } = this.options;
    try {
      const timeout = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
      const response = await callService(url, path, { ...request, signal: AbortSignal.any([signal, timeout]) });
      const text = await response.text();
      this.#hasAnswered = true;
      this.#budget = budgetOf(response.headers) ?? this.#budget;
      return { status: response.status, body: parseStrictly(text), retryAfterMs: retryAfterMs(response.headers) };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ImportStopped) throw error;
      return { status: 0, networkError: codeOf(error) };
    }
  }

  /** Whether a retry can be expected to succeed. */
  #isTemporary({ status, body, networkError }: Answer): boolean {
    // Before the first answer the address is most likely wrong, so an error message helps more than a retry.
    if (networkError !== undefined) return this.#hasAnswered || LOST.has(networkError);
    return TEMPORARY.has(status) || errorOf(body)?.["reason"] === "idempotency_in_progress";
  }

  /** Concurrent requests get the same limit, so they share one pause, which is reported once. */
  #pause(milliseconds: number, why: string): void {
    const until = performance.now() + milliseconds;
    if (this.#pausedUntil < performance.now()) this.options.onPause(Math.ceil(milliseconds / 1_000), why);
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }

  async #waitForPause(): Promise<void> {
    for (let left; (left = this.#pausedUntil - performance.now()) > 0;) {
      await sleep(left, undefined, { signal: this.options.signal });
    }
  }

  #failure({ status, body, networkError }: Answer): Error {
    const { url } = this.options;
    const { code, reason = code, message, details } = errorOf(body) ?? {};
    if (networkError !== undefined) return noAnswer(url, networkError);
    if (status === 401) {
      return new RefusedAgain(KEY_REFUSED);
    }
    if (status === 429 || TEMPORARY.has(status)) {
      return new ImportStopped(`${url} is still busy after many attempts (status ${status}). Try again later.`);
    }
    if (typeof message !== "string") return notServed(url, status);
    if (status === 403) return new ImportStopped(reason === "scope_missing" ? `${message} ${SCOPES_NEEDED}` : message);
    if (reason === "graph_full") return new ImportStopped(message);
    if (reason === "no_team") return new RefusedAgain(this.options.graph ? NO_TEAM : TEAM_LEFT);
    if (reason === "too_many_relationships" && isObject(details)) return new Refused(tooMany(details), reason);
    return new Refused(message, typeof reason === "string" ? reason : undefined);
  }
}

const SCOPES_NEEDED = "An import needs the scopes memories:read and memories:write.";

/** The service's own message leaves the memory to the details, and cannot know of the file. */
const tooMany = ({ id, relationships_max: most }: Readonly<Record<string, unknown>>): string =>
  `The memory ${String(id)} would have more than ${Number(most).toLocaleString("en")} relationships, in both directions ` +
  "together. Delete some of them in the service, or take some out of the file, then import again.";

/** Removes the place in the list from the message about a single item. */
function refuseWithoutPlace(error: unknown): never {
  if (!(error instanceof Refused)) throw error;
  const message = error.message
    .replaceAll(/\b(?:memories|relationships)\.0\./g, "")
    .replaceAll(" at memories.0", "")
    .replaceAll(/\brelationships\.0\b/g, "this relationship");
  throw new Refused(message, error.reason);
}

const contentsOf = ({ type, title, content, summary, tags, importance, kept = {} }: Note) => {
  const { context, confidence, clientId: client_id, expiresAt: expires_at } = kept;
  return { type, title, content, summary, tags, importance, confidence, context, client_id, expires_at };
};

interface Page {
  readonly next_cursor: string | null;
}

interface MemoryPage extends Page {
  readonly memories: readonly StoredMemory[];
}

interface Viewer {
  /** The caller's graphs. */
  readonly storage?: ReadonlyArray<{ readonly graph: string }>;
}

interface Statistics {
  /** As far as they are counted. */
  readonly relationships_total: number;
}

interface RelationshipPage extends Page {
  readonly relationships: readonly StoredLink[];
}

type List = "memories" | "relationships";
type RestoreAnswer = Readonly<Record<List | `existing_${List}`, number>>;

interface BulkAnswer {
  readonly memory_ids: readonly string[];
  readonly existing_relationships: number;
}

interface RelatedPage {
  readonly memories: ReadonlyArray<Pick<StoredMemory, "id">>;
}

function errorOf(body: unknown): Readonly<Record<string, unknown>> | undefined {
  return isObject(body) && isObject(body["error"]) ? body["error"] : undefined;
}

/** `RateLimit-Policy: "free";q=60;w=60` and `RateLimit: "free";r=12;t=34`. */
function budgetOf(headers: Headers): (Budget & { readonly at: number }) | undefined {
  const numberIn = (name: string, parameter: string) =>
    Number(new RegExp(`;\\s*${parameter}=(\\d{1,9})(?!\\d)`).exec(headers.get(name) ?? "")?.[1]);
  const [quota, windowSeconds] = [numberIn("ratelimit-policy", "q"), numberIn("ratelimit-policy", "w")];
  const [left, resetSeconds] = [numberIn("ratelimit", "r"), numberIn("ratelimit", "t")];
  const isKnown = [quota, windowSeconds, left, resetSeconds].every(Number.isFinite);
  return isKnown ? { quota, windowSeconds, left, resetSeconds, at: performance.now() } : undefined;
}
