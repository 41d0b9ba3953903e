import pg from "pg";
import { onServer } from "../bench/on-server.js";

/** Makes PostgreSQL send the client the plan of each statement after it has run, also of statements in functions. */
const EXPLAINED = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_level": "notice",
  "auto_explain.log_format": "json",
};

/** A node of a plan, as PostgreSQL describes it in JSON. */
interface PlanNode {
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Join Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The largest number of rows that a node of each statement has looked at, by the text of the statement. */
export interface Comparisons extends Disposable {
  readonly rows: Map<string, number>;
}

/** Counts, for each statement of connections that this process opens from here on, what its plan has looked at. */
export async function hearComparisons(url: string): Promise<Comparisons> {
  const name = new URL(url).pathname.slice(1);
  await onServer(url, async (client) => {
    for (const [setting, value] of Object.entries(EXPLAINED))
      await client.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
  });
  const rows = new Map<string, number>();
  const note = (message = ""): void => {
    const at = message.indexOf("{");
    if (at < 0 || !message.includes('"Plan":')) return;
    const { "Query Text": text, Plan } = JSON.parse(message.slice(at)) as { "Query Text": string; Plan: PlanNode };
    rows.set(text.trim(), Math.max(rows.get(text.trim()) ?? 0, lookedAt(Plan)));
  };
  const { prototype } = pg.Client;
  const connect = Reflect.get(prototype, "connect") as (this: pg.Client, ...args: unknown[]) => unknown;
  Reflect.set(prototype, "connect", function (this: pg.Client, ...args: unknown[]) {
    if (this.database === name) this.on("notice", ({ message }) => note(message));
    return connect.apply(this, args);
  });
  return { rows, [Symbol.dispose]: () => void Reflect.set(prototype, "connect", connect) };
}

/** The rows that one node has read or compared in all its loops. */
function lookedAt(node: PlanNode): number {
  const removed = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Join Filter"] ?? 0);
  return Math.max((node["Actual Rows"] + removed) * node["Actual Loops"], ...(node.Plans ?? []).map(lookedAt));
}
