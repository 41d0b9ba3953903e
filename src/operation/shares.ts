import { LIMITS } from "../limits.js";
import type { Database, Models, WaitBounds } from "../platform/database.js";
import { CommonFailure, Unavailable } from "./failure.js";

const { connections, searchConnections, poolSharePerAccount } = LIMITS.database;
const { searchesPerAccount, waitingPerAccount } = LIMITS.database;
const CONNECTIONS_PER_ACCOUNT = Math.max(1, Math.floor(connections * poolSharePerAccount));

/** The account's queue is full; what it has begun goes on. */
export class TooManyAtOnce extends CommonFailure {
  readonly kind = "rate_limited";
  override readonly reason = "too_many_at_once";
  override readonly retryAfterSeconds = 1;

  constructor() {
    super(
      `At most ${waitingPerAccount} steps of your requests may wait for the database. Send fewer requests at a ` +
        "time, or ask for less in each.",
    );
  }
}

/**
 * The database, shared out by account: each has at most a third of the connections at the same time and a few searches.
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

  /** The database for one account. `account` is any name for it, such as the user's id. */
  of(account: string): Database {
    const { database } = this;
    const all = <T>(work: () => Promise<T>): Promise<T> => this.#pass(account, "all", this.#all, work);
    return {
      get models() {
        return letPass(database.models, all);
      },
      run: (statement, values) =>
        statement.reserved ? database.run(statement, values) : all(() => database.run(statement, values)),
      search: (work) => this.#pass(account, "searches", this.#searches, () => database.search(work)),
      transaction: (work) => all(() => database.transaction(work)),
    };
  }

  /** Waits for both gates together at most `connectionWaitMs`. */
  async #pass<T>(account: string, kind: keyof Share, common: Gate, work: () => Promise<T>): Promise<T> {
    const share = this.#accounts.get(account) ?? newShare();
    this.#accounts.set(account, share);
    const deadline = performance.now() + this.bounds.connectionWaitMs;
    try {
      await share[kind].enter(deadline);
      try {
        await common.enter(deadline);
        try {
          return await work();
        } finally {
          common.leave();
        }
      } finally {
        share[kind].leave();
      }
    } finally {
      if (share.all.isIdle && share.searches.isIdle) this.#accounts.delete(account);
    }
  }
}

interface Share {
  readonly all: Gate;
  readonly searches: Gate;
}

const newShare = (): Share => ({
  all: new Gate(CONNECTIONS_PER_ACCOUNT, waitingPerAccount),
  searches: new Gate(searchesPerAccount, waitingPerAccount),
});

/** Lets a fixed number in at the same time; the others wait in a queue. */
class Gate {
  readonly #line: Array<() => void> = [];
  #free: number;

  constructor(
    private readonly insideMax: number,
    private readonly lineMax = Number.POSITIVE_INFINITY,
  ) {
    this.#free = insideMax;
  }

  get isIdle(): boolean {
    return this.#free === this.insideMax && this.#line.length === 0;
  }

  /**
   * @throws TooManyAtOnce when the line is full.
   * @throws Unavailable when the turn has not come by the deadline.
   */
  enter(deadline: number): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    if (this.#line.length >= this.lineMax) throw new TooManyAtOnce();
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#line.splice(this.#line.indexOf(enter), 1);
        reject(new Unavailable("busy"));
      }, deadline - performance.now());
      const enter = () => {
        clearTimeout(late);
        resolve();
      };
      this.#line.push(enter);
    });
  }

  leave(): void {
    const next = this.#line.shift();
    // The place goes straight to the next in the queue, so that a newcomer cannot take it first.
    if (next) next();
    else this.#free++;
  }
}

type Pass = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Prisma's models, each call of which waits at the gate. A call of Prisma's begins when it is awaited: inside the gate.
 */
function letPass(models: Models, pass: Pass): Models {
  return mapProperties(models, (model) =>
    mapProperties(model as object, (method) =>
      typeof method === "function"
        ? (...values: unknown[]) => pass(async () => (await Reflect.apply(method, model, values)) as unknown)
        : method,
    ),
  );
}

/** The same object with other properties. */
const mapProperties = <T extends object>(target: T, change: (value: unknown) => unknown): T =>
  new Proxy(target, { get: (_target, name) => change(Reflect.get(target, name)) });
