import { type RequestListener, type Server, createServer } from "node:http";
import type { Socket } from "node:net";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { UNAVAILABLE } from "../database/database-errors.js";
import { readInSlices } from "../read-in-slices.js";
import type { MailOutcome, Meter, Outgoing, RequestFacts } from "./meter.js";

/** A pool of connections, as node-postgres counts it. */
interface Pool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** Sources that are read when the metrics are requested. */
export interface MetricSources {
  readonly pools: Readonly<Record<string, Pool>>;
  /** Statements that wait before they ask a pool, by the name of the pool or of the other queue. */
  waiting(): Readonly<Record<string, number>>;
  /** Lines of the log at level error so far. */
  errors(): number;
  /** Whether the server can serve. */
  isReady(): Promise<boolean>;
  /** Whether the database accepts no changes. */
  isReadOnly(): Promise<boolean>;
  /** Work that waits in the database, by name; `oldestSeconds` is 0 where none waits. */
  backlog(): Promise<Readonly<Record<string, Backlog>>>;
}

export interface Backlog {
  readonly count: number;
  readonly oldestSeconds: number;
}

const MAIL_OUTCOMES: readonly MailOutcome[] = ["sent", "retried", "refused", "given_up"];
const PREFIX = "memory_graph_";
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** How long the backlog is cached, so that frequent requests for metrics do not load the database. */
const BACKLOG_KEPT_MS = 10_000;
/** Of the port for metrics: connections, and how long a request may take to arrive. */
const CONNECTIONS = 100;
const HEAD_MS = 10_000;
/** Fewer than most requests have, so that hardly more than the first one is parsed. */
const SLICE_BYTES = 64;

/**
 * The metrics of one process, for Prometheus. Labels have few values: doors, operations, reasons of failures, budgets,
 * chores; never users, keys, addresses or texts.
 */
