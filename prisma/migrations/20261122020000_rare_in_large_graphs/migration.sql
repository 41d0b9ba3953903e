-- PostgreSQL keeps no statistics of a relationship's type, either (see the migration `plans_for_any_graph`). With them it takes
-- a type that they do not know yet for rare, and looks through all relationships of this type for those of one memory:
-- with 20,000 that nothing had counted yet, reading what replaces each of 1,000 memories took 3.4 s instead of .05.
DO $$
DECLARE
  is_distributed boolean := false;
BEGIN
  IF to_regclass('pg_dist_partition') IS NOT NULL THEN
    EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_dist_partition)' INTO is_distributed;
  END IF;
  IF NOT is_distributed THEN
    ALTER TABLE relationship ALTER COLUMN type SET STATISTICS 0, ALTER COLUMN type TYPE text;
  END IF;
END $$;

-- What lists filter by is compared in the index: as columns that it only includes, it would be compared after PostgreSQL has
-- looked whether a memory is still there, which it does in the table until the next vacuum: of 100,000 memories written
-- lately 90 ms instead of 5.
DROP INDEX "memory_listed";
CREATE INDEX "memory_listed" ON "memory" ("graph_id", "id", "importance", "created_at") INCLUDE ("type", "expires_at");

-- The memories that have some tags or are of some types, as words of the index of the search, and how many there are. It is
-- planned as a search is. The other filters are those of lists.
CREATE FUNCTION narrowed_memories(
  p_graph_id uuid, p_words text, p_importance_min float8, p_after timestamptz, p_before timestamptz, p_project text,
  p_now timestamptz, p_below uuid, p_newest boolean, p_limit int, p_offset int)
  RETURNS TABLE (id uuid, total int)
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET random_page_cost = 0 SET seq_page_cost = 0
  SET cpu_operator_cost = 0 SET cpu_index_tuple_cost = 0.005 SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH found AS MATERIALIZED (
    SELECT m.id FROM memory m
    WHERE m.graph_id = p_graph_id AND m.search @@ p_words::tsquery
      AND (p_importance_min IS NULL OR m.importance >= p_importance_min)
      AND (p_after IS NULL OR m.created_at >= p_after) AND (p_before IS NULL OR m.created_at < p_before)
      AND (p_project IS NULL OR m.project = p_project)
      AND (p_now IS NULL OR m.expires_at IS NULL OR m.expires_at > p_now)
      AND (p_below IS NULL OR m.id < p_below)
  )
  SELECT found.id, (SELECT count(*) FROM found)::int FROM found
  ORDER BY CASE WHEN p_newest THEN found.id END DESC, found.id LIMIT p_limit OFFSET p_offset;
END $$;

-- As before, and how many earlier versions they have. `OFFSET` has PostgreSQL look up what belongs to each memory: of a list, it
-- would look for each version among all of a graph where it takes the table for small, as it does until it is analyzed.
DROP FUNCTION measure_memories(uuid, uuid[]);
CREATE FUNCTION measure_memories(p_graph_id uuid, p_ids uuid[], OUT memories integer, OUT bytes bigint, OUT versions integer)
  LANGUAGE plpgsql AS $$
DECLARE
  of_versions bigint;
BEGIN
  IF p_ids IS NULL THEN
    SELECT held.memories, held.bytes INTO memories, bytes FROM measure_graph(p_graph_id) held;
    RETURN;
  END IF;
  PERFORM 1 FROM memory WHERE graph_id = p_graph_id AND id = ANY((SELECT p_ids)::uuid[]) ORDER BY id FOR UPDATE;
  PERFORM 1 FROM relationship
  WHERE graph_id = p_graph_id AND (from_id = ANY((SELECT p_ids)::uuid[]) OR to_id = ANY((SELECT p_ids)::uuid[]))
  ORDER BY id FOR UPDATE;
  SELECT count(*)::integer,
    coalesce(sum(memory_bytes(m.type, m.title, m.content, m.summary, m.tags, m.context, m.external_id)), 0)::bigint
  INTO memories, bytes FROM memory m WHERE m.graph_id = p_graph_id AND m.id = ANY((SELECT p_ids)::uuid[]);
  SELECT count(*)::integer,
    coalesce(sum(memory_bytes(v.type, v.title, v.content, v.summary, v.tags, v.context, v.external_id)), 0)::bigint
  INTO versions, of_versions FROM unnest(p_ids) AS given (id) CROSS JOIN LATERAL (
    SELECT * FROM memory_version WHERE graph_id = p_graph_id AND memory_id = given.id OFFSET 0) v;
  bytes := bytes + of_versions
    + (SELECT coalesce(sum(relationship_bytes(r.type, r.context)), 0)
       FROM relationship r
       WHERE r.graph_id = p_graph_id AND (r.from_id = ANY((SELECT p_ids)::uuid[]) OR r.to_id = ANY((SELECT p_ids)::uuid[])));
END $$;
