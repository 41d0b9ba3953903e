import { createDoors, formatUnreadable } from "../../src/doors.js";
import { LIMITS } from "../../src/limits.js";
import { timeOf } from "../../src/operation/clock-statement.js";
import { createServices } from "../../src/operation/context.js";
import { CONNECTIONS_PER_ACCOUNT, DatabaseShares } from "../../src/operation/shares.js";
import { openDatabase } from "../../src/platform/database/database.js";
import { ProcessBudgets } from "../../src/platform/rate-limit/rate-limiter.js";
import { healthOf } from "../../src/surfaces/health.js";
import { createExpressServer } from "../../src/surfaces/server.js";
import { Work } from "../../src/surfaces/work.js";
import { listen } from "./listening.js";
import { PATIENT, PATIENT_DOORS } from "./patience.js";
import type { World } from "./world.js";

/** A server without background jobs: only requests send statements. */
export interface Doors extends AsyncDisposable {
  readonly url: string;
  /** Disconnects all clients. */
  disconnect(): void;
  /** What requests of these accounts did not give back: connections, places in queues. */
  keptBy(accounts: readonly string[]): Promise<string[]>;
}

export async function serveDoors(
  { services: { billing, log, now, newId } }: World,
  databaseUrl: string,
): Promise<Doors> {
  const database = openDatabase(databaseUrl, () => {}, PATIENT);
  const shares = new DatabaseShares(database, PATIENT);
  const budgets = new ProcessBudgets();
  const services = createServices({
    database,
    shares,
    budgets,
    billing,
    log,
    now,
    newId,
    publicUrl: () => "https://example.com",
  });
  const http = { ...LIMITS.http, ...PATIENT_DOORS };
  const work = new Work(http);
  const health = healthOf(database.reservedPool, () => false);
  const config = { allowedOrigins: [], development: false, publicUrl: undefined, trustedProxies: 1 };
  const handler = await createDoors({ config, services, http, work, health, waitMs: PATIENT.connectionWaitMs });
  const server = createExpressServer(handler, {
    limits: http,
    log,
    form: formatUnreadable,
    behindProxies: true,
    turns: work.turns,
    isStopping: health.isStopping,
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    disconnect: () => server.closeAllConnections(),
    async keptBy(accounts) {
      const pools = [database.pool, database.reservedPool, database.searchPool];
      const kept = pools.map(({ totalCount, idleCount, waitingCount }) => totalCount - idleCount + waitingCount);
      let waiting = 0;
      // As many statements as each of them, and all together, may run at once: none waits, unless a place is taken.
      const all = Array.from({ length: LIMITS.database.connections }, (_, number) => `account ${number}`);
      for (const at of [...accounts.map((one) => Array<string>(CONNECTIONS_PER_ACCOUNT).fill(one)), all]) {
        const asked = at.map((account) => timeOf(shares.of(account)));
        const { shared, search } = shares.waiting;
        waiting += shares.waiting.account + shared + search;
        await Promise.all(asked);
      }
      const counts = { connections: kept.reduce((sum, one) => sum + one), places: waiting };
      return Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${what}: ${count}`] : []));
    },
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections();
      work[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
