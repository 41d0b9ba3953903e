import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { choresOf } from "./chores.js";
import type { Config } from "./config.js";
import { createDoors, formatRestError } from "./doors.js";
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

/** A server that is listening, and shuts down gracefully when it is disposed. */
export interface RunningApp extends AsyncDisposable {
  readonly url: string;
  readonly services: Services;
}

/** Settings that only the benchmark and tests change. */
export interface AppOverrides {
  readonly budgets?: Budgets;
  readonly http?: HttpLimits;
  readonly storage?: Services["storage"];
  readonly waits?: WaitBounds;
  readonly paymentWaits?: PaymentWaits;
}

/**
 * Serves a migrated database until it is disposed: the one at this address, or an open one, which the caller closes.
 */
export async function startApp(
  config: Config,
  where: DatabaseUrl | OpenDatabase,
  log: Logger,
  overrides: AppOverrides = {},
): Promise<RunningApp> {
  const { http = LIMITS.http, storage = LIMITS.storage, waits = LIMITS.database, paymentWaits } = overrides;
  const budgets =
    overrides.budgets ?? (config.redisUrl ? new RedisBudgets(config.redisUrl, log) : new ProcessBudgets());
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
  // Set when the server listens; no request comes before that.
  let url = "";
  const health: Health = { pool: database.reservedPool, isStopping: () => stopping };
  const work = new Work(http);
  const handler = await createDoors({ config, services, http, work, health, waitMs: waits.connectionWaitMs });
  const server = createExpressServer(handler, {
    ...{ limits: http, log, form: formatRestError },
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
  // Started last: mails link to the address, which may be known only now.
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
  EACCES: "this user has no permission. Choose a PORT from 1024 on",
  EADDRNOTAVAIL: "this machine does not have the address. Correct HOST",
  ENOTFOUND: "the host name is unknown. Correct HOST",
  EAI_AGAIN: "the host name cannot be resolved. Correct HOST, or check DNS",
};

function explainListening(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const sentence = LISTENING_SENTENCES[error.code ?? ""];
  return sentence
    ? new StartError(`The service cannot listen on ${host}, port ${port}: ${sentence} (${error.code}).`)
    : error;
}

/** Stops accepting connections, and waits until every running request is answered. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), LIMITS.stop.drainMs);
    // A running request is answered normally; its connection stays open after that and must then be closed.
    const sweep = setInterval(() => server.closeIdleConnections(), 100);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
  });
}
