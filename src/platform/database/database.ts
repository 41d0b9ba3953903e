import { setTimeout as sleep } from "node:timers/promises";
import { PrismaPg } from "@prisma/adapter-pg";
import pg from "pg";
import { LIMITS } from "../../limits.js";
import { BoundedPool, type DatabaseUrl } from "./bounded-pool.js";
import {
  COLLISIONS,
  LOCK_NOT_AVAILABLE,
  NAME_LOST,
  OTHER_SCHEMA,
  QUERY_CANCELED,
  DatabaseUnavailable,
  UNAVAILABLE,
  type WhyUnavailable,
  sqlStateOf,
  whyUnavailable,
} from "./database-errors.js";
import { isOvertaken } from "./migrations.js";
import { idleProcesses } from "./idle-statement.js";
import { type Naming, ask, nameOf, queryOf } from "./named-query.js";
import type { Pooler } from "./pooler.js";
import { PrismaClient } from "../prisma/client.js";
import { SESSION_OPTIONS } from "./session-settings.js";
import { type Statement, inOrder } from "./statement.js";

/** Prisma's models, without the methods that would leave the transaction. */
export type Models = Omit<PrismaClient, `$${string}`>;

/** The database, or one transaction in it: both have the same interface. */
export interface Database {
  /** Prisma's models, for code that is not on a hot path. */
  readonly models: Models;
  /** Runs one statement: for hot paths, and for SQL that no model can express. */
  run<Row, Values extends object = readonly unknown[]>(
    statement: Statement<Values, Row>,
    values: Values,
    patience?: LockPatience,
  ): Promise<Row[]>;
  /**
   * Runs the statements of one search, one after the other, on one of the connections reserved for searches. All
   * together may take `WaitBounds.searchTimeoutMs`, and up to a tenth more. A statement that takes longer fails,
   * and so does any after it, with an error for which `isTimeout` is true. Inside a transaction there is no such limit.
   */
  search<T>(work: (run: Database["run"]) => Promise<T>, patience?: LockPatience): Promise<T>;
  /**
   * Reads pages of a graph by models, in the order of an index. PostgreSQL assumes that each graph is a small part of
   * its table (see the migration `plans_for_any_graph`). A graph that is most of its table would be read and sorted
   * whole for each page: 170 ms instead of 10 for one type among 100,000 memories. The setting must not affect changes,
   * so it holds in a transaction of its own, or inside another transaction only until `read` ends.
   */
  readPages<T>(read: (models: Models) => Promise<T>, patience?: LockPatience): Promise<T>;
  /** Runs `work` in one transaction, rolled back if it throws. Inside a transaction it joins that one. */
  transaction<T>(work: (database: Database) => Promise<T>, patience?: LockPatience): Promise<T>;
  /**
   * The reason, if an error is a timeout while waiting for a connection or, with "slow", for a lock; undefined for every
   * other error.
   */
  whyWaitFailed(error: unknown): WhyUnavailable | undefined;
  /**
   * The error to report when a statement throws `error`: `DatabaseUnavailable` if the schema does not fit because a newer
   * version has migrated the database, since that version's servers can answer the request; otherwise `error` itself.
   */
  explain(error: unknown): Promise<unknown>;
}

/** A shorter wait for locks than the default. Setting it costs a round trip. */
export interface LockPatience {
  readonly lockMs: number;
}

/** A database that this process opened and must close. */
export interface OpenDatabase extends Database, AsyncDisposable {
  readonly pool: pg.Pool;
  readonly reservedPool: pg.Pool;
  readonly searchPool: pg.Pool;
  /** Loads the code of `models` now, not at its first use: Node never tries an import again that failed once. */
  loadModels(): Promise<void>;
}

