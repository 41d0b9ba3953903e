import type pg from "pg";
import { StartError, placeOf } from "../start-error.js";

/*
 * A database whose data were moved is marked by a comment on the table of migrations, so that nobody writes to it:
 * later changes would be missing at the new one. A comment needs no table, and the role that migrates may write it.
 */

type Queryable = Pick<pg.Client, "query">;

const TABLE = "_prisma_migrations";
const MOVED = "The data were moved to ";

/** Notes where the data of this database are now. */
export async function noteMove(database: pg.Client, to: string): Promise<void> {
  const { host, database: name } = placeOf(to);
  const note = `${MOVED}${host}/${name} at ${new Date().toISOString()}.`;
  await database.query(`COMMENT ON TABLE ${TABLE} IS ${database.escapeLiteral(note)}`);
}

/** Lets the service use this database again; false if its data were not moved. */
export async function takeBack(database: Queryable): Promise<boolean> {
  const note = await noteOfMove(database);
  if (note !== undefined) await database.query(`COMMENT ON TABLE ${TABLE} IS NULL`);
  return note !== undefined;
}

/** @throws StartError when the data of this database were moved to another one. */
export async function assertNotMoved(database: Queryable): Promise<void> {
  const note = await noteOfMove(database);
  if (note === undefined) return;
  throw new StartError(
    `${note} Set DATABASE_URL to that database. To go on with the data here, without what was written there since, run ` +
      "`npm run migrate-to -- --take-back`.",
  );
}

async function noteOfMove(database: Queryable): Promise<string | undefined> {
  const { rows } = await database.query<{ note: string | null }>(
    `SELECT obj_description(to_regclass('${TABLE}'), 'pg_class') AS note`,
  );
  const note = rows[0]?.note ?? "";
  return note.startsWith(MOVED) ? note : undefined;
}
