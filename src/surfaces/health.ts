import { setTimeout as sleep } from "node:timers/promises";
import { type Handler, Router } from "express";
import type pg from "pg";
import { LIMITS } from "../limits.js";
import { isMigrated } from "../platform/database/migrations.js";
import { PACKAGE } from "../platform/project.js";
import { StartError } from "../platform/start-error.js";
import { scopeOf } from "./request-scope.js";
import { refuseOtherMethods } from "./plain-errors.js";

export interface Health {
  /** Why the server cannot serve; null if it can. */
  problem(): Promise<string | null>;
  /** Whether the server is going down and takes no new work. */
  isStopping(): boolean;
}

/**
 * `/healthz` says that the process is alive, for restarts; `/readyz` that it can serve, for load balancers. `/health`
 * says the same as `/readyz`, in the format that clients of MemoryGraph read before they call.
 */
export function healthRoutes(health: Health): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const answer =
    (ready: object, isForClients = false): Handler =>
    async (_request, response) => {
      const problem = await health.problem();
      if (problem && !health.isStopping()) scopeOf(response).noteUnavailable(problem);
      const unavailable = { status: "unavailable", problem, ...(isForClients && { detail: problem }) };
      if (problem) response.status(503).json(unavailable);
      else response.json(ready);
    };
  router.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  router.get("/readyz", answer({ status: "ready" }));
  router.get("/health", answer({ status: "healthy", version: PACKAGE.version }, true));
  router.all(["/healthz", "/readyz", "/health"], refuseOtherMethods(["GET", "HEAD"]));
  return router;
}

/** Concurrent checks share one query to the database, and its result is cached for a short time. */
export function healthOf(pool: pg.Pool, isStopping: Health["isStopping"]): Health {
  let check: Promise<string | null> | undefined;
  const expireLater = () => setTimeout(() => (check = undefined), LIMITS.database.readinessKeptMs).unref();
  const problem = async () => (isStopping() ? "stopping" : (check ??= databaseProblem(pool).finally(expireLater)));
  return { problem, isStopping };
}

async function databaseProblem(pool: pg.Pool): Promise<string | null> {
  const late = new AbortController();
  try {
    const answer = isMigrated(pool).then((isReady) => (isReady ? null : "migrations are pending"));
    return await Promise.race([answer, tooLate(late.signal)]);
  } catch (error) {
    return error instanceof StartError
      ? "a migration was changed after it had been applied"
      : "the database cannot be used";
  } finally {
    late.abort();
  }
}

async function tooLate(signal: AbortSignal): Promise<string> {
  await sleep(LIMITS.database.readinessMs, undefined, { signal });
  return "the database does not answer";
}
