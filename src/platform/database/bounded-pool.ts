import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { LIMITS } from "../../limits.js";
import { Client } from "./client.js";
import { DatabaseUnavailable, READ_ONLY, whyUnavailable } from "./database-errors.js";
import { withOptions } from "./session-settings.js";
import { BEFORE_COMMIT } from "./statement.js";

/** A function is called for each new connection: the embedded PostgreSQL may move to another port. */
export type DatabaseUrl = string | (() => string);

export interface PoolOptions {
  readonly max: number;
  /** How long to wait for a connection, new or released. */
  readonly waitMs: number;
  /** How long a statement may take; then PostgreSQL cancels it. */
  readonly timeoutMs: number;
  /** Settings of PostgreSQL, in the format of its command line. */
  readonly options: string;
  /** Whether the connections lead to a pooler. It takes no settings from clients: there they are stored at the role. */
  readonly isPooled: boolean;
  /** Whether the connections lead to a standby on purpose. */
  readonly isReplica: boolean;
  onError(error: Error): void;
  /** Called for each error that a connection is sent. */
  onRefusal?(error: { readonly code?: string }): void;
  /** After how long without an answer a connection is cut, if PostgreSQL reports it as idle or cannot be reached. */
  readonly suspectAfterMs: number;
  /** Which of these PostgreSQL processes are idle: they wait for a statement. */
  idleOf?(processIds: readonly number[]): Promise<readonly number[]>;
}

const { answerGraceMs } = LIMITS.database;
const CHECK_EVERY_MS = 500;

/**
 * A pool in which every wait has a timeout: for a connection, for an answer, for an idle transaction, for the pool to
 * close. The `query_timeout` of node-postgres leaves a connection whose answer is late in the pool, where every later
 * query waits behind the first; here such a connection is cut.
 */
export class BoundedPool extends pg.Pool {
  readonly #options: PoolOptions;
  readonly #connections: ReadonlyMap<pg.Client, Connection>;
  readonly #checkTimer: NodeJS.Timeout;
  #isChecking = false;

  constructor(url: DatabaseUrl, options: PoolOptions) {
    const connections = new Map<pg.Client, Connection>();
    super({
      max: options.max,
      connectionTimeoutMillis: options.waitMs,
      // Detects a dead peer on idle connections.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: "memory-graph-gateway",
      ...(!options.isPooled && { statement_timeout: options.timeoutMs }),
      Client: class extends Client {
        constructor(config?: pg.ClientConfig) {
          const address = typeof url === "string" ? url : url();
          const connectionString = options.isPooled ? address : withOptions(address, options.options);
          super({ ...config, connectionString, pipeline: true });
          if (options.isPooled) askForUtc(this);
          if (options.onRefusal) wireOf(this).connection.on("errorMessage", options.onRefusal);
          connections.set(this, new Connection(this));
          this.once("end", () => connections.delete(this));
        }
      },
    });
    failUnopened(this);
    this.#options = options;
    this.#connections = connections;
    // By `setImmediate`, answers that have arrived are read first: the process may have been busy or paused.
    this.#checkTimer = setInterval(() => setImmediate(() => this.#checkConnections()), CHECK_EVERY_MS).unref();
    // A connection that breaks while idle is replaced at the next use; without a listener it would end the process.
    this.on("error", (error) => options.onError(error));
    // The pool removes a released connection that is ending.
    const { isPooled, isReplica } = options;
    const leave = (client: pg.Client) => connections.get(client)?.isToLeave(isPooled) && void client.end();
    if (!isReplica) this.on("release", (_error, client) => leave(client));
  }

