import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { choresOf } from "./chores.js";
import type { Config } from "./config.js";
import { createDoors, tellInRest } from "./doors.js";
import { LIMITS } from "./limits.js";
import { type Services, createServices } from "./operation/context.js";
import { DatabaseShares } from "./operation/shares.js";
import type { DatabaseUrl } from "./platform/bounded-pool.js";
import { startChores } from "./platform/chores.js";
import { whyUnavailable } from "./platform/database-errors.js";
import { type OpenDatabase, type WaitBounds, openDatabase } from "./platform/database.js";
import type { Logger } from "./platform/logger.js";
import { type PaymentWaits, billingOf } from "./platform/payments.js";
import { type Budgets, ProcessBudgets, RedisBudgets } from "./platform/rate-limiter.js";
import { StartError } from "./platform/start-error.js";
import { warnSeldom } from "./platform/warn-seldom.js";
import type { Health } from "./surfaces/health.js";
import type { HttpLimits } from "./surfaces/http-limits.js";
import { createExpressServer } from "./surfaces/server.js";
import { Work } from "./surfaces/work.js";

/** A server that is listening, and ends in good order when it is disposed of. */
export interface RunningApp extends AsyncDisposable {
  readonly url: string;
  readonly services: Services;
}

/** What the benchmark and tests have otherwise than operators do. */
export interface AppWishes {
  readonly budgets?: Budgets;
  readonly http?: HttpLimits;
  readonly storage?: Services["storage"];
  readonly waits?: WaitBounds;
  readonly paymentWaits?: PaymentWaits;
}

/**
 * Serves a migrated database until it is disposed of: the one at this address, or one that the caller has opened and
 * will close.
 */
export async function startApp(
  config: Config,
  where: DatabaseUrl | OpenDatabase,
  log: Logger,
  wishes: AppWishes = {},
): Promise<RunningApp> {
  const { http = LIMITS.http, storage = LIMITS.storage, waits = LIMITS.database, paymentWaits } = wishes;
  const budgets = wishes.budgets ?? (config.redisUrl ? new RedisBudgets(config.redisUrl, log) : new ProcessBudgets());
  const onError = (err: Error) =>
    warnSeldom(log, `connection ${whyUnavailable(err)}`, { err }, "a database connection was lost");
  const isOpen = typeof where === "object";
  const database = isOpen ? where : openDatabase(where, onError, waits);
  const services = createServices({
    database,
    shares: new DatabaseShares(database, waits),
    budgets,
    storage,
    billing: billingOf(config, log, paymentWaits),
    log,
    publicUrl: () => config.publicUrl ?? url,
    resultHours: config.retention.resultsHours,
  });
  let stopping = false;
  // Known once it listens; nobody is served before.
  let url = "";
  const health: Health = { pool: database.reservedPool, isStopping: () => stopping };
  const work = new Work(http);
  const handler = await createDoors({ config, services, http, work, health, waitMs: waits.connectionWaitMs });
  const server = createExpressServer(handler, {
    ...{ limits: http, log, form: tellInRest },
    behindProxies: config.trustedProxies > 0,
    turns: work.turns,
  });
  const close = async () => {
    work[Symbol.dispose]();
    await budgets.close();
    if (!isOpen) await database[Symbol.asyncDispose]();
  };
  try {
    await listen(server, config);
  } catch (error) {
    await close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
  // Not before: mails link to the address, which may only now be known.
  const chores = startChores(choresOf(config, services), log);
  const stop = async () => {
    stopping = true;
    const drained = new AbortController();
    const over = sleep(LIMITS.stop.drainMs, undefined, { signal: drained.signal }).catch(() => {});
    await Promise.all([closeServer(server), Promise.race([chores[Symbol.asyncDispose](), over])]);
    drained.abort();
    await close();
  };
  let stopped: Promise<void> | undefined;
  return { url, services, [Symbol.asyncDispose]: () => (stopped ??= stop()) };
}

function listen(server: Server, { host, port }: Pick<Config, "host" | "port">): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(explainListening(error, host, port));
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

const LISTENING_SENTENCES: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there. Stop it, or choose another PORT",
  EACCES: "this user may not. Choose a PORT from 1024 on",
  EADDRNOTAVAIL: "this machine does not have the address. Correct HOST",
  ENOTFOUND: "the name is not known. Correct HOST",
  EAI_AGAIN: "the name cannot be looked up. Correct HOST, or look at the name service",
};

function explainListening(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const sentence = LISTENING_SENTENCES[error.code ?? ""];
  return sentence
    ? new StartError(`The service cannot listen on ${host}, port ${port}: ${sentence} (${error.code}).`)
    : error;
}

/** Stops accepting and waits until every request that had begun is answered. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), LIMITS.stop.drainMs);
    // A request that had begun before is answered as ever; its connection is kept alive and has to be closed then.
    const sweep = setInterval(() => server.closeIdleConnections(), 100);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
  });
}
