-- The memory that takes another one's place: the newest that REPLACES it or that it is DEPRECATED_BY. Of a memory with very
-- many such relationships some are looked at. PostgreSQL makes it part of the statement that calls it.
CREATE FUNCTION superseding(p_graph_id uuid, p_id uuid) RETURNS TABLE (id uuid) LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT newest.other_id FROM (
    (SELECT r.id, r.from_id AS other_id FROM relationship r
      WHERE r.graph_id = p_graph_id AND r.to_id = p_id AND r.type = 'REPLACES' LIMIT 20)
    UNION ALL
    (SELECT r.id, r.to_id FROM relationship r
      WHERE r.graph_id = p_graph_id AND r.from_id = p_id AND r.type = 'DEPRECATED_BY' LIMIT 20)) AS newest
  ORDER BY newest.id DESC LIMIT 1
$$;
