import { setTimeout as sleep } from "node:timers/promises";
import { type Handler, Router } from "express";
import type pg from "pg";
import { LIMITS } from "../limits.js";
import { isMigrated } from "../platform/migrations.js";
import { scopeOf } from "./http.js";

export interface Health {
  readonly pool: pg.Pool;
  /** Whether the server is going down and takes no new work. */
  isStopping(): boolean;
}

/** `/healthz` says that the process is alive, for restarts; `/readyz` that it can serve, for load balancers. */
export function healthRoutes(health: Health): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  router.get("/readyz", readiness(health));
  return router;
}

/** Concurrent checks share one query to the database, and its result is cached for a short time. */
function readiness({ pool, isStopping }: Health): Handler {
  let check: Promise<string | null> | undefined;
  const expireLater = () => setTimeout(() => (check = undefined), LIMITS.database.readinessKeptMs).unref();
  return async (_request, response) => {
    const problem = isStopping() ? "stopping" : await (check ??= databaseProblem(pool).finally(expireLater));
    if (problem && !isStopping()) scopeOf(response).noteUnavailable(problem);
    response.status(problem ? 503 : 200).json(problem ? { status: "unavailable", problem } : { status: "ready" });
  };
}

async function databaseProblem(pool: pg.Pool): Promise<string | null> {
  const late = new AbortController();
  try {
    const answer = isMigrated(pool).then((isReady) => (isReady ? null : "migrations are pending"));
    return await Promise.race([answer, tooLate(late.signal)]);
  } catch {
    return "the database cannot be reached or its migrations are not in order";
  } finally {
    late.abort();
  }
}

async function tooLate(signal: AbortSignal): Promise<string> {
  await sleep(LIMITS.database.readinessMs, undefined, { signal });
  return "the database does not answer";
}
