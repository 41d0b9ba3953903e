import { defineStatement } from "./statement.js";

/**
 * How far a primary has written, or a replica has replayed, whether the database follows another, and whether it accepts
 * changes. Only what a primary has stored on its disk is on its way to replicas; the rest may follow seconds later. SQL,
 * because no model reads PostgreSQL's own state.
 */
export const walPosition = defineStatement({
  name: "wal_position",
  values: {},
  row: { position: "text", stored: "text?", follows: "bool", accepts: "bool" },
  text: `
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text
      AS position, CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn() END::text AS stored,
      pg_is_in_recovery() AS follows, current_setting('transaction_read_only') = 'off' AS accepts`,
});

/**
 * What only a database and its physical replicas have in common: the server's number and the database's own. SQL, because
 * no model reads PostgreSQL's own state.
 */
export const databaseIdentity = defineStatement({
  name: "database_identity",
  values: {},
  row: { identity: "text" },
  text: `
    SELECT system_identifier || ' ' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS identity
    FROM pg_control_system()`,
});