  /** Closes the pool gracefully within this time; then cuts the remaining connections. */
  async close(patienceMs: number): Promise<void> {
    const end = performance.now() + patienceMs;
    void this.end();
    // `end` waits, without a limit, until the other side closes too.
    while (this.#connections.size > 0 && performance.now() < end) await sleep(5);
    clearInterval(this.#checkTimer);
    for (const connection of this.#connections.values()) connection.cut();
  }

  #checkConnections(): void {
    for (const connection of this.#connections.values()) {
      if (connection.waitedMs > this.#options.timeoutMs + answerGraceMs) connection.cut();
    }
    void this.#cutLost();
  }

  /** When the network lost a message, we and PostgreSQL wait for each other. Detects it long before the timeout. */
  async #cutLost(): Promise<void> {
    const { suspectAfterMs } = this.#options;
    const suspects = [...this.#connections.values()].filter(({ waitedMs }) => waitedMs > suspectAfterMs);
    if (suspects.length === 0 || this.#isChecking || !this.#options.idleOf) return;
    this.#isChecking = true;
    const checked = suspects.map((connection) => ({ connection, since: connection.waitsSince }));
    try {
      const idle = new Set(await this.#options.idleOf(suspects.map(({ processId }) => processId)));
      for (const { connection, since } of checked) {
        if (idle.has(connection.processId) && connection.waitsSince === since) connection.cut();
      }
    } catch (error) {
      // If the database is unreachable, it is for all connections. After any other error the next check tries again.
      if (!(error instanceof NoAnswer) && whyUnavailable(error) !== "unreachable") return;
      for (const { connection, since } of checked) if (connection.waitsSince === since) connection.cut();
    } finally {
      this.#isChecking = false;
    }
  }
}

/** What PostgreSQL says of itself to each connection, at its start and when it changes; `on`: it accepts no changes. */
const TOLD_READ_ONLY: readonly string[] = ["in_hot_standby", "default_transaction_read_only"];

/** One connection, and since when it waits for an answer, or for more of a long one. */
class Connection {
  readonly #client: Client;
  readonly #openedAt = performance.now();
  readonly #readOnly = new Set<string>();
  #pending = 0;
  #since = 0;
  /** The answer to the last statement of a transaction, which COMMIT waits for. */
  #last: Promise<unknown> | undefined;

  constructor(client: Client) {
    this.#client = client;
    const counted = (...values: unknown[]): unknown => {
      if (this.#pending++ === 0) this.#since = performance.now();
      // Looked up at each call, so that a test which watches it sees connections that were open before.
      const answer: unknown = Reflect.apply(pg.Client.prototype.query, client, values);
      return this.#waitFor(answer, (values[0] as Partial<pg.QueryConfig>).text ?? "");
    };
    client.query = counted as pg.Client["query"];
    const { connection } = wireOf(client);
    connection.on("readyForQuery", () => {
      this.#pending = Math.max(0, this.#pending - 1);
      this.#since = performance.now();
    });
    connection.on("errorMessage", ({ code }) => code === READ_ONLY && this.#readOnly.add(READ_ONLY));
    connection.on("parameterStatus", ({ parameterName: name, parameterValue: value }) => {
      if (TOLD_READ_ONLY.includes(name) && value === "on") this.#readOnly.add(name);
      else this.#readOnly.delete(name);
    });
  }

  /**
   * Whether it leads to a server that accepts no changes: its address may lead to another one by now, as after a
   * failover, and whoever only reads would never notice. Left at once if it has refused a change, otherwise after some
   * seconds, since all servers may be read-only, and each new connection costs. Behind a pooler, only a refused change
   * counts: the pooler chooses which server a connection leads to.
   */
  isToLeave(isPooled: boolean): boolean {
    if (this.#readOnly.has(READ_ONLY)) return true;
    return !isPooled && this.#readOnly.size > 0 && performance.now() - this.#openedAt > LIMITS.database.readOnlyKeptMs;
  }

  /**
   * Chooses the answer that the caller waits for. BEGIN is not waited for: the transaction's first statement is sent
   * right behind it, which saves a round trip. BEGIN nearly always fails because the connection is broken, and then that
   * statement fails, too; if PostgreSQL refuses BEGIN, the connection is cut before the next statement. COMMIT is sent
   * right behind a `BEFORE_COMMIT` statement, without waiting for it. If that statement fails, PostgreSQL rolls back,
   * and COMMIT rejects with that failure.
   */
  #waitFor(answer: unknown, text: string): unknown {
    // Only Prisma's adapter sends these texts; it takes answers as promises.
    const promised = answer as Promise<unknown>;
    if (text === "COMMIT" && this.#last) return Promise.all([promised, this.#last]).then(([done]) => done);
    const isLast = text.startsWith(BEFORE_COMMIT);
    if (text !== "BEGIN" && !isLast) return answer;
    this.#last = isLast ? promised : undefined;
    promised.catch(() => isLast || this.cut());
    return Promise.resolve({ rows: [], fields: [] });
  }

  get waitsSince(): number | undefined {
    return this.#pending > 0 ? Math.max(this.#since, this.#client.longPieceAt) : undefined;
  }

  get waitedMs(): number {
    const since = this.waitsSince;
    return since === undefined ? 0 : performance.now() - since;
  }

  get processId(): number {
    return wireOf(this.#client).processID ?? 0;
  }

  /** Fails every query that waits on it; the pool opens a new connection instead. */
  cut(): void {
    wireOf(this.#client).connection.stream.destroy(new NoAnswer());
  }
}

/** Has the format of a system error, so that Prisma's adapter recognises it. */
class NoAnswer extends Error {
  readonly code = "ETIMEDOUT";
  readonly errno = -110;
  readonly syscall = "read";

  constructor() {
    super("The database did not answer in time; the connection was cut.");
  }
}

/**
 * Makes a connection that cannot be opened an outage. Each connection reads the files that its address names, such as
 * `sslrootcert`, so that renewed ones are used. If one is missing at that moment, the pool would throw an error
 * that counts as a bug, and let others wait.
 */
function failUnopened(pool: pg.Pool): void {
  const wire = pool as unknown as PoolWire;
  const open = wire.newClient.bind(pool);
  wire.newClient = (waiting) => {
    try {
      open(waiting);
    } catch (cause) {
      const why = whyUnavailable(cause) ?? "refused";
      const message = `No connection can be opened: ${cause instanceof Error ? cause.message : String(cause)}`;
      waiting.callback(new DatabaseUnavailable(why, message, { cause }), undefined, () => {});
      process.nextTick(() => wire._pulseQueue());
    }
  };
}

/** Methods of node-postgres' pool that its types leave out. */
interface PoolWire {
  /** Opens a connection for whoever waits for one. */
  newClient(waiting: { callback(error: Error, client: undefined, release: () => void): void }): void;
  /** Serves the next one that waits. */
  _pulseQueue(): void;
}

/** Properties of node-postgres' client that its types leave out. */
const wireOf = (client: pg.Client): Wire => client as unknown as Wire;

/** Asks a pooler for UTC. It takes this one setting from its clients, and sets it on each connection that it lends. */
function askForUtc(client: pg.Client): void {
  const wire = wireOf(client);
  const settings = wire.getStartupConf.bind(client);
  wire.getStartupConf = () => ({ ...settings(), TimeZone: "UTC" });
}

interface Wire {
  readonly processID: number | null;
  getStartupConf(): Readonly<Record<string, string>>;
  readonly connection: NodeJS.EventEmitter & { readonly stream: { destroy(error: Error): void } };
}
