-- The memories that have some tags or are of some types, as words of the index of the search; null if there are more than
-- `p_most`. Their ids are one text, separated by commas. It is planned as a search is.
CREATE FUNCTION rare_memories(p_graph_id uuid, p_words text, p_most int) RETURNS text
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET random_page_cost = 0 SET seq_page_cost = 0
  SET cpu_operator_cost = 0 SET cpu_index_tuple_cost = 0.005 SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
BEGIN
  RETURN (SELECT CASE WHEN count(*) <= p_most THEN coalesce(string_agg(found.id::text, ','), '') END FROM (
    SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ p_words::tsquery LIMIT p_most + 1) AS found);
END $$;
