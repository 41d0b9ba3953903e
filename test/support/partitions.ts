import pg from "pg";
import { DISTRIBUTED_TABLES } from "../../src/platform/database/distributed-tables.js";
import { onServer } from "../bench/on-server.js";

const PARTS = 4;
const NAMED = new RegExp(`\\b(?:${DISTRIBUTED_TABLES.join("|")})_part(\\d+)`, "g");

/** Makes PostgreSQL send the client the plan of each statement after it has run, also of statements in functions. */
const EXPLAINED = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_level": "notice",
};

/**
 * Turns the tables of graphs into hash partitions by `graph_id`, as they would be spread over several nodes. New
 * connections report how each statement is planned; existing connections are closed.
 */
export async function partitionGraphs(url: string): Promise<void> {
  await onServer(url, async (client) => {
    await client.query("BEGIN");
    await makePartitions(client);
    const { rows } = await client.query<{ name: string }>("SELECT current_database() AS name");
    for (const [setting, value] of Object.entries(EXPLAINED)) {
      await client.query(`ALTER DATABASE ${rows[0]?.name} SET ${setting} = ${value}`);
    }
    await client.query("COMMIT");
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
  });
}

async function makePartitions(client: pg.Client): Promise<void> {
  const { rows: keys } = await client.query<{ table: string; name: string; definition: string }>(
    `SELECT conrelid::regclass::text AS table, conname AS name, pg_get_constraintdef(oid) AS definition
     FROM pg_constraint WHERE contype = 'f' AND conrelid = ANY ($1::text[]::regclass[])`,
    [DISTRIBUTED_TABLES],
  );
  for (const { table, name } of keys) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const table of DISTRIBUTED_TABLES) {
    await client.query(`ALTER TABLE ${table} RENAME TO ${table}_whole`);
    await client.query(`CREATE TABLE ${table} (LIKE ${table}_whole INCLUDING ALL) PARTITION BY HASH (graph_id)`);
    for (let part = 0; part < PARTS; part++) {
      const values = `WITH (MODULUS ${PARTS}, REMAINDER ${part})`;
      await client.query(`CREATE TABLE ${table}_part${part} PARTITION OF ${table} FOR VALUES ${values}`);
    }
    await client.query(`DROP TABLE ${table}_whole`);
  }
  for (const { table, name, definition } of keys) {
    await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
  }
}

/** The texts of statements, each with the largest number of partitions that a plan of it may read. */
export interface Plans extends Disposable {
  readonly parts: ReadonlyMap<string, number>;
}

/** Records plans on connections that this process opens from here on; only those of one application if it is named. */
export function hearPlans({ pathname, searchParams }: URL): Plans {
  const parts = new Map<string, number>();
  const application = searchParams.get("application_name");
  const note = (message = ""): void => {
    const at = message.search(/^\S.*\(cost=/m);
    // Since PostgreSQL 16 the parameters follow the text.
    const [text = ""] = message
      .slice(0, at)
      .replace(/^[^]*?Query Text: /, "")
      .split("\nQuery Parameters: ");
    const found = new Set(Array.from(message.slice(at).matchAll(NAMED), ([, part]) => part));
    if (at >= 0) parts.set(text.trim(), Math.max(found.size, parts.get(text.trim()) ?? 0));
  };
  const { prototype } = pg.Client;
  const connect = Reflect.get(prototype, "connect") as (this: pg.Client, ...args: unknown[]) => unknown;
  Reflect.set(prototype, "connect", function (this: HeardClient, ...args: unknown[]) {
    const isHeard = application === null || application === this.connectionParameters.application_name;
    if (`/${this.database}` === pathname && isHeard) this.on("notice", ({ message }) => note(message));
    return connect.apply(this, args);
  });
  return { parts, [Symbol.dispose]: () => void Reflect.set(prototype, "connect", connect) };
}

/** A client with a property that its types leave out. */
type HeardClient = pg.Client & { readonly connectionParameters: { readonly application_name?: string } };
