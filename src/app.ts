import { setTimeout as sleep } from "node:timers/promises";
import { readBacklog } from "./backlog.js";
import { choresOf } from "./chores.js";
import type { Config } from "./config.js";
import { createDoors, formatUnreadable } from "./doors.js";
import { LIMITS } from "./limits.js";
import { timeOf } from "./operation/clock-statement.js";
import { type Services, createServices, servicesFor } from "./operation/context.js";
import type { OlderReads } from "./operation/older-reads.js";
import { DatabaseShares } from "./operation/shares.js";
import { tracedDatabase } from "./operation/traced-database.js";
import type { DatabaseUrl } from "./platform/database/bounded-pool.js";
import { type Chore, startChores } from "./platform/chores.js";
import { whyUnavailable } from "./platform/database/database-errors.js";
import { type OpenDatabase, type WaitBounds, openDatabase } from "./platform/database/database.js";
import { acceptWaiting, addressOf, closeServer, isOnAll, listen } from "./platform/listen.js";
import { createMailer } from "./platform/mailer.js";
import { openFilesMax } from "./platform/open-files.js";
import { type Logger, countErrors } from "./platform/telemetry/logger.js";
import { openMeaning } from "./platform/meaning/meaning.js";
import type { Meter } from "./platform/telemetry/meter.js";
import type { MetricSources, Metrics } from "./platform/telemetry/metrics.js";
import type { PaymentWaits } from "./platform/billing/payments.js";
import { billingOf } from "./platform/billing/billing.js";
import { preparePooler } from "./platform/database/pooler.js";
import { type Budgets, ProcessBudgets } from "./platform/rate-limit/rate-limiter.js";
import { Replica, readWrittenPosition } from "./platform/database/replica.js";
import { SharedClock, idsBy } from "./platform/database/shared-clock.js";
import type { Tracer } from "./platform/telemetry/tracer.js";
import { warnSeldom } from "./platform/telemetry/warn-seldom.js";
import { withinTime } from "./within-time.js";
import { healthOf } from "./surfaces/health.js";
import type { HttpLimits } from "./surfaces/http-limits.js";
import { createExpressServer } from "./surfaces/server.js";
import { Work } from "./surfaces/work.js";

/** A server that is listening, and shuts down gracefully when it is disposed. */
export interface RunningApp extends AsyncDisposable {
  readonly url: string;
  /** Whether it listens on all addresses of this machine: `url` has one of them. */
  readonly isOnAll: boolean;
  /** Where Prometheus reads the metrics; undefined unless they are served. */
  readonly metricsUrl: string | undefined;
  readonly services: Services;
  /** Whether no request is being answered, and none was begun since the last call. */
  wasQuiet(): boolean;
}

/** Settings outside of the configuration. Only the benchmark and tests use them, except for the tracer. */
export interface AppOverrides {
  readonly tracer?: Tracer | undefined;
  readonly budgets?: Budgets;
  readonly http?: HttpLimits;
  readonly storage?: Services["storage"];
  readonly waits?: WaitBounds;
  readonly paymentWaits?: PaymentWaits;
  /** How long it still serves after it was told to stop. */
  readonly leaveMs?: number;
}

/** What changes during the life of a server. */
interface Life {
  /** Set when the server listens; no request comes before that. */
  url: string;
  isStopping: boolean;
}

/**
 * Serves a migrated database until it is disposed: the database at this address, or an open one, which the caller
 * closes.
 */
