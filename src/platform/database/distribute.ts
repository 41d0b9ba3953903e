import type pg from "pg";
import { LIMITS } from "../../limits.js";
import { Client } from "./client.js";
import { DISTRIBUTED_TABLES, OBSTACLES, REFERENCE_TABLES } from "./distributed-tables.js";
import { findMissingSettings, settingsFor, storeSettings } from "./pooler.js";
import { LONG_TRANSACTIONS } from "./session-settings.js";
import { StartError } from "../start-error.js";

/** Called alone, Citus runs these whole on the graph's node. In a transaction, it sends their statements there. */
const DELEGATED = [
  "create_memory",
  "narrowed_memories",
  "rare_memories",
  "search_hits",
  "search_words",
  "words_alike",
  // For servers of the previous version.
  "dated_search_hits",
] as const;

/** What a distribution did. */
export interface Distributed {
  /** Tables that were not distributed before. */
  readonly tables: readonly string[];
  /** Tables whose rows from before the distribution were still on the coordinator's disk. */
  readonly emptied: readonly string[];
}

type Tell = (message: string) => void;

/**
 * Distributes the tables of graphs, with their rows, over the nodes that Citus knows. Tables that are distributed
 * already stay as they are. Writes to a table wait while it is distributed.
 * @throws StartError where there is no Citus or no node, the schema forbids it, or another command distributes them.
 * Then nothing was changed.
 */
export async function distribute(url: string, tell: Tell = () => {}): Promise<Distributed> {
  await using database = await connect(url);
  const { client } = database;
  await assertPossible(client);
  await takeAlone(client);
  await storeSettings(client, settingsFor(LIMITS.database));
  const missing = await findMissingTables(client);
  // First the functions that compute columns: the nodes need them when rows are copied there.
  for (const name of await findFunctionsWithoutTables(client)) await client.query(DISTRIBUTE_FUNCTION, [name]);
  await client.query("BEGIN; SET LOCAL citus.multi_shard_modify_mode TO 'sequential'");
  for (const table of missing) {
    tell(`Distributing ${table} …`);
    if (table === ROOT) await client.query("SELECT create_distributed_table($1::regclass, 'graph_id')", [table]);
    else if (isReference(table)) await client.query("SELECT create_reference_table($1::regclass)", [table]);
    else await client.query(DISTRIBUTE_TABLE, [table, ROOT]);
  }
  await client.query("COMMIT");
  for (const { name, delegated } of await findGraphFunctions(client)) {
    if (delegated) await client.query(DELEGATE_FUNCTION, [name, ROOT]);
    else await client.query(DISTRIBUTE_FUNCTION, [name]);
  }
  const emptied = await findLeftovers(client);
  for (const table of emptied) await client.query(TRUNCATE_LOCAL, [table]);
  await client.query("ANALYZE");
  return { tables: missing, emptied };
}

/**
 * Describes each fault of the distribution, on every node; an empty list means that there is none.
 * @throws StartError where there is no Citus or no node, or the schema forbids it.
 */
export async function findDistributionFaults(url: string): Promise<string[]> {
  await using database = await connect(url);
  const { client } = database;
  await assertPossible(client);
  const missing = await findMissingTables(client);
  if (missing.length > 0) return missing.map((table) => `The table ${table} is not distributed.`);
  const { rows: apart } = await client.query<{ name: string }>(
    `SELECT t.table_name::text AS name FROM citus_tables t
     JOIN citus_tables root ON root.table_name::text = $2
     WHERE t.table_name::text = ANY ($1) AND (t.distribution_column <> 'graph_id' OR t.colocation_id <> root.colocation_id)`,
    [DISTRIBUTED_TABLES, ROOT],
  );
  const faults = apart.map(({ name }) => `The table ${name} is not distributed by graph_id, together with ${ROOT}.`);
  for (const table of await findLeftovers(client)) faults.push(`The coordinator still has old rows of ${table}.`);
  await client.query("RESET ALL");
  const settings = await findMissingSettings(client, settingsFor(LIMITS.database));
  if (settings.length > 0) faults.push(`The role lacks its settings on the coordinator: ${settings.join(", ")}.`);
  return [...faults, ...(await findNodeFaults(client))];
}

/** Whether tables are distributed: then migrations are sent by `forDistributed`. */
export async function isDistributed(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ known: boolean }>("SELECT to_regclass('citus_tables') IS NOT NULL AS known");
  if (!rows[0]?.known) return false;
  const { rowCount } = await client.query("SELECT 1 FROM citus_tables WHERE citus_table_type = 'distributed' LIMIT 1");
  return rowCount !== 0;
}

/**
 * Wraps a migration for distributed tables into one command, since Citus takes one at a time. It stays one transaction,
 * and changes the nodes one after the other.
 */
export const forDistributed = (script: string): string =>
  `DO $migration$ BEGIN SET LOCAL citus.multi_shard_modify_mode TO 'sequential';\n${script}\nEND $migration$`;

type Queryable = Pick<pg.Client, "query"> | Pick<pg.Pool, "query">;

const [ROOT] = DISTRIBUTED_TABLES;
const isReference = (table: string): boolean => (REFERENCE_TABLES as readonly string[]).includes(table);