export class Metrics implements Meter {
  readonly #registry = new Registry();
  readonly #duration = new Histogram({
    name: `${PREFIX}request_duration_seconds`,
    help: "How long requests took, by door and operation, without their clients' reading and sending.",
    labelNames: ["door", "operation"],
    buckets: SECONDS,
    registers: [this.#registry],
  });
  readonly #requests = this.#counter("requests_total", "Requests, by door, operation and outcome.", [
    "door",
    "operation",
    "outcome",
  ]);
  readonly #waited = this.#counter(
    "waited_seconds_total",
    "How long requests waited, by operation and what for; also for the work of others, such as the database.",
    ["operation", "what"],
  );
  readonly #unavailable = this.#counter("unavailable_total", "Requests answered 503, by reason.", ["why"]);
  readonly #outgoing = new Histogram({
    name: `${PREFIX}outgoing_duration_seconds`,
    help: "How long requests to other servers took, by server.",
    labelNames: ["to"],
    // A mail may take longer than a request.
    buckets: [...SECONDS, 20],
    registers: [this.#registry],
  });
  /** By itself, since the series of an operation would begin with its first failure, see below. */
  readonly #payments = this.#counter("payments_failed_total", "Requests that the payment provider failed.", []);
  readonly #refused = this.#counter("refused_total", "Requests and uses over a limit, by budget.", ["budget"]);
  readonly #fallbacks = this.#counter("redis_fallbacks_total", "Budgets that were counted without Redis.", []);
  readonly #replica = this.#counter(
    "replica_failures_total",
    "Failures of the replica, and checks that found it too far behind.",
    [],
  );
  readonly #embeddings = this.#counter("embeddings_failed_total", "Requests that the embeddings server failed.", []);
  readonly #mails = this.#counter("mails_total", "Attempts to send a mail, by outcome.", ["outcome"]);
  readonly #chores = this.#gauge(
    "chore_last_success_timestamp_seconds",
    "When a background job last succeeded, or began.",
    ["chore"],
  );
  #backlog: Promise<Readonly<Record<string, Backlog>>> | undefined;
  #text: Promise<string> | undefined;

  constructor({ pools, waiting: waitingBefore, errors: errorsSoFar, isReady, isReadOnly, backlog }: MetricSources) {
    collectDefaultMetrics({ register: this.#registry });
    // A series must begin with 0, since Prometheus sees no increase to its first value.
    for (const outcome of MAIL_OUTCOMES) this.#mails.inc({ outcome }, 0);
    for (const why of Object.keys(UNAVAILABLE)) this.#unavailable.inc({ why }, 0);
    const errors = this.#counter("log_errors_total", "Lines of the log at level error.", []);
    const ready = this.#gauge("ready", "Whether the server can serve: 1, or 0.", []);
    const readOnly = this.#gauge("database_read_only", "Whether the database accepts no changes: 1, or 0.", []);
    const connections = this.#gauge("database_connections", "Connections, by pool and state.", ["pool", "state"]);
    const waiting = this.#gauge("database_waiting", "Statements that wait for a connection, by pool.", ["pool"]);
    const waits = this.#gauge("backlog", "What waits to be done, by kind.", ["kind"]);
    const ages = this.#gauge("backlog_oldest_seconds", "For how long the oldest of it has waited.", ["kind"]);
    this.#collect = async () => {
      errors.reset();
      errors.inc(errorsSoFar());
      const before = waitingBefore();
      for (const [pool, count] of Object.entries(before)) waiting.set({ pool }, count);
      for (const [pool, { totalCount, idleCount, waitingCount }] of Object.entries(pools)) {
        connections.set({ pool, state: "busy" }, totalCount - idleCount);
        connections.set({ pool, state: "idle" }, idleCount);
        waiting.set({ pool }, waitingCount + (before[pool] ?? 0));
      }
      this.#backlog ??= backlog().finally(() => {
        setTimeout(() => (this.#backlog = undefined), BACKLOG_KEPT_MS).unref();
      });
      // If the database fails, the other metrics are still served: then they are needed most.
      const [isAble, isFixed, kinds] = await Promise.all([isReady(), isReadOnly(), this.#backlog.catch(() => ({}))]);
      readOnly.set(isFixed ? 1 : 0);
      ready.set(isAble ? 1 : 0);
      // Reset, so that values from before the database was lost are not shown as current.
      waits.reset();
      ages.reset();
      for (const [kind, { count, oldestSeconds }] of Object.entries(kinds)) {
        waits.set({ kind }, count);
        ages.set({ kind }, oldestSeconds);
      }
    };
  }

  readonly #collect: () => Promise<void>;

  request({ door, operations, outcome, seconds, waits }: RequestFacts): void {
    const operation = operations.length > 1 ? "several" : (operations[0] ?? "none");
    this.#requests.inc({ door, operation, outcome });
    if (outcome === "payment_provider_error") this.#payments.inc();
    this.#duration.observe({ door, operation }, seconds);
    for (const [what, ms] of waits) if (ms > 0) this.#waited.inc({ operation, what }, ms / 1_000);
  }

  unavailable = (why: string): void => this.#unavailable.inc({ why });
  refused = (budget: string): void => this.#refused.inc({ budget });
  redisFallback = (): void => this.#fallbacks.inc();
  replicaFailed = (): void => this.#replica.inc();
  mail = (outcome: MailOutcome): void => this.#mails.inc({ outcome });
  embeddingsFailed = (): void => this.#embeddings.inc();
  outgoing = (to: Outgoing, seconds: number): void => this.#outgoing.observe({ to }, seconds);
  choreDone = (chore: string, at: Date): void => this.#chores.set({ chore }, at.getTime() / 1_000);

  /** All metrics, in Prometheus's text format. Whoever asks while they are collected gets the same. */
  text(): Promise<string> {
    return (this.#text ??= this.#collect()
      .then(() => this.#registry.metrics())
      .finally(() => (this.#text = undefined)));
  }

  /**
   * Serves `GET /metrics`, on a port of its own, which only the operator's network should reach. A connection gets one
   * answer, and what follows its first request is not parsed: else thousands of requests, sent ahead on it, would all
   * be worked on before anything else.
   */
  createServer(): Server {
    const asked = new WeakSet<Socket>();
    const server = createServer({ headersTimeout: HEAD_MS, requestTimeout: HEAD_MS }, (request, response) => {
      if (asked.has(request.socket)) return;
      asked.add(request.socket);
      this.#answer(request, response.setHeader("Connection", "close"));
    });
    readInSlices(server, { bytes: SLICE_BYTES, hasEnough: (socket) => asked.has(socket) });
    return Object.assign(server, { maxConnections: CONNECTIONS });
  }

  readonly #answer: RequestListener = (request, response) => {
    const [path] = request.url?.split("?", 1) ?? [];
    if (request.method !== "GET" || path !== "/metrics") return void response.writeHead(404).end();
    this.text().then(
      (text) => response.writeHead(200, { "content-type": this.#registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name: PREFIX + name, help, labelNames, registers: [this.#registry] });
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name: PREFIX + name, help, labelNames, registers: [this.#registry] });
  }
}