export async function startApp(
  config: Config,
  where: DatabaseUrl | OpenDatabase,
  log: Logger,
  overrides: AppOverrides = {},
): Promise<RunningApp> {
  const { http = httpLimits(log), waits = LIMITS.database } = overrides;
  const { leaveMs = config.development ? 0 : LIMITS.stop.leaveMs } = overrides;
  const life: Life = { url: "", isStopping: false };
  const mailer = await createMailer(config, log);
  const opened = await openServices(config, where, { log, overrides, life });
  const { services, clock, metrics, health, closeServices } = opened;
  const work = new Work(http);
  const handler = await createDoors({ config, services, http, work, health, waitMs: waits.connectionWaitMs });
  const server = createExpressServer(handler, {
    limits: http,
    log,
    form: formatUnreadable,
    behindProxies: config.trustedProxies > 0,
    turns: work.turns,
    isStopping: health.isStopping,
  });
  const metricsServer = metrics?.createServer();
  const close = async () => {
    work[Symbol.dispose]();
    metricsServer?.close().closeAllConnections();
    await closeServices();
  };
  try {
    await listen(server, config);
    if (metricsServer && config.metrics) await listen(metricsServer, config.metrics, "METRICS_");
  } catch (error) {
    // It may listen already, though the metrics cannot.
    server.close().closeAllConnections();
    await close();
    throw error;
  }
  life.url = addressOf(server, config.host);
  const metricsUrl = metricsServer && config.metrics && `${addressOf(metricsServer, config.metrics.host)}/metrics`;
  // Started last: mails link to the address, which may be known only now.
  const jobs = [...choresOf(config, services, mailer), clock.chore];
  const chores = startChores(jobs.map(counted(metrics, clock.now)), log);
  const stop = async () => {
    life.isStopping = true;
    if (leaveMs > 0) await sleep(leaveMs);
    const release = work.turns.hold();
    await acceptWaiting(server);
    const closed = closeServer(server);
    release();
    await Promise.all([closed, withinTime(chores[Symbol.asyncDispose](), LIMITS.stop.drainMs, () => {})]);
    await close();
  };
  let stopped: Promise<void> | undefined;
  const wasQuiet = () => work.wasQuiet();
  return {
    url: life.url,
    isOnAll: isOnAll(server),
    metricsUrl,
    services,
    wasQuiet,
    [Symbol.asyncDispose]: () => (stopped ??= stop()),
  };
}

/**
 * The documented limits, with fewer connections if the process may not open so many files: clients that use up all of
 * them would stop whatever else opens one.
 */
function httpLimits(log: Logger): HttpLimits {
  const files = openFilesMax();
  const connections = Math.min(LIMITS.http.connections, Math.max(1, files - LIMITS.start.filesKept));
  if (connections < LIMITS.http.connections) {
    log.warn(
      `this process may open ${files} files, so it accepts ${connections} connections at a time: raise the limit of ` +
        `open files (ulimit -n) for up to ${LIMITS.http.connections}`,
    );
  }
  return { ...LIMITS.http, connections };
}

interface ServiceParts {
  readonly log: Logger;
  readonly overrides: AppOverrides;
  readonly life: Readonly<Life>;
}

/** Opens what requests and background jobs need: databases, budgets, embeddings and metrics. */
async function openServices(config: Config, where: DatabaseUrl | OpenDatabase, { log, overrides, life }: ServiceParts) {
  const { storage = LIMITS.storage, waits = LIMITS.database, paymentWaits, tracer } = overrides;
  const { database, older } = await openDatabases(config, where, { log, waits, tracer });
  const health = healthOf(database.reservedPool, () => life.isStopping);
  const metrics =
    config.metrics &&
    (await metricsOf({
      pools: { ...poolsOf(database), ...(older && ofReplica(poolsOf(older))) },
      waiting: () => ({ ...services.shares.waiting, ...ofReplica(services.older?.shares.waiting ?? {}) }),
      errors: () => countErrors(log),
      isReady: async () => (await health.problem()) === null,
      isReadOnly: health.isReadOnly,
      backlog: () => readBacklog(servicesFor(services, "metrics")),
    }));
  const replicaParts = { primary: database, log, meter: metrics, delayMaxMs: waits.replicaDelayMs };
  const replica = older && new Replica(older, replicaParts);
  const budgets = overrides.budgets ?? (await budgetsOf(config, log, metrics));
  const meaning = config.embeddings && openMeaning(config.embeddings, metrics);
  const clock = new SharedClock({ readTime: () => timeOf(database), log });
  // If the database cannot be reached, the job does it later.
  await clock.read().catch(() => {});
  const services = createServices({
    database,
    now: clock.now,
    newId: idsBy(clock.now),
    meter: metrics,
    tracer,
    older: replica && olderReads(replica, database, waits, tracer),
    shares: new DatabaseShares(database, waits, tracer),
    budgets,
    storage,
    billing: billingOf(config, paymentWaits, { tracer, meter: metrics }),
    meaning,
    log,
    publicUrl: () => config.publicUrl ?? life.url,
    resultHours: config.retention.resultsHours,
  });
  const closeServices = async () => {
    await budgets.close();
    await meaning?.[Symbol.asyncDispose]();
    await replica?.[Symbol.asyncDispose]();
    if (typeof where !== "object") await database[Symbol.asyncDispose]();
  };
  return { services, clock, metrics, health, closeServices };
}

