import type pg from "pg";
import { DISTRIBUTED_TABLES } from "../../src/platform/database/distributed-tables.js";
import { onServer } from "../bench/on-server.js";
import { explainStatements, hearReports } from "./explained.js";

const PARTS = 4;
const NAMED = new RegExp(`\\b(?:${DISTRIBUTED_TABLES.join("|")})_part(\\d+)`, "g");

/**
 * Turns the tables of graphs into hash partitions by `graph_id`, as they would be spread over several nodes. New
 * connections report how each statement is planned; existing connections are closed.
 */
export async function partitionGraphs(url: string): Promise<void> {
  await onServer(url, async (client) => {
    await client.query("BEGIN");
    await makePartitions(client);
    await client.query("COMMIT");
  });
  await explainStatements(url);
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
export function hearPlans(url: URL): Plans {
  const parts = new Map<string, number>();
  const reports = hearReports(url, (message) => {
    const at = message.search(/^\S.*\(cost=/m);
    // Since PostgreSQL 16 the parameters follow the text.
    const [text = ""] = message
      .slice(0, at)
      .replace(/^[^]*?Query Text: /, "")
      .split("\nQuery Parameters: ");
    const found = new Set(Array.from(message.slice(at).matchAll(NAMED), ([, part]) => part));
    if (at >= 0) parts.set(text.trim(), Math.max(found.size, parts.get(text.trim()) ?? 0));
  });
  return { parts, [Symbol.dispose]: () => reports[Symbol.dispose]() };
}
