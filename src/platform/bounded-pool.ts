import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { LIMITS } from "../limits.js";
import { whyUnavailable } from "./database-errors.js";

/** The embedded PostgreSQL may move to another port: a function is asked for each new connection. */
export type DatabaseUrl = string | (() => string);

export interface PoolWishes {
  readonly max: number;
  /** How long a connection is waited for, be it made or given back. */
  readonly waitMs: number;
  /** How long a statement may take; PostgreSQL ends it then. */
  readonly timeoutMs: number;
  /** Settings of PostgreSQL, as its command line takes them. */
  readonly options: string;
  onError(error: Error): void;
  /** Which of these processes of PostgreSQL are idle: they have waited for a statement for a while. */
  idleOf?(processIds: readonly number[]): Promise<readonly number[]>;
}

const { answerGraceMs, suspectAfterMs, idleInTransactionMs } = LIMITS.database;
const LOOKED_EVERY_MS = 500;

/**
 * A pool in which every wait has an end: for a connection, for an answer, for a transaction to go on, for the pool to
 * close. The `query_timeout` of node-postgres leaves a connection whose answer is late in the pool, where every later
 * query waits behind the first; here such a connection is cut.
 */
export class BoundedPool extends pg.Pool {
  readonly #wishes: PoolWishes;
  readonly #connections: ReadonlySet<Connection>;
  readonly #looking: NodeJS.Timeout;
  #isAsking = false;

  constructor(url: DatabaseUrl, wishes: PoolWishes) {
    const connections = new Set<Connection>();
    super({
      max: wishes.max,
      connectionTimeoutMillis: wishes.waitMs,
      statement_timeout: wishes.timeoutMs,
      // Finds out that the other side is gone while nothing is asked.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: "memory-graph-gateway",
      // Among the options: poolers such as PgBouncer refuse further parameters, but can be told to ignore these.
      options: `${wishes.options} -c idle_in_transaction_session_timeout=${idleInTransactionMs}`,
      Client: class extends pg.Client {
        constructor(config?: pg.ClientConfig) {
          super({ ...config, connectionString: typeof url === "string" ? url : url() });
          // Between the pool's listener and that of whoever is given the connection there is none, and PostgreSQL may
          // say goodbye in the same packet in which it says that it is ready: unheard, that would end the process.
          this.on("error", () => {});
          const connection = new Connection(this);
          connections.add(connection);
          this.once("end", () => connections.delete(connection));
        }
      },
    });
    this.#wishes = wishes;
    this.#connections = connections;
    this.#looking = setInterval(() => this.#look(), LOOKED_EVERY_MS).unref();
    // A connection that breaks while idle is replaced at the next use; without a listener it would end the process.
    this.on("error", (error) => wishes.onError(error));
  }

  /** Ends the pool: in good order within this time, else by cutting what is left. */
  async close(patienceMs: number): Promise<void> {
    const end = performance.now() + patienceMs;
    void this.end();
    // `end` waits, without a limit, until the other side closes too.
    while (this.#connections.size > 0 && performance.now() < end) await sleep(5);
    clearInterval(this.#looking);
    for (const connection of this.#connections) connection.cut();
  }

  #look(): void {
    for (const connection of this.#connections) {
      if (connection.waitedMs > this.#wishes.timeoutMs + answerGraceMs) connection.cut();
    }
    void this.#lookForLost();
  }

  /** When the network lost a message, we and PostgreSQL wait for each other: found here, long before the timeout. */
  async #lookForLost(): Promise<void> {
    const suspects = [...this.#connections].filter(({ waitedMs }) => waitedMs > suspectAfterMs);
    if (suspects.length === 0 || this.#isAsking || !this.#wishes.idleOf) return;
    this.#isAsking = true;
    const asked = suspects.map((connection) => ({ connection, since: connection.waitsSince }));
    try {
      const idle = new Set(await this.#wishes.idleOf(suspects.map(({ processId }) => processId)));
      for (const { connection, since } of asked) {
        if (idle.has(connection.processId) && connection.waitsSince === since) connection.cut();
      }
    } catch (error) {
      // A database that is out of reach is so for all connections. After any other error the next look asks again.
      if (!(error instanceof NoAnswer) && whyUnavailable(error) !== "unreachable") return;
      for (const { connection, since } of asked) if (connection.waitsSince === since) connection.cut();
    } finally {
      this.#isAsking = false;
    }
  }
}

/** One connection, and since when it owes an answer. */
class Connection {
  readonly #client: pg.Client;
  #owed = 0;
  #since = 0;

  constructor(client: pg.Client) {
    this.#client = client;
    const query = client.query.bind(client) as (...values: unknown[]) => unknown;
    const counted = (...values: unknown[]): unknown => {
      if (this.#owed++ === 0) this.#since = performance.now();
      return query(...values);
    };
    client.query = counted as pg.Client["query"];
    wireOf(client).connection.on("readyForQuery", () => {
      this.#owed = Math.max(0, this.#owed - 1);
      this.#since = performance.now();
    });
  }

  get waitsSince(): number | undefined {
    return this.#owed > 0 ? this.#since : undefined;
  }

  get waitedMs(): number {
    return this.#owed > 0 ? performance.now() - this.#since : 0;
  }

  get processId(): number {
    return wireOf(this.#client).processID ?? 0;
  }

  /** Fails whatever waits for it; the pool makes another in its place. */
  cut(): void {
    wireOf(this.#client).connection.stream.destroy(new NoAnswer());
  }
}

/** In the form of a system error, so that Prisma's adapter knows it too. */
class NoAnswer extends Error {
  readonly code = "ETIMEDOUT";
  readonly errno = -110;
  readonly syscall = "read";

  constructor() {
    super("The database did not answer in time; the connection was cut.");
  }
}

/** What a client of node-postgres has beside what its types tell. */
const wireOf = (client: pg.Client): Wire => client as unknown as Wire;

interface Wire {
  readonly processID: number | null;
  readonly connection: NodeJS.EventEmitter & { readonly stream: { destroy(error: Error): void } };
}