const DISTRIBUTE_TABLE = "SELECT create_distributed_table($1::regclass, 'graph_id', colocate_with => $2::text)";
const DISTRIBUTE_FUNCTION = "SELECT create_distributed_function($1::regprocedure)";
const DELEGATE_FUNCTION =
  "SELECT create_distributed_function($1::regprocedure, 'p_graph_id', colocate_with => $2::text)";
const TRUNCATE_LOCAL = "SELECT truncate_local_data_after_distributing_table($1::regclass)";

async function connect(connectionString: string): Promise<AsyncDisposable & { readonly client: pg.Client }> {
  const client = new Client({ connectionString, keepAlive: true });
  await client.connect();
  await client.query(`SET statement_timeout = 0; SET lock_timeout = '60s'; ${LONG_TRANSACTIONS}`);
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

async function assertPossible(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ known: boolean }>(
    "SELECT to_regproc('create_distributed_table') IS NOT NULL AS known",
  );
  if (!rows[0]?.known) {
    throw new StartError(
      "The database does not have the extension citus. Add it to shared_preload_libraries on each node, then run " +
        "CREATE EXTENSION citus in this database on each of them.",
    );
  }
  const { rowCount } = await client.query("SELECT 1 FROM pg_dist_node WHERE isactive AND shouldhaveshards");
  if (rowCount === 0) {
    throw new StartError("No node may hold graphs: on the coordinator, add them by citus_add_node.");
  }
  const { rows: obstacles } = await client.query<{ table: string; problem: string }>(OBSTACLES, [
    DISTRIBUTED_TABLES,
    REFERENCE_TABLES,
  ]);
  if (obstacles.length === 0) return;
  const listed = obstacles.map(({ table, problem }) => `${table}: ${problem}`).join("; ");
  throw new StartError(`The schema forbids to distribute its tables. ${listed}.`);
}

/** Any constant works that nothing else locks. */
const LOCK = 7_301_984_269;

/** Keeps other commands from distributing the same tables while the connection lasts: Citus would refuse the second. */
async function takeAlone(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>("SELECT pg_try_advisory_lock($1) AS taken", [LOCK]);
  if (rows[0]?.taken) return;
  throw new StartError(
    "Another `npm run distribute` works on this database: wait until it has ended. If it is paused, let it go on.",
  );
}

/** The tables that are not distributed yet, in the order in which to distribute them. */
async function findMissingTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT table_name::text AS name FROM citus_tables WHERE citus_table_type IN ('distributed', 'reference')",
  );
  const present = new Set(rows.map(({ name }) => name));
  return [...REFERENCE_TABLES, ...DISTRIBUTED_TABLES].filter((table) => !present.has(table));
}

/** Selects the service's own functions: no triggers, and none of an extension. */
const OWN = `
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prorettype <> 'trigger'::regtype
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')`;

/** Functions that read no table. Tables use them to compute columns, so nodes must have them before the tables. */
async function findFunctionsWithoutTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT p.oid::regprocedure::text AS name ${OWN} AND NOT EXISTS (
       SELECT 1 FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
         AND coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) ~ ('\\m(FROM|JOIN|INTO|UPDATE) ' || c.relname || '\\M'))
     ORDER BY p.prolang, p.oid`,
  );
  return rows.map(({ name }) => name);
}

/** Functions that work on one graph, and whether Citus is to run them on the graph's node. */
async function findGraphFunctions(
  client: pg.Client,
): Promise<Array<{ readonly name: string; readonly delegated: boolean }>> {
  const { rows } = await client.query<{ name: string; delegated: boolean }>(
    `SELECT p.oid::regprocedure::text AS name, p.proname = ANY ($1) AS delegated ${OWN}
       AND p.proargnames[1] = 'p_graph_id' ORDER BY p.oid`,
    [DELEGATED],
  );
  return rows;
}

/** Tables with rows on the coordinator's disk from before the distribution. */
async function findLeftovers(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT table_name::text AS name FROM citus_tables WHERE citus_table_type IN ('distributed', 'reference')
       AND table_name::text = ANY ($1) AND pg_relation_size(table_name::text::regclass) > 0`,
    [[...DISTRIBUTED_TABLES, ...REFERENCE_TABLES]],
  );
  const found = new Set(rows.map(({ name }) => name));
  return [...DISTRIBUTED_TABLES, ...REFERENCE_TABLES].filter((table) => found.has(table));
}

/** A query that each node must answer like the coordinator: a memory's search vector, and the role's settings. */
const PROBE = `
  SELECT md5(memory_search('general', 'Probing getUserById', '{a tag}', 'Café', 'Words of src/app.ts, 東京.')::text)
    || ' ' || (SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
      WHERE name IN ('TimeZone', 'lock_timeout', 'statement_timeout'))`;

async function findNodeFaults(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ node: string; success: boolean; result: string; expected: string }>(
    `SELECT concat(nodename, ':', nodeport) AS node, success, result, (${PROBE}) AS expected
     FROM run_command_on_workers($1)`,
    [PROBE],
  );
  return rows.flatMap(({ node, success, result, expected }) => {
    if (!success) return [`The node ${node} cannot be used: ${result}`];
    return result === expected ? [] : [`The node ${node} has other functions or settings: ${result}, not ${expected}.`];
  });
}
