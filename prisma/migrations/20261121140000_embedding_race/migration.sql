-- As before, but a new model waits for those who write at this moment: they may not have seen that memories are embedded
-- now, and so have queued nothing. Reading the table holds a lock until the end of the transaction.
CREATE OR REPLACE FUNCTION fill_embeddings(p_model text, p_most int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  place embedding_model;
  graph_ids uuid[];
  ids uuid[];
BEGIN
  IF NOT EXISTS (SELECT FROM embedding_model WHERE model = p_model AND used_at >= now() - interval '6 days') THEN
    LOCK TABLE embedding_model IN ACCESS EXCLUSIVE MODE;
    DELETE FROM embedding_model WHERE model = p_model AND used_at < now() - interval '6 days';
    INSERT INTO embedding_model (model) VALUES (p_model) ON CONFLICT DO NOTHING;
    RETURN true;
  END IF;
  SELECT * INTO place FROM embedding_model WHERE model = p_model FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF place.used_at < now() - interval '1 minute' THEN
    UPDATE embedding_model SET used_at = now() WHERE model = p_model;
  END IF;
  IF place.complete OR (SELECT count(*) FROM (SELECT FROM embedding_due LIMIT p_most) AS waiting) = p_most THEN
    RETURN false;
  END IF;
  IF place.filled THEN
    -- What was refused several times is not waited for.
    UPDATE embedding_model SET complete = true
    WHERE model = p_model AND NOT EXISTS (SELECT FROM embedding_due WHERE attempts < 3);
    RETURN false;
  END IF;
  SELECT array_agg(next.graph_id), array_agg(next.id) INTO graph_ids, ids FROM (
    SELECT m.graph_id, m.id FROM memory m WHERE (m.graph_id, m.id) > (place.next_graph_id, place.next_id)
    ORDER BY m.graph_id, m.id LIMIT p_most) AS next;
  INSERT INTO embedding_due (graph_id, memory_id) SELECT * FROM unnest(graph_ids, ids) ON CONFLICT DO NOTHING;
  UPDATE embedding_model SET filled = coalesce(cardinality(ids), 0) < p_most,
    next_graph_id = coalesce(graph_ids[cardinality(ids)], next_graph_id),
    next_id = coalesce(ids[cardinality(ids)], next_id) WHERE model = p_model;
  RETURN cardinality(ids) = p_most;
END $$;
