import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { Redis, type RedisOptions } from "ioredis";
import { LIMITS } from "../../limits.js";
import type { Logger } from "../telemetry/logger.js";
import type { Meter } from "../telemetry/meter.js";
import { type BudgetState, type Budgets, type Charge, ProcessBudgets } from "./rate-limiter.js";
import { warnSeldom } from "../telemetry/warn-seldom.js";
import { withinTime } from "../../within-time.js";

const { windowMs: WINDOW_MS } = LIMITS.budgets;

/**
 * Does the same as `ProcessBudgets.take` for all processes: Redis runs a script atomically. If Redis's clock was set
 * back, a window would last longer than it may: a new one begins.
 */
const TAKE = `
  local used = tonumber(redis.call('GET', KEYS[1]) or '0')
  local left = redis.call('PTTL', KEYS[1])
  if left <= 0 or left > tonumber(ARGV[3]) then used = 0; left = tonumber(ARGV[3]) end
  if used + tonumber(ARGV[1]) <= tonumber(ARGV[2]) then
    redis.call('SET', KEYS[1], used + tonumber(ARGV[1]), 'PX', left)
  end
  return { used, left }`;

/**
 * Notes uses in the same way, by Redis's clock, which all processes share. If it was set back, uses of later times are
 * forgotten, with all before them.
 */
const USE = `
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
  local ages, over = {}, 0
  for place, used in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    local age = now - tonumber(used)
    if age >= 0 and age < window then ages[#ages + 1] = age else ages = {}; over = place end
  end
  if over > 0 then redis.call('LTRIM', KEYS[1], over, -1) end
  if #ages < limit then
    redis.call('RPUSH', KEYS[1], now)
    redis.call('PEXPIRE', KEYS[1], window)
  end
  return ages`;

const LOST = "Redis is lost: each instance counts requests for itself. `npm run doctor` says what to do";
/** After a failure Redis is not used for this long, so that a hung Redis delays few requests. */
const PAUSE_MS = 1_000;
/** For the commands that a connection begins with. `#ask` waits less. */
const FIRST_COMMANDS_MS = 5 * LIMITS.budgets.redisWaitMs;

interface RedisWithBudgets extends Redis {
  takeFromBudget(name: string, cost: number, limit: number, windowMs: number): Promise<[used: number, resetMs: number]>;
  noteUse(name: string, limit: number, windowMs: number): Promise<number[]>;
}

type Options = Omit<RedisOptions, "replyMapping">;

/**
 * A client of the Redis at this address, with the scripts as commands. It sends nothing else but the password and the
 * number of the database. By default the package would say HELLO to begin the newer protocol, to which proxies in front
 * of Redis answer by errors that it does not know, or by closing the connection; nothing here needs that protocol.
 */
export function redisAt(text: string, options: Options): RedisWithBudgets {
  const url = new URL(text);
  const chosen: Options = { ...options, protocol: 2, disableClientInfo: true };
  if (url.protocol === "rediss:") chosen.tls = tlsOf(url);
  // The package knows the protocol only in small letters.
  const redis = new Redis(url.href, chosen);
  redis.defineCommand("takeFromBudget", { numberOfKeys: 1, lua: TAKE });
  redis.defineCommand("noteUse", { numberOfKeys: 1, lua: USE });
  return redis as RedisWithBudgets;
}

/**
 * The package would not say which host is meant, by which proxies choose a Redis and its certificate.
 * `?tls.rejectUnauthorized=false` accepts any certificate, as in `SMTP_URL`: some hosts offer none that can be verified.
 */
function tlsOf({ hostname, searchParams }: URL): ConnectionOptions {
  const isName = isIP(hostname.replace(/^\[|\]$/g, "")) === 0;
  return {
    ...(isName && { servername: hostname }),
    ...(searchParams.get("tls.rejectUnauthorized") === "false" && { rejectUnauthorized: false }),
  };
}

/** Budgets in Redis, exact over all instances. While Redis is unavailable, each instance counts for itself. */
export class RedisBudgets implements Budgets {
  readonly #redis: RedisWithBudgets;
  readonly #fallback = new ProcessBudgets();
  #pausedUntil = 0;
  /** Whether the log said last that Redis is lost. */
  #lost = false;
  #asking = 0;
  /** Why Redis is lost, as far as it is known. */
  #reason: string | undefined;

