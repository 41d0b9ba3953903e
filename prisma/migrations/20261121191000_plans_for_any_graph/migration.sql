-- PostgreSQL keeps no statistics of the graph of a memory, a relationship or a vector. With them it takes a graph that they
-- do not know yet for empty, and reads all that it holds where an index has the few rows that are wanted; without them it
-- takes each graph for a two-hundredth of the table. `TYPE uuid` changes nothing else: it has PostgreSQL forget what it
-- knew.
DO $$
DECLARE
  is_distributed boolean := false;
BEGIN
  -- Distributed tables have their statistics on the nodes.
  IF to_regclass('pg_dist_partition') IS NOT NULL THEN
    EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_dist_partition)' INTO is_distributed;
  END IF;
  IF NOT is_distributed THEN
    ALTER TABLE memory ALTER COLUMN graph_id SET STATISTICS 0, ALTER COLUMN graph_id TYPE uuid;
    ALTER TABLE relationship ALTER COLUMN graph_id SET STATISTICS 0, ALTER COLUMN graph_id TYPE uuid;
    ALTER TABLE memory_vector ALTER COLUMN graph_id SET STATISTICS 0, ALTER COLUMN graph_id TYPE uuid;
  END IF;
END $$;
