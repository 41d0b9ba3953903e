import type pg from "pg";
import { LIMITS } from "../../limits.js";
import { IS_OF_EXTENSION } from "./extension-tables.js";
import { type Place, StartError } from "../start-error.js";

interface Form {
  readonly encoding: string;
  /** Where tables are made; null if the search path names no schema that exists. */
  readonly schema: string | null;
  readonly database: string;
  readonly user: string;
  /** Schemas with our extensions that the search path lacks. Some hosts put all extensions into one of their own. */
  readonly hidden: readonly string[];
  /** Of public and those schemas the ones whose objects the role may not use: they count as missing in the path. */
  readonly closed: readonly string[];
  /** Whose privileges count: it may differ from the user who logs in. */
  readonly role: string;
}

interface Usable {
  /** Whether letters other than A to Z are known. */
  readonly knowsLetters: boolean;
  /** Whether I is the capital of i, as it is not in Turkish. */
  readonly pairsI: boolean;
  /** How many connections the role may open to this database; null: as many as it likes. */
  readonly allowed: number | null;
  /** Extensions that the first migration created, and somebody dropped. */
  readonly dropped: readonly string[];
}

const { connections, reservedConnections, searchConnections } = LIMITS.database;
const CONNECTIONS = connections + reservedConnections + searchConnections;

/**
 * Checks what was decided when the database was created, or is set for the role.
 * @returns warnings: words of many languages, or with I, are found only as they were written; the role may open few
 * connections; an extension was dropped
 * @throws StartError for a database that cannot store all texts, in which other tables than ours would be used, or
 * where our extensions are not found
 */
export async function assertFits(client: pg.Client, { host, variable }: Pick<Place, "host" | "variable">) {
  const { encoding, schema, database, user, hidden, closed, role } = await oneRow<Form>(client, FORM);
  if (encoding !== "UTF8") {
    throw new StartError(
      `The database ${database} at ${host} stores text as ${encoding}, and the service needs UTF8: create another one ` +
        `with ${CREATE}, and name it in ${variable}.`,
    );
  }
  if (closed.length > 0) {
    throw new StartError(
      `In the database ${database} at ${host}, ${role} may not use what is in the schema ${closed.join(", ")}: have an ` +
        `administrator run in it: GRANT USAGE ON SCHEMA ${closed.join(", ")} TO ${role}; Then start again.`,
    );
  }
  // An extension may be hidden in public.
  const path = [...new Set(["public", ...hidden])].join(", ");
  const setPath = `run ALTER ROLE ${user} IN DATABASE ${database} SET search_path = ${path}.`;
  if (schema !== "public") {
    throw new StartError(
      `In the database ${database} at ${host}, ${user} works in ${schema === null ? "no schema" : `the schema ${schema}`}` +
        `, and the service needs public: ${setPath}`,
    );
  }
  if (hidden.length > 0) {
    throw new StartError(
      `In the database ${database} at ${host}, ${user} does not find the extensions in the schema ` +
        `${hidden.join(", ")}: ${setPath}`,
    );
  }
  // Asked only now: other encodings do not have the letter.
  const { knowsLetters, pairsI, allowed, dropped } = await oneRow<Usable>(client, USABLE);
  const warnings: string[] = [];
  if (!knowsLetters) {
    warnings.push(
      `The locale of the database ${database} at ${host} knows no letters but A to Z, so words of many languages are ` +
        `found only as they were written. Create another one with ${CREATE}, and move to it with npm run migrate-to.`,
    );
  }
  if (!pairsI) {
    warnings.push(
      `The locale of the database ${database} at ${host} has another small letter for I than i, as Turkish does, so many ` +
        `words are not found by other capitals, such as API by api. Create another one with ${CREATE}, and move to it ` +
        "with npm run migrate-to.",
    );
  }
  if (allowed !== null && allowed < CONNECTIONS && variable !== "DIRECT_DATABASE_URL") {
    warnings.push(
      `PostgreSQL at ${host} lets ${user} open ${allowed} connections, and a server opens up to ${CONNECTIONS}: with ` +
        "fewer, it answers 503 when it is busy. Raise max_connections there, or the CONNECTION LIMIT of the role and " +
        "the database, or use PgBouncer.",
    );
  }
  if (dropped.length > 0) {
    warnings.push(
      `Searches fail or are slow: somebody dropped an extension of the database ${database} at ${host}. Run there ` +
        `${dropped.map((name) => `CREATE EXTENSION ${name};`).join(" ")} and what prisma/migrations says of each index ` +
        "that CASCADE dropped, such as memory_search.",
    );
  }
  return warnings;
}

