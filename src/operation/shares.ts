import { LIMITS } from "../limits.js";
import type { Database, LockPatience, Models, WaitBounds } from "../platform/database/database.js";
import type { Tracer } from "../platform/telemetry/tracer.js";
import { Unavailable } from "./failure.js";
import { Gate } from "./gate.js";
import { Patience } from "./patience.js";
import type { Stopwatch, WaitedFor } from "./waits.js";

const { connections, searchConnections, poolSharePerAccount } = LIMITS.database;
const { searchesPerAccount, exportsPerAccount, waitingPerAccount, lockWaitLeastMs } = LIMITS.database;
/** The maximum number of connections that one account uses at the same time, without those for searches. */
export const CONNECTIONS_PER_ACCOUNT = Math.max(1, Math.floor(connections * poolSharePerAccount));

/**
 * Limits what each account does in the database at the same time: its statements by a share of the connections, its
 * searches and its pages of exports by their number. Further ones wait in the account's own queue, so a busy account
 * does not delay others.
 */
export class DatabaseShares {
  readonly #accounts = new Map<string, Share>();
  readonly #all = new Gate(connections);
  readonly #searches = new Gate(searchConnections);

  constructor(
    private readonly database: Database,
    private readonly bounds: WaitBounds = LIMITS.database,
    private readonly tracer?: Pick<Tracer, "during">,
  ) {}

  /** How many statements wait: for any connection, or because their account has its share already. */
  get waiting(): Readonly<Record<Waited, number>> {
    let account = 0;
    for (const share of this.#accounts.values()) for (const gate of Object.values(share)) account += gate.waiting;
    return { shared: this.#all.waiting, search: this.#searches.waiting, account };
  }

  /**
   * The database for one account. `account` is any name for it, such as the user's id. The statements of one request
   * share its patience; without one, each statement has its own.
   */
  of(account: string, patience?: Patience): Database {
    const { database } = this;
    const pass = <T>(kind: keyof Share, work: Work<T>): Promise<T> =>
      this.#pass(account, kind, patience ?? new Patience(this.bounds.connectionWaitMs), work);
    const all = <T>(work: Work<T>): Promise<T> => pass("all", work);
    const explained = async (error: unknown): Promise<never> => {
      throw await database.explain(error);
    };
    return {
      get models() {
        return gateModels(database, all);
      },
      run: (statement, values) =>
        statement.reserved
          ? database.run(statement, values).catch(explained)
          : pass(statement.isPage ? "exports" : "all", (locks) => database.run(statement, values, locks)),
      search: (work) => pass("searches", (locks) => database.search(work, locks)),
      readPages: (read) => all((locks) => database.readPages(read, locks)),
      transaction: (work) => all((locks) => database.transaction(work, locks)),
      whyWaitFailed: (error) => database.whyWaitFailed(error),
      explain: (error) => database.explain(error),
    };
  }

  /** Runs work after waiting at both gates. These waits share the patience; the rest of it limits waits for locks. */
  async #pass<T>(account: string, kind: keyof Share, patience: Patience, work: Work<T>): Promise<T> {
    const share = this.#accounts.get(account) ?? newShare();
    this.#accounts.set(account, share);
    const isSearch = kind === "searches";
    const gates = [
      { pool: "account", gate: share[kind] },
      // A page of an export also counts as one of the account's statements.
      ...(kind === "exports" ? [{ pool: "account", gate: share.all } as const] : []),
      { pool: isSearch ? "search" : "shared", gate: isSearch ? this.#searches : this.#all },
    ] as const;
    const entered: Gate[] = [];
    const answer = patience.waits.of("database");
    let begunAt = 0;
    try {
      for (const { pool, gate } of gates) {
        const turn = gate.enter(patience.leftMs);
        if (turn) await this.#during(pool, patience.during(turn, pool));
        entered.push(gate);
      }
      begunAt = performance.now();
      answer.start();
      return await work(this.#locksFor(patience));
    } catch (error) {
      const whyWait = this.database.whyWaitFailed(error);
      const why = error instanceof Unavailable ? error.why : whyWait;
      if (why) patience.exhaust();
      if (whyWait === "slow") tellLockWait(patience.waits.of("lock"), begunAt);
      // Others in these queues would only get the same failure, later.
      if (why === "unreachable") for (const { gate } of gates) gate.refuse(why);
      throw await this.database.explain(error);
    } finally {
      if (begunAt > 0) answer.stop();
      for (const gate of entered.reverse()) gate.leave();
      if (Object.values(share).every((gate) => gate.isIdle)) this.#accounts.delete(account);
    }
  }

  /** Gives a wait a span, so that operators see it. */
  #during(pool: Waited, wait: Promise<void>): Promise<void> {
    const part = { name: "wait for the database", facts: { "memory_graph.pool": pool } };
    return this.tracer ? this.tracer.during(part, () => wait) : wait;
  }

  #locksFor({ leftMs }: Patience): LockPatience | undefined {
    return leftMs < this.bounds.lockWaitMs ? { lockMs: Math.max(lockWaitLeastMs, leftMs) } : undefined;
  }
}

/**
 * Counts the whole time of a statement that did not get its lock as a wait for it: PostgreSQL does not tell how long
 * that was, and such a statement does little else.
 */
function tellLockWait(lock: Stopwatch, since: number): void {
  // Of several waits at the same time, only the longest counts.
  lock.add(Math.max(0, performance.now() - since - lock.ms));
}

/** Work with a connection; `locks` limits its waits for locks. */
type Work<T> = (locks: LockPatience | undefined) => Promise<T>;

/** What is waited for: a connection of this pool, or the account's share. */
type Waited = Extract<WaitedFor, "shared" | "search" | "account">;

interface Share {
  readonly all: Gate;
  readonly searches: Gate;
  readonly exports: Gate;
}

const waitingLine = {
  max: waitingPerAccount,
  refusal:
    `At most ${waitingPerAccount} steps of your requests may wait for the database. Send fewer requests at a ` +
    "time, or ask for less in each.",
};

const newShare = (): Share => ({
  all: new Gate(CONNECTIONS_PER_ACCOUNT, waitingLine),
  searches: new Gate(searchesPerAccount, waitingLine),
  exports: new Gate(exportsPerAccount, waitingLine),
});

type Pass = <T>(work: Work<T>) => Promise<T>;

/**
 * Prisma's models, where each call waits at the gate. Prisma starts a call only when it is awaited: inside the gate. A
 * shorter wait for locks can only be set in a transaction.
 */
const gateModels = (database: Database, pass: Pass): Models =>
  passCalls(database.models, (call) =>
    pass(async (locks) =>
      locks ? database.transaction(async ({ models }) => call(models), locks) : call(database.models),
    ),
  );

/** The same models, whose calls go through `pass`: it gets what makes the call, on any models, and the call's name. */
export const passCalls = (
  own: Models,
  pass: (call: (models: Models) => unknown, name: readonly (string | symbol)[]) => unknown,
): Models =>
  mapProperties(own, (model, modelName) =>
    mapProperties(model as object, (method, name) => {
      if (typeof method !== "function") return method;
      const callOn = (models: Models, values: unknown[]): unknown => {
        const target = Reflect.get(models, modelName) as object;
        return Reflect.apply(Reflect.get(target, name) as typeof method, target, values);
      };
      return (...values: unknown[]) => pass((models) => callOn(models, values), [modelName, name]);
    }),
  );

/** A view of an object with changed properties. */
const mapProperties = <T extends object>(target: T, change: (value: unknown, name: string | symbol) => unknown): T =>
  new Proxy(target, { get: (_target, name) => change(Reflect.get(target, name), name) });
