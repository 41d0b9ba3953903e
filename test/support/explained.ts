import pg from "pg";
import { onServer } from "../bench/on-server.js";

/** Makes PostgreSQL send the client the plan of each statement after it has run, also of statements in functions. */
const EXPLAINED = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_level": "notice",
};

/** New connections to a database report how each statement is planned; existing connections are closed. */
export async function explainStatements(url: string, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await onServer(url, async (client) => {
    for (const [setting, value] of Object.entries({ ...EXPLAINED, ...more })) {
      await client.query(`ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    }
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
  });
}

/** Hears what PostgreSQL reports to connections that this process opens from here on; of one application if named. */
export function hearReports({ pathname, searchParams }: URL, hear: (message: string) => void): Disposable {
  const application = searchParams.get("application_name");
  const { prototype } = pg.Client;
  const connect = Reflect.get(prototype, "connect") as (this: pg.Client, ...args: unknown[]) => unknown;
  Reflect.set(prototype, "connect", function (this: HeardClient, ...args: unknown[]) {
    const isHeard = application === null || application === this.connectionParameters.application_name;
    if (`/${this.database}` === pathname && isHeard) this.on("notice", ({ message = "" }) => hear(message));
    return connect.apply(this, args);
  });
  return { [Symbol.dispose]: () => void Reflect.set(prototype, "connect", connect) };
}

/** A client with a property that its types leave out. */
type HeardClient = pg.Client & { readonly connectionParameters: { readonly application_name?: string } };