/**
 * Another role may have migrated the database.
 * @throws StartError where the tables belong to that one, and this one may not read and change all of them
 */
export async function assertMayUse(client: pg.Client, { host, variable }: Pick<Place, "host" | "variable">) {
  const { tables, database, owner, user } = await oneRow<Forbidden>(client, FORBIDDEN);
  if (tables === null) return;
  throw new StartError(
    `PostgreSQL at ${host} does not let ${user} read and change ${tables}: have ${owner}, which owns the tables, run in ` +
      `the database ${database} GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${user}; Then ` +
      `start again, or name ${owner} in ${variable}.`,
  );
}

interface Forbidden {
  /** Null if there is none. */
  readonly tables: string | null;
  readonly database: string;
  readonly owner: string | null;
  readonly user: string;
}

/**
 * Tables of other roles than the one that migrates are not the service's, and of extensions neither. The migrations are
 * only read unless some are missing, which is then the owner's work.
 */
const FORBIDDEN = `
  SELECT string_agg(c.relname, ', ' ORDER BY c.relname) AS tables, current_database() AS database,
    quote_ident(max(pg_get_userbyid(c.relowner))) AS owner, quote_ident(current_user) AS "user"
  FROM pg_class m
  JOIN pg_class c ON c.relnamespace = m.relnamespace AND c.relowner = m.relowner AND c.relkind IN ('r', 'p')
  WHERE m.oid = to_regclass('public._prisma_migrations') AND NOT ${IS_OF_EXTENSION}
    AND EXISTS (SELECT FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS needed
      WHERE NOT has_table_privilege(c.oid, needed) AND (c.oid <> m.oid OR needed = 'SELECT'))`;

const EXTENSIONS = "{pg_trgm,btree_gin}";

const FORM = `
  SELECT current_setting('server_encoding') AS encoding, current_schema() AS schema, current_database() AS database,
    quote_ident(session_user) AS "user",
    ARRAY(SELECT DISTINCT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
      WHERE e.extname = ANY ('${EXTENSIONS}') AND n.nspname <> ALL (current_schemas(true))) AS hidden,
    ARRAY(SELECT quote_ident(n.nspname) FROM pg_namespace n WHERE NOT has_schema_privilege(n.oid, 'USAGE')
      AND (n.nspname = 'public' OR EXISTS (SELECT FROM pg_extension e
        WHERE e.extnamespace = n.oid AND e.extname = ANY ('${EXTENSIONS}')))) AS closed, quote_ident(current_user) AS role`;

/**
 * A connection limit of -1 is none. Superusers have none, and connections are reserved for them; since PostgreSQL 16
 * also for a role of PostgreSQL's own.
 */
const USABLE = `
  SELECT 'Ж' ~ '[[:upper:]]' AND to_tsvector('simple', 'Ж') = to_tsvector('simple', 'ж') AS "knowsLetters",
    to_tsvector('simple', 'I') = to_tsvector('simple', 'i') AS "pairsI",
    (SELECT least(nullif(d.datconnlimit, -1), nullif(r.rolconnlimit, -1),
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0))
      FROM pg_database d, pg_roles r
      WHERE d.datname = current_database() AND r.rolname = session_user AND NOT r.rolsuper) AS allowed,
    ARRAY(SELECT name FROM unnest('${EXTENSIONS}'::text[]) name WHERE to_regclass('public.memory') IS NOT NULL
      AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = name)) AS dropped`;

/** Without the provider, which PostgreSQL 14 does not know, that of the template would count. */
const CREATE =
  "CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8', from PostgreSQL 15 on " +
  "also LOCALE_PROVIDER libc";

async function oneRow<Row extends object>(client: pg.Client, query: string): Promise<Row> {
  const { rows } = await client.query<Row>(query);
  if (!rows[0]) throw new StartError("PostgreSQL does not answer a simple question.");
  return rows[0];
}
