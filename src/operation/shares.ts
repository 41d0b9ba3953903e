import { LIMITS } from "../limits.js";
import type { Database, LockPatience, Models, WaitBounds } from "../platform/database.js";
import { Unavailable } from "./failure.js";
import { Gate } from "./gate.js";
import { Patience } from "./patience.js";

const { connections, searchConnections, poolSharePerAccount } = LIMITS.database;
const { searchesPerAccount, waitingPerAccount, lockWaitLeastMs } = LIMITS.database;
/** How many connections one account may have at the same time, of those for everything but searches. */
export const CONNECTIONS_PER_ACCOUNT = Math.max(1, Math.floor(connections * poolSharePerAccount));

/**
 * The database, shared out by account: each has a part of the connections at the same time, and a few searches.
 * What it asks for beyond that waits in the account's own queue, so one busy account keeps nobody else waiting.
 */
export class DatabaseShares {
  readonly #accounts = new Map<string, Share>();
  readonly #all = new Gate(connections);
  readonly #searches = new Gate(searchConnections);

  constructor(
    private readonly database: Database,
    private readonly bounds: WaitBounds = LIMITS.database,
  ) {}

  /**
   * The database for one account. `account` is any name for it, such as the user's id. What is done for one request
   * shares its patience; without one, each step has all of it.
   */
  of(account: string, patience?: Patience): Database {
    const { database } = this;
    const pass = <T>(kind: keyof Share, work: Work<T>): Promise<T> =>
      this.#pass(account, kind, patience ?? new Patience(this.bounds.connectionWaitMs), work);
    const all = <T>(work: Work<T>): Promise<T> => pass("all", work);
    return {
      get models() {
        return letPass(database, all);
      },
      run: (statement, values) =>
        statement.reserved ? database.run(statement, values) : all((locks) => database.run(statement, values, locks)),
      search: (work) => pass("searches", (locks) => database.search(work, locks)),
      transaction: (work) => all((locks) => database.transaction(work, locks)),
      waitedInVain: (error) => database.waitedInVain(error),
    };
  }

  /** Waits for both gates together as long as there is patience; what is left of it is for locks. */
  async #pass<T>(account: string, kind: keyof Share, patience: Patience, work: Work<T>): Promise<T> {
    const share = this.#accounts.get(account) ?? newShare();
    this.#accounts.set(account, share);
    const gates = [share[kind], kind === "all" ? this.#all : this.#searches];
    const entered: Gate[] = [];
    try {
      for (const gate of gates) {
        const turn = gate.enter(patience.leftMs);
        if (turn) await patience.during(turn);
        entered.push(gate);
      }
      return await work(this.#locksFor(patience));
    } catch (error) {
      const why = error instanceof Unavailable ? error.why : this.database.waitedInVain(error);
      if (why) patience.exhaust();
      // Whoever waits here would find the same, and later.
      if (why === "unreachable") for (const gate of gates) gate.refuse(why);
      throw error;
    } finally {
      for (const gate of entered.reverse()) gate.leave();
      if (share.all.isIdle && share.searches.isIdle) this.#accounts.delete(account);
    }
  }

  #locksFor({ leftMs }: Patience): LockPatience | undefined {
    return leftMs < this.bounds.lockWaitMs ? { lockMs: Math.max(lockWaitLeastMs, leftMs) } : undefined;
  }
}

/** What is done with a connection; locks may be waited for less than usual. */
type Work<T> = (locks: LockPatience | undefined) => Promise<T>;

interface Share {
  readonly all: Gate;
  readonly searches: Gate;
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
});

type Pass = <T>(work: Work<T>) => Promise<T>;

/**
 * Prisma's models, each call of which waits at the gate. A call of Prisma's begins when it is awaited: inside the gate.
 * Where locks are to be waited for less than usual, it needs a transaction to say so.
 */
function letPass(database: Database, pass: Pass): Models {
  const call = (models: Models, model: string | symbol, method: string | symbol, values: unknown[]): unknown => {
    const target = Reflect.get(models, model) as object;
    return Reflect.apply(Reflect.get(target, method) as (...all: unknown[]) => unknown, target, values);
  };
  return mapProperties(database.models, (model, modelName) =>
    mapProperties(model as object, (method, name) =>
      typeof method === "function"
        ? (...values: unknown[]) =>
            pass(async (locks) =>
              locks
                ? database.transaction(async ({ models }) => call(models, modelName, name, values), locks)
                : call(database.models, modelName, name, values),
            )
        : method,
    ),
  );
}

/** The same object with other properties. */
const mapProperties = <T extends object>(target: T, change: (value: unknown, name: string | symbol) => unknown): T =>
  new Proxy(target, { get: (_target, name) => change(Reflect.get(target, name), name) });