  constructor(
    url: string,
    private readonly log: Logger,
    private readonly meter?: Meter,
  ) {
    const redis = redisAt(url, {
      // With the default a request would wait for seconds or longer while Redis is lost.
      enableOfflineQueue: false,
      // The check would ask by INFO, and tell nothing while Redis loads its data; commands are refused with a reason.
      enableReadyCheck: false,
      maxRetriesPerRequest: 1,
      commandTimeout: FIRST_COMMANDS_MS,
      connectTimeout: 500,
      retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
      // After a failover the connection leads to a replica, and the address to the new primary.
      reconnectOnError: (error) => /^(READONLY|MASTERDOWN) /.test(saidBy(error)),
    });
    // Not for later ones: after a pause of this process the package would give up before it reads what has come in.
    redis.on("ready", () => delete redis.options.commandTimeout);
    redis.on("close", () => {
      redis.options.commandTimeout = FIRST_COMMANDS_MS;
      // If Redis closes it, as by CLIENT KILL, there is no error that says why.
      this.#reason ??= "the connection was closed";
    });
    // Logged here, since a command without a connection only says that there is none.
    redis.on("error", (error: Error) => {
      this.#lose(reasonOf(error) ?? saidBy(error));
      // Redis refused the password or the database. The package would continue with the first database.
      if (error.name === "ReplyError") redis.disconnect(true);
    });
    this.#redis = redis;
  }

  async take(name: string, charge: Charge): Promise<BudgetState> {
    const { limit, cost, windowMs = WINDOW_MS } = charge;
    const taken = await this.#ask((redis) => redis.takeFromBudget(`mg:budget:${name}`, cost, limit, windowMs));
    if (taken) return { used: taken[0], resetMs: taken[1] };
    this.meter?.redisFallback();
    return this.#fallback.take(name, charge);
  }

  async use(name: string, allowance: { limit: number; windowMs: number }): Promise<readonly number[]> {
    const { limit, windowMs } = allowance;
    const ages = await this.#ask((redis) => redis.noteUse(`mg:uses:${name}`, limit, windowMs));
    if (ages) return ages;
    this.meter?.redisFallback();
    return this.#fallback.use(name, allowance);
  }

  /** Redis's answer; undefined while it is unavailable, or too many wait for it. */
  async #ask<T extends readonly number[]>(question: (redis: RedisWithBudgets) => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.#pausedUntil || this.#asking >= LIMITS.budgets.askingRedis) return undefined;
    this.#asking++;
    try {
      const answer = await withinTime(question(this.#redis), LIMITS.budgets.redisWaitMs, () => {
        throw new NoAnswer("there was no answer in time");
      });
      if (!areNumbers(answer)) throw new OddAnswer("it answers what is no list of numbers");
      if (this.#lost) this.log.info("Redis is back: budgets are shared again");
      this.#lost = false;
      this.#reason = undefined;
      return answer;
    } catch (err) {
      const isFirst = performance.now() >= this.#pausedUntil;
      this.#pausedUntil = performance.now() + PAUSE_MS;
      // Commands without an answer stay queued on the connection; with a hung Redis the queue would grow forever. And an
      // odd answer may be that to another command.
      if (isFirst && (err instanceof NoAnswer || err instanceof OddAnswer)) this.#redis.disconnect(true);
      this.#lose(reasonOf(err));
      return undefined;
    } finally {
      this.#asking--;
    }
  }

  /**
   * Logs the loss, each kind of reason at most once a minute: a Redis that refuses only some keys, as a node of a
   * cluster does, is lost and back all the time. Until the loss is told, its end is not told either.
   */
  #lose(reason: string | undefined): void {
    this.#reason = reason ?? this.#reason;
    // The first word of an error of Redis is its code.
    const kind = `redis ${this.#reason?.split(" ", 1)[0] ?? ""}`;
    const isTold = warnSeldom(this.log, kind, { reason: this.#reason }, LOST);
    this.#lost ||= isTold;
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }
}

class NoAnswer extends Error {}

/** Whatever answers is no Redis. */
class OddAnswer extends Error {}

const areNumbers = (answer: unknown): boolean => Array.isArray(answer) && answer.every(Number.isFinite);

/**
 * What Redis says of a command. Before version 7 it wraps that where a script has sent the command. To what another
 * program answers the package adds a request to its users.
 */
export const saidBy = ({ message }: Error): string =>
  message.replace(/^ERR Error running script .*?: -|\. Please report this\.$/gs, "");

/** Why a command failed; undefined without a connection, of which the package tells by an event. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof NoAnswer || error instanceof OddAnswer) return error.message;
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  // Of an unknown command Redis repeats the arguments, which name users and addresses.
  return saidBy(error).replace(/, with args beginning with: .*/s, "");
}
