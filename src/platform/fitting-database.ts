import type pg from "pg";
import { type Place, StartError } from "./start-error.js";

interface Form {
  readonly encoding: string;
  /** Where tables are made; null if the search path names no schema that exists. */
  readonly schema: string | null;
  readonly database: string;
  readonly user: string;
}

/**
 * Checks what was decided when the database was created, or is set for the role.
 * @returns a warning if letters other than A to Z are not known: such words are found only as they were written
 * @throws StartError for a database that cannot store all texts, or in which other tables than ours would be used
 */
export async function assertFits(client: pg.Client, { host, variable }: Pick<Place, "host" | "variable">) {
  const { encoding, schema, database, user } = await oneRow<Form>(
    client,
    `SELECT current_setting('server_encoding') AS encoding, current_schema() AS schema, current_database() AS database,
            quote_ident(current_user) AS "user"`,
  );
  if (encoding !== "UTF8") {
    throw new StartError(
      `The database ${database} at ${host} stores text as ${encoding}, and the service needs UTF8: create another one ` +
        `with ${CREATE}, and name it in ${variable}.`,
    );
  }
  if (schema !== "public") {
    throw new StartError(
      `In the database ${database} at ${host}, ${user} works in ${schema === null ? "no schema" : `the schema ${schema}`}` +
        `, and the service needs public: run ALTER ROLE ${user} IN DATABASE ${database} SET search_path = public.`,
    );
  }
  const { knowsLetters } = await oneRow<{ knowsLetters: boolean }>(
    client,
    `SELECT 'Ж' ~ '[[:upper:]]' AND to_tsvector('simple', 'Ж') = to_tsvector('simple', 'ж') AS "knowsLetters"`,
  );
  if (knowsLetters) return undefined;
  return (
    `The locale of the database ${database} at ${host} knows no letters but A to Z, so words of many languages are ` +
    `found only as they were written. Create another one with ${CREATE}, and move to it with npm run migrate-to.`
  );
}

const CREATE = "CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'";

async function oneRow<Row extends object>(client: pg.Client, query: string): Promise<Row> {
  const { rows } = await client.query<Row>(query);
  if (!rows[0]) throw new StartError("PostgreSQL does not answer a simple question.");
  return rows[0];
}
