-- A client's own id of a memory is its `client_id`.
ALTER TABLE memory RENAME COLUMN external_id TO client_id;
ALTER TABLE memory_version RENAME COLUMN external_id TO client_id;
ALTER INDEX memory_graph_id_external_id_key RENAME TO memory_graph_id_client_id_key;

-- As before, with another parameter's name, for which it must be created again.
DROP FUNCTION create_memory(uuid, uuid, text, text, text, text, text[], float8, json, float8, text, timestamptz, uuid,
  timestamptz, bigint, integer, bigint);
CREATE FUNCTION create_memory(p_graph_id uuid, p_id uuid, p_type text, p_title text, p_content text,
  p_summary text, p_tags text[], p_importance float8, p_context json, p_confidence float8, p_client_id text,
  p_expires_at timestamptz, p_user_id uuid, p_time timestamptz, p_bytes bigint, p_memories_max integer,
  p_bytes_max bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  words tsvector;
BEGIN
  PERFORM assert_graph_has_room(p_graph_id, 1, p_bytes, p_memories_max, p_bytes_max);
  INSERT INTO memory (graph_id, id, type, title, content, summary, tags, importance, context, confidence, client_id,
    expires_at, created_by, created_at, updated_by, updated_at)
  VALUES (p_graph_id, p_id, p_type, p_title, p_content, p_summary, p_tags, p_importance, p_context, p_confidence,
    p_client_id, p_expires_at, p_user_id, p_time, p_user_id, p_time)
  ON CONFLICT (graph_id, client_id) DO NOTHING RETURNING search INTO words;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM learn_words(p_graph_id, words);
  PERFORM note_for_embedding(p_graph_id, ARRAY[p_id]);
  PERFORM count_in_graph(p_graph_id, 1, p_bytes, p_memories_max, p_bytes_max);
  RETURN true;
END $$;

-- As before.
CREATE OR REPLACE FUNCTION measure_graph(p_graph_id uuid, OUT memories integer, OUT bytes bigint)
LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer,
    coalesce(sum(memory_bytes(type, title, content, summary, tags, context, client_id)), 0)::bigint
    + (SELECT coalesce(sum(memory_bytes(type, title, content, summary, tags, context, client_id)), 0)::bigint
       FROM memory_version WHERE graph_id = p_graph_id)
    + (SELECT coalesce(sum(relationship_bytes(type, context)), 0)::bigint
       FROM relationship WHERE graph_id = p_graph_id)
  FROM memory WHERE graph_id = p_graph_id
$$;

CREATE OR REPLACE FUNCTION measure_memories(p_graph_id uuid, p_ids uuid[], OUT memories integer, OUT bytes bigint,
  OUT versions integer) LANGUAGE plpgsql AS $$
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
    coalesce(sum(memory_bytes(m.type, m.title, m.content, m.summary, m.tags, m.context, m.client_id)), 0)::bigint
  INTO memories, bytes FROM memory m WHERE m.graph_id = p_graph_id AND m.id = ANY((SELECT p_ids)::uuid[]);
  SELECT count(*)::integer,
    coalesce(sum(memory_bytes(v.type, v.title, v.content, v.summary, v.tags, v.context, v.client_id)), 0)::bigint
  INTO versions, of_versions FROM unnest(p_ids) AS given (id) CROSS JOIN LATERAL (
    SELECT * FROM memory_version WHERE graph_id = p_graph_id AND memory_id = given.id OFFSET 0) v;
  bytes := bytes + of_versions
    + (SELECT coalesce(sum(relationship_bytes(r.type, r.context)), 0)
       FROM relationship r
       WHERE r.graph_id = p_graph_id AND (r.from_id = ANY((SELECT p_ids)::uuid[]) OR r.to_id = ANY((SELECT p_ids)::uuid[])));
END $$;
