import { hash } from "node:crypto";
import { Redis } from "ioredis";
import { LIMITS } from "../limits.js";
import type { Logger } from "./logger.js";

/** The state of a budget when it was charged. */
export interface Taken {
  /** How much of the window's budget was used before. */
  readonly used: number;
  /** In how many milliseconds the window ends; at most its length. */
  readonly resetMs: number;
}

export interface Charge {
  readonly limit: number;
  readonly cost: number;
  /** The length of the window; always the same for one name. */
  readonly windowMs?: number;
}

/** Budgets by name, each for a window that begins with its first use; a minute by default. */
export interface Budgets {
  /**
   * Takes `cost` if the budget has enough left, otherwise nothing, in one atomic step. It was taken exactly when
   * `used + cost <= limit`.
   */
  take(name: string, charge: Charge): Promise<Taken>;
  close(): Promise<void>;
}

const { windowMs: WINDOW_MS } = LIMITS.budgets;
/**
 * How many budgets of one window length a process keeps, about 200 bytes each. Beyond that, it deletes those that ended,
 * then the oldest.
 */
const REMEMBERED_MAX = 100_000;
/** A longer name, such as one with a long e-mail address, is stored as its hash. */
const NAME_MAX_LENGTH = 64;

/** Budgets in this process: exact if it is the only one. */
export class ProcessBudgets implements Budgets {
  /** By window length, so that in each map those that end first come first. */
  readonly #windowsByLength = new Map<number, Map<string, Window>>();
  readonly #clock: () => number;

  /** `clock` returns milliseconds since any fixed moment. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  async take(name: string, { limit, cost, windowMs = WINDOW_MS }: Charge): Promise<Taken> {
    // Whole milliseconds: with fractions, rounding could make a window longer than it is.
    const now = Math.floor(this.#clock());
    const windows = this.#windowsByLength.get(windowMs) ?? new Map<string, Window>();
    this.#windowsByLength.set(windowMs, windows);
    const key = name.length <= NAME_MAX_LENGTH ? name : hash("sha256", name, "base64");
    let window = windows.get(key);
    if (!window || window.endsAt <= now) {
      // Deleted and added again, so that the oldest come first.
      windows.delete(key);
      window = { used: 0, endsAt: now + windowMs };
      windows.set(key, window);
      removeOld(windows, now);
    }
    const { used, endsAt } = window;
    if (used + cost <= limit) window.used += cost;
    return { used, resetMs: endsAt - now };
  }

  async close(): Promise<void> {}
}

interface Window {
  used: number;
  readonly endsAt: number;
}

function removeOld(windows: Map<string, Window>, now: number): void {
  for (const [name, { endsAt }] of windows) {
    if (endsAt > now && windows.size <= REMEMBERED_MAX) return;
    windows.delete(name);
  }
}

/** The same step for all processes: Redis runs a script atomically. */
const TAKE = `
  local used = tonumber(redis.call('GET', KEYS[1]) or '0')
  local left = redis.call('PTTL', KEYS[1])
  if left <= 0 then used = 0; left = tonumber(ARGV[3]) end
  if used + tonumber(ARGV[1]) <= tonumber(ARGV[2]) then
    redis.call('SET', KEYS[1], used + tonumber(ARGV[1]), 'PX', left)
  end
  return { used, left }`;

/** After a failure Redis is not used for this long, so that a hung Redis delays few requests. */
const PAUSE_MS = 1_000;

interface RedisWithTake extends Redis {
  takeFromBudget(name: string, cost: number, limit: number, windowMs: number): Promise<[used: number, resetMs: number]>;
}

/** Budgets in Redis, exact over all instances. While Redis is unavailable, each instance counts for itself. */
export class RedisBudgets implements Budgets {
  readonly #redis: RedisWithTake;
  readonly #fallback = new ProcessBudgets();
  readonly #log: Logger;
  #pausedUntil = 0;
  #lost = false;
  #asking = 0;

  constructor(url: string, log: Logger) {
    this.#log = log;
    const redis = new Redis(url, {
      // By default a request would wait for a lost server, for seconds and more.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: LIMITS.budgets.redisWaitMs,
      connectTimeout: 500,
      retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    });
    redis.defineCommand("takeFromBudget", { numberOfKeys: 1, lua: TAKE });
    // Logged once in `take`; without a listener each failed attempt to connect would be printed.
    redis.on("error", () => {});
    this.#redis = redis as RedisWithTake;
  }

  async take(name: string, charge: Charge): Promise<Taken> {
    const { limit, cost, windowMs = WINDOW_MS } = charge;
    if (performance.now() >= this.#pausedUntil && this.#asking < LIMITS.budgets.askingRedis) {
      this.#asking++;
      try {
        const [used, resetMs] = await this.#redis.takeFromBudget(`mg:budget:${name}`, cost, limit, windowMs);
        if (this.#lost) this.#log.info("Redis is back: budgets are shared again");
        this.#lost = false;
        return { used, resetMs };
      } catch (err) {
        const isFirst = performance.now() >= this.#pausedUntil;
        this.#pausedUntil = performance.now() + PAUSE_MS;
        // Commands without an answer stay queued on the connection; with a hung Redis the queue would grow forever.
        if (isFirst && isTimeout(err)) this.#redis.disconnect(true);
        if (!this.#lost) this.#log.warn({ err }, "Redis is lost: each instance counts requests for itself");
        this.#lost = true;
      } finally {
        this.#asking--;
      }
    }
    return this.#fallback.take(name, charge);
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }
}

/** The package marks a timeout only by its message. */
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message === "Command timed out";
