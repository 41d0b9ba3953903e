import { type Handler, Router } from "express";
import type pg from "pg";
import { isMigrated } from "../platform/migrations.js";
import { scopeOf } from "./http.js";

export interface Health {
  readonly pool: pg.Pool;
  /** Whether the server is going down and takes no new work. */
  isStopping(): boolean;
}

/** `/healthz` says that the process is alive, `/readyz` that it can serve: for whoever restarts and routes. */
export function healthRoutes(health: Health): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/healthz", (_request, response) => void response.json({ status: "ok" }));
  router.get("/readyz", readiness(health));
  return router;
}

function readiness({ pool, isStopping }: Health): Handler {
  return async (_request, response) => {
    const problem = isStopping() ? "stopping" : await databaseProblem(pool);
    if (problem && !isStopping()) scopeOf(response).noteUnavailable(problem);
    response.status(problem ? 503 : 200).json(problem ? { status: "unavailable", problem } : { status: "ready" });
  };
}

async function databaseProblem(pool: pg.Pool): Promise<string | null> {
  try {
    return (await isMigrated(pool)) ? null : "migrations are pending";
  } catch {
    return "the database cannot be reached or its migrations are not in order";
  }
}
