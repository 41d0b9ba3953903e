-- Whether any memory matches both queries.
CREATE FUNCTION has_match(p_graph_id uuid, p_query tsquery, p_further tsquery) RETURNS boolean
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET random_page_cost = 0 SET seq_page_cost = 0
  SET cpu_operator_cost = 0 SET cpu_index_tuple_cost = 0.005 SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM memory m
    WHERE m.graph_id = p_graph_id AND m.search @@ p_query AND m.search @@ coalesce(p_further, p_query));
END $$;

-- When memories of a graph were last changed.
CREATE FUNCTION updates_of(p_graph_id uuid, p_ids uuid[]) RETURNS TABLE (id uuid, updated timestamptz)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
BEGIN
  RETURN QUERY SELECT hit.id, hit.updated_at FROM unnest(p_ids) AS given (id) CROSS JOIN LATERAL (
    SELECT m.id, m.updated_at FROM memory m WHERE m.graph_id = p_graph_id AND m.id = given.id OFFSET 0) AS hit;
END $$;

-- As `search_hits`, and:
-- - when each hit was last changed;
-- - with `p_probes`, the total is -1 and phrases are not looked for if no memory has all the words of the first gate.
-- That function stays, so that servers of the previous version can search until they are stopped.
CREATE FUNCTION dated_search_hits(
  p_graph_id uuid, p_gates text[], p_further_words text[], p_within int[], p_limits int[], p_walks boolean[], p_wide text,
  p_compares boolean[], p_types text[], p_tags text[], p_phrases text[],
  p_scan_gates int[], p_concepts int[], p_scans text[], p_points float8[], p_shares float8[], p_in_title boolean[],
  p_pairs text[], p_names text[], p_name_shares float8[], p_query_length int, p_tuning float8[], p_limit int, p_offset int,
  p_examined int,
  p_importance_min float8, p_after timestamptz, p_before timestamptz, p_project text, p_now timestamptz,
  p_text_bytes int, p_text_least int, p_explains boolean, p_probes boolean)
  RETURNS TABLE (total int, id uuid, type text, title text, summary text, tags text[], relevance float8, text text,
    continues boolean, concepts int[], weights float8[], newer json, updated timestamptz)
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
DECLARE
  has_words boolean := NOT p_probes OR has_match(p_graph_id, p_gates[1]::tsquery, p_further_words[1]::tsquery);
BEGIN
  IF NOT has_words THEN
    total := -1;
    RETURN NEXT;
    RETURN;
  END IF;
  -- The functions read the tables, not this statement, since Citus sends each such statement alone to the graph's node.
  RETURN QUERY
  WITH found AS MATERIALIZED (
    SELECT *
    FROM search_hits(
      p_graph_id, p_gates, p_further_words, p_within, p_limits, p_walks, p_wide, p_compares, p_types, p_tags,
      p_phrases, p_scan_gates, p_concepts, p_scans, p_points, p_shares, p_in_title, p_pairs, p_names, p_name_shares,
      p_query_length, p_tuning, p_limit, p_offset, p_examined, p_importance_min, p_after, p_before, p_project, p_now,
      p_text_bytes, p_text_least, p_explains) WITH ORDINALITY
  )
  SELECT hit.total, hit.id, hit.type, hit.title, hit.summary, hit.tags, hit.relevance, hit.text, hit.continues,
    hit.concepts, hit.weights, hit.newer, updates.updated
  FROM found AS hit LEFT JOIN updates_of(p_graph_id, ARRAY(SELECT given.id FROM found AS given)) AS updates
    ON updates.id = hit.id
  ORDER BY hit.ordinality;
END $$;
