import pg from "pg";
import { type Mock, vi } from "vitest";
import type { RunningApp } from "../../src/app.js";
import type { Database } from "../../src/platform/database/database.js";
import { PATIENT } from "./patience.js";
import type { World } from "./world.js";

/** Statements of background jobs, which run without a request. */
const BY_ITSELF = /^(claim_due_\w+|count_words|database_clock|empty_graph|fill_embeddings)$|^forget_/;

/** The names of the statements that a request caused. */
export const statementsAsked = ({ mock }: Pick<Mock<Database["run"]>, "mock">): string[] =>
  mock.calls.map(([{ name }]) => name).filter((name) => !BY_ITSELF.test(name));

/** Records all queries that a server sends to PostgreSQL, declared statements and Prisma's queries alike. */
export interface Ear extends Disposable {
  /** Starts a server whose connections are recorded. */
  serve(): Promise<RunningApp>;
  /** The queries that match, since the last call. */
  heard(pattern: RegExp): string[];
}

export function listenTo({ databaseUrl, serve }: World): Ear {
  const name = new URL(databaseUrl).pathname.slice(1);
  const queries = vi.spyOn(pg.Client.prototype, "query");
  return {
    serve: () => serve({}, databaseUrl, {}, { ...PATIENT }),
    heard(pattern) {
      const { calls } = queries.mock;
      const clients = queries.mock.contexts as readonly pg.Client[];
      const texts = calls.map(([query]: readonly unknown[]) => textOf(query));
      // Queries of an earlier test may still be running.
      const ours = texts.filter((_text, index) => clients[index]?.database === name);
      queries.mockClear();
      return ours.filter((text) => pattern.test(text));
    },
    [Symbol.dispose]: () => queries.mockRestore(),
  };
}

const textOf = (query: unknown): string => (typeof query === "string" ? query : (query as { text: string }).text);

/** Does something as soon as the statement with this name has run so many times, as another request might. */
export function onceAfter({ database }: World, statement: string, act: () => Promise<unknown>, times = 1): void {
  const run = database.run.bind(database) as (...asked: readonly unknown[]) => Promise<object[]>;
  let left = times;
  const runThenAct = async (asked: { readonly name: string }, ...values: readonly unknown[]) => {
    const rows = await run(asked, ...values);
    if (asked.name === statement && --left === 0) await act();
    return rows;
  };
  vi.spyOn(database, "run").mockImplementation(runThenAct);
}
