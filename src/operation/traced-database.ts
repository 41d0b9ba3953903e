import type { Database, Models } from "../platform/database/database.js";
import type { Tracer } from "../platform/telemetry/tracer.js";
import { passCalls } from "./shares.js";

/**
 * The same database with a span for each statement, call of a model, search and transaction. Spans have names, but no
 * SQL and no values. A span includes the waits for a connection and for locks.
 */
export const tracedDatabase = <Whole extends Database>(database: Whole, tracer: Tracer): Whole => ({
  ...database,
  ...partsOf(database, tracer),
});

function partsOf(database: Database, tracer: Tracer): Database {
  const during = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    tracer.during({ name, isElsewhere: true, facts: { "db.system.name": "postgresql" } }, work);
  const traceRun =
    (run: Database["run"]): Database["run"] =>
    (statement, values, patience) =>
      during(statement.name, () => run(statement, values, patience));
  const traceInner = (inner: Database): Database => {
    const traced: Database = {
      ...partsOf(inner, tracer),
      search: (work) => work(traced.run),
      transaction: (work) => work(traced),
    };
    return traced;
  };
  return {
    models: traceModels(database.models, during),
    run: traceRun(database.run),
    search: (work, patience) => during("search", () => database.search((run) => work(traceRun(run)), patience)),
    readPages: (read, patience) =>
      during("pages", () => database.readPages((models) => read(traceModels(models, during)), patience)),
    transaction: (work, patience) =>
      during("transaction", () => database.transaction((inner) => work(traceInner(inner)), patience)),
    whyWaitFailed: (error) => database.whyWaitFailed(error),
    explain: (error) => database.explain(error),
  };
}

type During = <T>(name: string, work: () => Promise<T>) => Promise<T>;

const traceModels = (models: Models, during: During): Models =>
  passCalls(models, (call, name) => during(name.map(String).join("."), async () => call(models)));
