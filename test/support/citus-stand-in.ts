import { onServer } from "../bench/on-server.js";

/**
 * Functions and views with the names and arguments of Citus 13 that record their calls. They show what the service
 * asks for and in which order; only Citus itself can show that it works there.
 */
const STAND_IN = `
  CREATE SCHEMA stand_in;
  CREATE TABLE stand_in.citus_tables (table_name text PRIMARY KEY, citus_table_type text, distribution_column text,
    colocation_id int);
  CREATE TABLE stand_in.pg_dist_node (nodename text, nodeport int, isactive boolean, shouldhaveshards boolean);
  INSERT INTO stand_in.pg_dist_node VALUES ('worker-1', 5432, true, true);
  CREATE TABLE stand_in.called (place serial, name text, argument text, detail text);
  CREATE TABLE stand_in.answers (instead text, success boolean DEFAULT true);
  CREATE FUNCTION stand_in.create_distributed_table(table_name regclass, distribution_column text,
    distribution_type text DEFAULT 'hash', colocate_with text DEFAULT 'default') RETURNS void LANGUAGE sql AS $$
    INSERT INTO stand_in.called (name, argument, detail) VALUES ('table', table_name::text, colocate_with);
    INSERT INTO stand_in.citus_tables VALUES (table_name::text, 'distributed', distribution_column, 1) $$;
  CREATE FUNCTION stand_in.create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS $$
    INSERT INTO stand_in.called (name, argument) VALUES ('reference', table_name::text);
    INSERT INTO stand_in.citus_tables VALUES (table_name::text, 'reference', '<none>', 2) $$;
  CREATE FUNCTION stand_in.create_distributed_function(function_name regprocedure, distribution_arg_name text DEFAULT NULL,
    colocate_with text DEFAULT 'default', force_delegation boolean DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
    INSERT INTO stand_in.called (name, argument, detail)
    VALUES ('function', function_name::text, distribution_arg_name || ' ' || colocate_with) $$;
  CREATE FUNCTION stand_in.truncate_local_data_after_distributing_table(function_name regclass) RETURNS void
    LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO stand_in.called (name, argument) VALUES ('truncate', function_name::text);
      EXECUTE format('TRUNCATE %s CASCADE', function_name);
    END $$;
  CREATE FUNCTION stand_in.run_command_on_workers(command text, parallel boolean DEFAULT true)
    RETURNS TABLE (nodename text, nodeport int, success boolean, result text) LANGUAGE plpgsql AS $$ BEGIN
      EXECUTE command INTO result;
      SELECT coalesce(instead, result), 'worker-1', 5432, coalesce(answers.success, true)
      INTO result, nodename, nodeport, success FROM (VALUES (1)) AS one LEFT JOIN stand_in.answers ON true;
      RETURN NEXT;
    END $$;`;

/** Puts the stand-in into a database, for new connections. */
export async function standInForCitus(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await onServer(url, async (client) => {
    await client.query(STAND_IN);
    await client.query(`ALTER DATABASE ${name} SET search_path = public, stand_in`);
  });
}
