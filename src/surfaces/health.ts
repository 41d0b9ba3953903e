import { type Handler, Router } from "express";
import type pg from "pg";
import { LIMITS } from "../limits.js";
import { isMigrated, isReadOnly } from "../platform/database/migrations.js";
import { PACKAGE } from "../platform/project.js";
import { StartError } from "../platform/start-error.js";
import { withinTime } from "../within-time.js";
import { scopeOf } from "./request-scope.js";
import { refuseOtherMethods } from "./plain-errors.js";

export interface Health {
  /** Why the server cannot serve; null if it can. */
  problem(): Promise<string | null>;
  /** Whether the database accepts no changes; false also where that is not known. */
  isReadOnly(): Promise<boolean>;
  /** Whether the server is going down and takes no new work. */
  isStopping(): boolean;
}

/**
 * `/healthz` says that the process is alive, for restarts; `/readyz` that it can serve, for load balancers. `/health`
 * says the same as `/readyz`, in the format that clients of MemoryGraph read before they call.
 *
 * A server whose database accepts no changes, as after a failover or on a full disk, is ready: it still answers reads,
 * and load balancers would take all servers out at once, since they share the database. Both answers say `read_only`,
 * the metric `memory_graph_database_read_only` is 1, and an alert reports it.
 */
export function healthRoutes(health: Health): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const answer =
    (ready: object, isForClients = false): Handler =>
    async (_request, response) => {
      const problem = await health.problem();
      const scope = scopeOf(response);
      if (problem && !health.isStopping()) scope.noteUnavailable(problem);
      // Nobody's request failed, so alerts must not count it as one.
      if (problem) scope.noteCode("not_ready");
      const unavailable = { status: "unavailable", problem, ...(isForClients && { detail: problem }) };
      if (problem) response.status(503).json(unavailable);
      else response.json({ ...ready, ...((await health.isReadOnly()) && { read_only: true }) });
    };
  router.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  router.get("/readyz", answer({ status: "ready" }));
  router.get("/health", answer({ status: "healthy", version: PACKAGE.version }, true));
  router.all(["/healthz", "/readyz", "/health"], refuseOtherMethods(["GET", "HEAD"]));
  return router;
}

interface Checked {
  readonly problem: string | null;
  readonly isReadOnly: boolean;
}

/** Concurrent checks share one query to the database, and its result is cached for a short time. */
export function healthOf(pool: pg.Pool, isStopping: Health["isStopping"]): Health {
  let check: Promise<Checked> | undefined;
  const expireLater = () => setTimeout(() => (check = undefined), LIMITS.database.readinessKeptMs).unref();
  const checked = () => (check ??= checkDatabase(pool).finally(expireLater));
  return {
    problem: async () => (isStopping() ? "stopping" : (await checked()).problem),
    isReadOnly: async () => (await checked()).isReadOnly,
    isStopping,
  };
}

async function checkDatabase(pool: pg.Pool): Promise<Checked> {
  try {
    return await withinTime(askDatabase(pool), LIMITS.database.readinessMs, () =>
      failed("the database does not answer"),
    );
  } catch (error) {
    return failed(
      error instanceof StartError ? "a migration was changed after it had been applied" : "the database cannot be used",
    );
  }
}

async function askDatabase(pool: pg.Pool): Promise<Checked> {
  if (!(await isMigrated(pool))) return failed("migrations are pending");
  return { problem: null, isReadOnly: await isReadOnly(pool) };
}

const failed = (problem: string): Checked => ({ problem, isReadOnly: false });
