import { Redis } from "ioredis";
import type { Config } from "../../config.js";
import { withBudgets } from "../../platform/redis-budgets.js";
import { Problem } from "./problem.js";

export async function checkRedis({ redisUrl }: Config): Promise<string | undefined> {
  if (redisUrl === undefined) return undefined;
  // Without a limit for commands it would wait forever for a server that hangs.
  const limits = { connectTimeout: 5_000, commandTimeout: 5_000 };
  const redis = withBudgets(new Redis(redisUrl, { lazyConnect: true, ...limits, retryStrategy: () => null }));
  let cause: unknown;
  redis.on("error", (error) => (cause = error));
  try {
    await redis.connect();
    const version = /redis_version:(\S+)/.exec(await redis.info("server"))?.[1] ?? "of an unknown version";
    // What the service does there: a Redis may answer, and yet refuse scripts or changes.
    await redis.takeFromBudget("mg:budget:doctor", 1, 1, 1_000);
    await redis.noteUse("mg:uses:doctor", 1, 1_000);
    return `Redis ${version} counts requests.`;
  } catch (error) {
    const message = ((cause ?? error) as Error).message.replace(/\.$/, "");
    throw new Problem(`Redis cannot be used: ${message}. ${todoForRedis(message)}`);
  } finally {
    redis.disconnect();
  }
}

function todoForRedis(message: string): string {
  if (/^(NOAUTH|WRONGPASS)/.test(message)) {
    return "Write the user and password into REDIS_URL: redis://user:password@host:6379.";
  }
  // Redis's own errors begin with a word in capitals.
  return /^[A-Z]{3,} /.test(message)
    ? "It must be one Redis, no cluster, that runs scripts and has memory; docs/operations.md lists the user's rights."
    : "Check REDIS_URL, and that this machine may reach it.";
}
