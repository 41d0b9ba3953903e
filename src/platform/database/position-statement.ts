import { defineStatement } from "./statement.js";

/**
 * How far a primary has written, or a replica has replayed, and whether the database follows another. Only what a primary
 * has stored on its disk is on its way to replicas; the rest may follow seconds later. A database that accepts no changes
 * has stored none of ours: after a failover a connection may still lead to the earlier primary. SQL, because no model
 * reads PostgreSQL's own state.
 */
export const walPosition = defineStatement({
  name: "wal_position",
  values: {},
  row: { position: "text", stored: "text?", follows: "bool" },
  text: `
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text
      AS position, CASE WHEN current_setting('transaction_read_only') = 'off' THEN pg_current_wal_flush_lsn() END::text
      AS stored, pg_is_in_recovery() AS follows`,
});
