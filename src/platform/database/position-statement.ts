import { defineStatement } from "./statement.js";

/**
 * How far a primary has written, or a replica has replayed, and whether the database follows another. SQL, because no
 * model reads PostgreSQL's own state.
 */
export const walPosition = defineStatement({
  name: "wal_position",
  values: {},
  row: { position: "text", follows: "bool" },
  text: `
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text
      AS position, pg_is_in_recovery() AS follows`,
});
