import type { Config } from "../../config.js";
import { LIMITS } from "../../limits.js";
import { adviceForCertificate } from "../../platform/certificate-advice.js";
import { redisAt, saidBy } from "../../platform/rate-limit/redis-budgets.js";
import { Problem } from "./problem.js";

export async function checkRedis({ redisUrl }: Config): Promise<string | undefined> {
  if (redisUrl === undefined) return undefined;
  // Without a limit for commands it would wait forever for a server that hangs.
  const limits = { connectTimeout: 5_000, commandTimeout: 5_000, enableReadyCheck: false };
  const redis = redisAt(redisUrl, { lazyConnect: true, ...limits, retryStrategy: () => null });
  let cause: unknown;
  redis.on("error", (error) => (cause = error));
  try {
    await redis.connect();
    // Only an event reports a database that does not exist; the package would then use the first one.
    if (cause !== undefined) throw cause;
    // The same commands as the service: a Redis may answer, and yet refuse scripts or changes. The second time a
    // script is called by its hash.
    let took = 0;
    for (let time = 0; time < 2; time++) {
      const asked = performance.now();
      await redis.takeFromBudget("mg:budget:doctor", 1, 1, 1_000);
      took = performance.now() - asked;
      await redis.noteUse("mg:uses:doctor", 1, 1_000);
    }
    if (took > LIMITS.budgets.redisWaitMs) throw new Problem(tooSlow(Math.ceil(took)));
    return "Redis counts requests.";
  } catch (error) {
    if (error instanceof Problem) throw error;
    const message = saidBy((cause ?? error) as Error).replace(/\.$/, "");
    throw new Problem(`Redis cannot be used: ${message}. ${todoForRedis(message)}`);
  } finally {
    redis.disconnect();
  }
}

const tooSlow = (ms: number): string =>
  `Redis takes ${ms} ms to count a request, and the service waits ${LIMITS.budgets.redisWaitMs} ms: each server counts ` +
  "for itself. Look at its SLOWLOG and its machine, or use a nearer one.";

function todoForRedis(message: string): string {
  const [, todo] = TODOS.find(([error]) => error.test(message)) ?? [];
  return (
    todo ??
    certificateAdvice(message) ??
    "Check REDIS_URL, with `rediss:` if it uses TLS, otherwise `redis:`, and that this machine may reach it."
  );
}

function certificateAdvice(message: string): string | undefined {
  const advice = adviceForCertificate(message, "REDIS_URL");
  if (advice === undefined) return undefined;
  return `${advice} If its host has no certificate to trust, \`?tls.rejectUnauthorized=false\` at the end accepts any.`;
}

/** What to do, by the beginnings of messages; those of Redis's own errors are words in capitals. */
const TODOS = [
  [
    /^(Connection is closed|read ECONNRESET|write EPIPE)/,
    "It closes the connection: check its log and its maxclients, or begin REDIS_URL with `rediss:` if it uses TLS.",
  ],
  [
    /^Command timed out/,
    "It takes the connection, and does not answer: look at its SLOWLOG and its machine, or check REDIS_URL, with " +
      "`rediss:` if it uses TLS.",
  ],
  [/^Unknown RESP type/, "Another program answers there: correct REDIS_URL."],
  [/^(NOAUTH|WRONGPASS)/, "Write the user and password into REDIS_URL: redis://user:password@host:6379."],
  [/DB index|\bSELECT\b/, "End REDIS_URL with the number of a database that it has, or with none."],
  [/^(READONLY|MASTERDOWN)/, "It is a replica: name its primary in REDIS_URL."],
  [/^LOADING/, "It reads its data after a start: wait until it has."],
  [/^OOM/, "Raise its maxmemory, or set its maxmemory-policy to allkeys-lru."],
  [/^BUSY/, "Another program's script or function runs for too long: end it by SCRIPT KILL or FUNCTION KILL."],
  [/^MISCONF/, "It cannot save its data: look at its log, its disk, and INFO persistence."],
  [/^NOREPLICAS/, "Too few replicas follow it: look at INFO replication, or lower its min-replicas-to-write."],
  [/^ERR max number of clients/, "Raise its maxclients, or let fewer programs use it."],
  [
    /^(MOVED|ASK|CLUSTERDOWN|CROSSSLOT) /,
    "It is a part of a cluster, but it must be one Redis, no cluster: take one without cluster mode, or the address of a " +
      "proxy in front of the cluster; in Azure Managed Redis choose the clustering policy Enterprise or Non-clustered.",
  ],
  [/^[A-Z]{3,} /, "It must be one Redis, no cluster, that runs scripts; docs/operations.md lists the user's rights."],
] as const;
