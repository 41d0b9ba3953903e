-- What lists, counts and recent activity filter by, so that they can be read from an index alone.
CREATE INDEX "memory_listed" ON "memory" ("graph_id", "id") INCLUDE ("type", "importance", "created_at", "expires_at");
DROP INDEX "memory_changed";
CREATE INDEX "memory_changed" ON "memory" ("graph_id", "updated_at", "id")
  INCLUDE ("type", "importance", "confidence", "project", "expires_at");

-- As before, but `SELECT` hides from the planner how many ids there are: of some hundred it would look for each among all
-- that a graph holds, which it takes for a small part of the table.
CREATE OR REPLACE FUNCTION measure_memories(p_graph_id uuid, p_ids uuid[], OUT memories integer, OUT bytes bigint)
  LANGUAGE plpgsql AS $$
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
  bytes := bytes
    + (SELECT coalesce(sum(memory_bytes(v.type, v.title, v.content, v.summary, v.tags, v.context, v.external_id)), 0)
       FROM memory_version v WHERE v.graph_id = p_graph_id AND v.memory_id = ANY((SELECT p_ids)::uuid[]))
    + (SELECT coalesce(sum(relationship_bytes(r.type, r.context)), 0)
       FROM relationship r
       WHERE r.graph_id = p_graph_id AND (r.from_id = ANY((SELECT p_ids)::uuid[]) OR r.to_id = ANY((SELECT p_ids)::uuid[])));
END $$;
