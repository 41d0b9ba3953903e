import { defineStatement } from "./statement.js";

/**
 * Processes that have waited for their client for a second: the statement has not arrived, or its answer was lost. SQL,
 * because no model reads PostgreSQL's own state.
 */
export const idleProcesses = defineStatement({
  name: "idle_processes",
  values: { processIds: "int4[]" },
  row: { pid: "int4" },
  text: `
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY(:processIds) AND application_name = current_setting('application_name')
      AND state LIKE 'idle%' AND state_change < clock_timestamp() - interval '1 second'`,
});