interface DatabaseParts {
  readonly log: Logger;
  readonly waits: WaitBounds;
  readonly tracer: Tracer | undefined;
}

/** The database, and its replica if one is configured. */
async function openDatabases(
  config: Config,
  where: DatabaseUrl | OpenDatabase,
  { log, waits, tracer }: DatabaseParts,
): Promise<{ database: OpenDatabase; older: OpenDatabase | undefined }> {
  const onErrorOf = (what: string) => (err: Error) =>
    warnSeldom(log, `${what} ${whyUnavailable(err)}`, { err }, `a connection to ${what} was lost`);
  const opened =
    typeof where === "object"
      ? where
      : openDatabase(where, onErrorOf("the database"), waits, { pooler: await poolerOf(config, where, waits) });
  const older = config.databaseReplicaUrl
    ? openDatabase(config.databaseReplicaUrl, onErrorOf("the replica"), waits, { isReplica: true })
    : undefined;
  await Promise.all([opened.loadModels(), older?.loadModels()]);
  return { database: tracer ? tracedDatabase(opened, tracer) : opened, older };
}

/** The package for metrics is loaded only where they are served. */
async function metricsOf(sources: MetricSources): Promise<Metrics> {
  const { Metrics } = await import("./platform/telemetry/metrics.js");
  return new Metrics(sources);
}

/** The client of Redis is loaded only where Redis is configured. */
async function budgetsOf({ redisUrl }: Config, log: Logger, meter?: Meter): Promise<Budgets> {
  if (redisUrl === undefined) return new ProcessBudgets();
  const { RedisBudgets } = await import("./platform/rate-limit/redis-budgets.js");
  return new RedisBudgets(redisUrl, log, meter);
}

const poolsOf = ({ pool, reservedPool, searchPool }: OpenDatabase) => ({
  shared: pool,
  reserved: reservedPool,
  search: searchPool,
});

/** Renames counts by pool to the names of the replica's pools. */
const ofReplica = <T>(counts: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(counts).map(([pool, count]) => [`replica-${pool}`, count]));

function olderReads(replica: Replica, primary: OpenDatabase, waits: WaitBounds, tracer?: Tracer): OlderReads {
  const { database } = replica;
  const shares = new DatabaseShares(tracer ? tracedDatabase(database, tracer) : database, waits, tracer);
  return { replica, shares, position: () => readWrittenPosition(primary) };
}

/** Prepares the pooler at `pooled`; undefined if none is configured. */
async function poolerOf({ directDatabaseUrl: direct }: Config, pooled: DatabaseUrl, waits: WaitBounds) {
  if (direct === undefined) return undefined;
  return preparePooler({ direct, pooled: typeof pooled === "string" ? pooled : pooled() }, waits);
}

/** Wraps a job, so that the metrics show when it last succeeded, by the clock that all servers share. */
const counted =
  (meter: Meter | undefined, now: () => Date) =>
  ({ run, ...chore }: Chore): Chore => {
    // Counted once at the start, so that a job that never succeeds is noticed, too.
    meter?.choreDone(chore.name, now());
    return {
      ...chore,
      async run() {
        const more = await run();
        meter?.choreDone(chore.name, now());
        return more;
      },
    };
  };