/** Turned off, these make PostgreSQL read a page's rows in index order instead of sorting them. */
const OUT_OF_ORDER = ["enable_sort", "enable_bitmapscan"];
const IN_ORDER = OUT_OF_ORDER.map((name) => `${name}=off`);
/** Sets these for one transaction, in one statement, since Prisma sends only one at a time. */
const setPlanning = (value: "'off'" | "NULL"): string =>
  `SELECT ${OUT_OF_ORDER.map((name) => `set_config('${name}', ${value}, true)`).join(", ")}`;
const PLAN_IN_ORDER = setPlanning("'off'");
const PLAN_AS_USUAL = setPlanning("NULL");
const REPEATABLE = [...COLLISIONS, ...NAME_LOST];
const ATTEMPTS_MAX = 3;
/** The time limit for each of the two steps of closing: ending transactions, and ending connections. */
const CLOSE_PATIENCE_MS = 1_000;

/** How long to wait for a connection, for a lock, for answers and for a replica; tests on a busy machine wait longer. */
export interface WaitBounds {
  readonly connectionWaitMs: number;
  readonly lockWaitMs: number;
  readonly statementTimeoutMs: number;
  /** For all statements of one search together. */
  readonly searchTimeoutMs: number;
  readonly reservedTimeoutMs: number;
  readonly transactionTimeoutMs: number;
  readonly idleInTransactionMs: number;
  /** How far a replica may be behind the primary. */
  readonly replicaDelayMs: number;
  /** When a connection without an answer may be lost. */
  readonly suspectAfterMs: number;
}

/** What is at the address of a database; a PostgreSQL that accepts changes, unless given. */
interface Place {
  readonly pooler?: Pooler | undefined;
  readonly isReplica?: boolean;
}

/** Opens the database at `url`; it connects when a connection is first needed. */
export function openDatabase(
  url: DatabaseUrl,
  onError: (error: Error) => void = () => {},
  waits: WaitBounds = LIMITS.database,
  { pooler, isReplica = false }: Place = {},
): OpenDatabase {
  const naming = { isOn: pooler?.keepsNames ?? true };
  const { pool, reservedPool, searchPool } = openPools(url, { waits, pooler, isReplica, naming }, onError);
  const lend = pooler ? withTransaction : withClient;
  // Without a pooler the connections of this pool have this setting already.
  const searchSettings = pooler ? [`statement_timeout=${waits.searchTimeoutMs}`] : [];
  const transaction = {
    maxWait: waits.connectionWaitMs,
    timeout: waits.transactionTimeoutMs,
  };
  const client = new PrismaClient({ adapter: new PrismaPg(pool, { statementNameGenerator: nameStatements(naming) }) });
  const inTransaction = <T>(work: (inner: PrismaTransaction) => Promise<T>, patience?: LockPatience): Promise<T> =>
    withRetries(() =>
      client.$transaction(async (inner) => {
        if (patience) await inner.$executeRawUnsafe(`SET LOCAL ${lockTimeout(patience)}`);
        return work(inner);
      }, transaction),
    );
  return {
    pool,
    reservedPool,
    searchPool,
    models: client,
    loadModels: () => client.$connect(),
    run: async <Row, Values extends object>(
      statement: Statement<Values, Row>,
      values: Values,
      patience?: LockPatience,
    ) => {
      const onto = statement.reserved ? reservedPool : pool;
      const settings = [...(statement.isPage ? IN_ORDER : []), ...(patience ? [lockTimeout(patience)] : [])];
      const { rows } = await withRetries(() =>
        settings.length > 0
          ? lend(onto, settings, (one) => ask(one, queryOf(statement, values, naming)))
          : onto.query(queryOf(statement, values, naming)),
      );
      return rows as Row[];
    },
    search: (work, patience) =>
      lend(
        searchPool,
        [...searchSettings, ...(patience ? [lockTimeout(patience)] : [])],
        searchOn(work, naming, waits.searchTimeoutMs),
      ),
    transaction: (work, patience) => inTransaction((inner) => work(insideTransaction(inner)), patience),
    readPages: (read, patience) =>
      inTransaction(async (inner) => {
        await inner.$executeRawUnsafe(PLAN_IN_ORDER);
        return read(inner);
      }, patience),
    whyWaitFailed,
    explain: (error) => explain(error, reservedPool),
    async [Symbol.asyncDispose]() {
      await Promise.race([client.$disconnect(), sleep(CLOSE_PATIENCE_MS, undefined, { ref: false })]);
      await Promise.all([pool, reservedPool, searchPool].map((one) => one.close(CLOSE_PATIENCE_MS)));
    },
  };
}

