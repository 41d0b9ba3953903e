import { hash } from "node:crypto";
import { Redis } from "ioredis";
import { LIMITS } from "../limits.js";
import type { Logger } from "./logger.js";

/** What came of asking a budget. */
export interface Taken {
  /** What had been used of the window's budget before. */
  readonly used: number;
  /** When the window ends, from now: at most as long as the window is. */
  readonly resetMs: number;
}

export interface Wish {
  readonly limit: number;
  readonly cost: number;
  /** How long the window is; always the same for one name. */
  readonly windowMs?: number;
}

/** Budgets by name, each for a window that begins with its first use: of a minute, unless the wish says else. */
export interface Budgets {
  /**
   * Takes `cost` if the budget has room for it, else nothing: one atomic step. Room there was exactly when
   * `used + cost <= limit`.
   */
  take(name: string, wish: Wish): Promise<Taken>;
  close(): Promise<void>;
}

const { windowMs: WINDOW_MS } = LIMITS.budgets;
/**
 * How many budgets of one length a process remembers, about 200 bytes each; beyond that, those that ended are forgotten
 * first, then the oldest.
 */
const REMEMBERED_MAX = 100_000;
/** A longer name, such as one with a long e-mail address in it, is remembered by its hash. */
const NAME_MAX_LENGTH = 64;

/** Budgets in this process: exact as long as it is the only one. */
export class ProcessBudgets implements Budgets {
  /** By length, so that in each map those that end first stand in front. */
  readonly #windowsByLength = new Map<number, Map<string, Window>>();
  readonly #clock: () => number;

  /** `clock` tells milliseconds, from whenever it likes. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  async take(name: string, { limit, cost, windowMs = WINDOW_MS }: Wish): Promise<Taken> {
    // Whole milliseconds: sums of fractions are rounded, and a window would seem to be longer than it is.
    const now = Math.floor(this.#clock());
    const windows = this.#windowsByLength.get(windowMs) ?? new Map<string, Window>();
    this.#windowsByLength.set(windowMs, windows);
    const key = name.length <= NAME_MAX_LENGTH ? name : hash("sha256", name, "base64");
    let window = windows.get(key);
    if (!window || window.endsAt <= now) {
      // Behind the others, so that the oldest stand in front.
      windows.delete(key);
      window = { used: 0, endsAt: now + windowMs };
      windows.set(key, window);
      forget(windows, now);
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

function forget(windows: Map<string, Window>, now: number): void {
  for (const [name, { endsAt }] of windows) {
    if (endsAt > now && windows.size <= REMEMBERED_MAX) return;
    windows.delete(name);
  }
}

/** The same step as in the process, for all processes: a script runs in Redis without any other between. */
const TAKE = `
  local used = tonumber(redis.call('GET', KEYS[1]) or '0')
  local left = redis.call('PTTL', KEYS[1])
  if left <= 0 then used = 0; left = tonumber(ARGV[3]) end
  if used + tonumber(ARGV[1]) <= tonumber(ARGV[2]) then
    redis.call('SET', KEYS[1], used + tonumber(ARGV[1]), 'PX', left)
  end
  return { used, left }`;

/** A request waits this long for Redis at the most, so that a hung one is hardly felt. */
const COMMAND_TIMEOUT_MS = 200;
/** After a failure Redis is left alone this long, so that a hung one is felt by few. */
const PAUSE_MS = 1_000;

interface RedisWithTake extends Redis {
  takeFromBudget(name: string, cost: number, limit: number, windowMs: number): Promise<[used: number, resetMs: number]>;
}

/** Budgets in Redis, exact over all instances; while it is lost, each instance counts for itself. */
export class RedisBudgets implements Budgets {
  readonly #redis: RedisWithTake;
  readonly #meanwhile = new ProcessBudgets();
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
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectTimeout: 500,
      retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    });
    redis.defineCommand("takeFromBudget", { numberOfKeys: 1, lua: TAKE });
    // Told once below; without a listener each failed attempt to connect would be printed.
    redis.on("error", () => {});
    this.#redis = redis as RedisWithTake;
  }

  async take(name: string, wish: Wish): Promise<Taken> {
    const { limit, cost, windowMs = WINDOW_MS } = wish;
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
        // Commands without an answer stay queued on the connection; with a hung Redis they would pile up without end.
        if (isFirst && isTimeout(err)) this.#redis.disconnect(true);
        if (!this.#lost) this.#log.warn({ err }, "Redis is lost: each instance counts requests for itself");
        this.#lost = true;
      } finally {
        this.#asking--;
      }
    }
    return this.#meanwhile.take(name, wish);
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }
}

/** The package tells so by its text alone. */
const isTimeout = (error: unknown): boolean => error instanceof Error && error.message === "Command timed out";