/** How many of Prisma's statements are prepared under a name; further ones are planned anew each time. */
const NAMES_MAX = 500;

/** Names Prisma's statements by their text; the empty name prepares nothing. */
function nameStatements(naming: Naming): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    if (!naming.isOn) return "";
    const name = names.get(sql) ?? nameOf("prisma", sql);
    if (names.size < NAMES_MAX) names.set(sql, name);
    return names.has(sql) ? name : "";
  };
}

interface PoolParts {
  readonly waits: WaitBounds;
  readonly pooler: Pooler | undefined;
  readonly isReplica: boolean;
  readonly naming: Naming;
}

function openPools(url: DatabaseUrl, { waits, pooler, isReplica, naming }: PoolParts, onError: (e: Error) => void) {
  const { connections, reservedConnections, searchConnections } = LIMITS.database;
  const { statementTimeoutMs, reservedTimeoutMs, searchTimeoutMs } = waits;
  const idle = `idle_in_transaction_session_timeout=${waits.idleInTransactionMs}`;
  const options = `${SESSION_OPTIONS} -c ${lockTimeout({ lockMs: waits.lockWaitMs })} -c ${idle}`;
  const onRefusal = ({ code }: { readonly code?: string }) => {
    if (!naming.isOn || !NAME_LOST.includes(code ?? "")) return;
    naming.isOn = false;
    onError(new DatabaseUnavailable("unnamed", UNAVAILABLE.unnamed));
  };
  const common = {
    options,
    isPooled: pooler !== undefined,
    isReplica,
    waitMs: waits.connectionWaitMs,
    suspectAfterMs: waits.suspectAfterMs,
    onError,
    ...(pooler && { onRefusal }),
  };
  const reservedPool = new BoundedPool(url, {
    ...common,
    max: reservedConnections,
    timeoutMs: reservedTimeoutMs,
  });
  const searchPool = new BoundedPool(url, {
    ...common,
    max: searchConnections,
    timeoutMs: searchTimeoutMs,
  });
  const idleOf = async (processIds: readonly number[]) => {
    const { rows } = await reservedPool.query<{ pid: number }>(queryOf(idleProcesses, { processIds }, naming));
    return rows.map(({ pid }) => pid);
  };
  const pool = new BoundedPool(url, { ...common, max: connections, timeoutMs: statementTimeoutMs, idleOf });
  return { pool, reservedPool, searchPool };
}

/** Until a search has used this part of its time, its timeout is not set again per statement: one round trip less. */
const QUICK_SEARCH = 1 / 10;

/** Rounded up to 100 ms, so that there are few texts: Prisma's adapter caches each text that it sends. */
const lockTimeout = ({ lockMs }: LockPatience): string => `lock_timeout=${Math.ceil(lockMs / 100) * 100}`;

/** Changes a setting until the connection is released. */
type Change = (setting: string) => Promise<void>;

type Lend = <T>(
  pool: pg.Pool,
  settings: readonly string[],
  work: (client: pg.PoolClient, change: Change) => Promise<T>,
) => Promise<T>;

/** Runs `work` on a connection of the pool. One that breaks, or for which `work` calls `drop`, is not used again. */
async function borrow<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient, drop: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const drop = (error: Error) => void (broken = error);
  client.on("error", drop);
  try {
    return await work(client, drop);
  } finally {
    client.off("error", drop);
    client.release(broken);
  }
}

/** Runs `work` with these settings, then restores those of the connection. */
const withClient: Lend = (pool, settings, work) =>
  borrow(pool, async (client, drop) => {
    let isChanged = false;
    const change = async (setting: string): Promise<void> => {
      isChanged = true;
      await client.query(`SET ${setting}`);
    };
    try {
      // All in one round trip.
      if (settings.length > 0) await change(settings.join("; SET "));
      return await work(client, change);
    } finally {
      if (isChanged) await client.query("RESET ALL").catch(drop);
    }
  });

/** The same through a pooler, in a transaction: there settings hold only within one. */
const withTransaction: Lend = (pool, settings, work) =>
  borrow(pool, async (client, drop) => {
    const change = async (setting: string): Promise<void> => void (await client.query(`SET LOCAL ${setting}`));
    try {
      await client.query(["BEGIN", ...settings.map((setting) => `SET LOCAL ${setting}`)].join("; "));
      const answer = await work(client, change);
      await client.query("COMMIT");
      return answer;
    } catch (error) {
      await client.query("ROLLBACK").catch(drop);
      throw error;
    }
  });

const searchOn =
  <T>(work: (run: Database["run"]) => Promise<T>, naming: Naming, timeoutMs: number) =>
  (client: pg.PoolClient, change: Change): Promise<T> => {
    const begunAt = performance.now();
    return work(async <Row, Values extends object>(statement: Statement<Values, Row>, values: Values) => {
      const spentMs = performance.now() - begunAt;
      if (spentMs >= timeoutMs) throw new SearchTimeout();
      if (spentMs > timeoutMs * QUICK_SEARCH) await change(`statement_timeout=${Math.ceil(timeoutMs - spentMs)}`);
      return (await ask(client, queryOf(statement, values, naming))).rows as Row[];
    });
  };

/** The search took too long, so its next statement was not started. */
class SearchTimeout extends Error {
  readonly code = QUERY_CANCELED;
}

/** Whether a statement was cancelled because it, or the search that it is part of, took too long. */
export const isTimeout = (error: unknown): boolean => sqlStateOf(error) === QUERY_CANCELED;

function whyWaitFailed(error: unknown): WhyUnavailable | undefined {
  const why = whyUnavailable(error);
  return why === "busy" || why === "unreachable" || sqlStateOf(error) === LOCK_NOT_AVAILABLE ? why : undefined;
}

async function explain(thrown: unknown, pool: pg.Pool): Promise<unknown> {
  if (!OTHER_SCHEMA.includes(sqlStateOf(thrown) ?? "")) return thrown;
  const isOutdated = await isOvertaken(pool).catch(() => false);
  return isOutdated ? new DatabaseUnavailable("outdated", UNAVAILABLE.outdated, { cause: thrown }) : thrown;
}

type PrismaTransaction = Parameters<Parameters<PrismaClient["$transaction"]>[0]>[0];

function insideTransaction(inner: PrismaTransaction): Database {
  const database: Database = {
    models: inner,
    run: (statement, values) => inner.$queryRawUnsafe(statement.text, ...inOrder(statement, values)),
    search: (work) => work(database.run),
    async readPages(read) {
      await inner.$executeRawUnsafe(PLAN_IN_ORDER);
      const pages = await read(inner);
      await inner.$executeRawUnsafe(PLAN_AS_USUAL);
      return pages;
    },
    transaction: (work) => work(database),
    whyWaitFailed,
    // A failed transaction runs no more statements: the code that began it asks, outside of it.
    explain: async (error) => error,
  };
  return database;
}

/** Tries again after a deadlock, a serialisation failure or a lost statement name: these change nothing. */
async function withRetries<T>(attempt: () => Promise<T>, attemptsLeft = ATTEMPTS_MAX): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!REPEATABLE.includes(sqlStateOf(error) ?? "") || attemptsLeft <= 1) throw error;
    return withRetries(attempt, attemptsLeft - 1);
  }
}
