-- What hangs on one memory is bounded, so that deleting it is, too: of its earlier versions the newest are kept, and
-- relationships beyond a number are refused. The numbers come with each call; 1,000 below is the one of this version.

WITH gone AS (
  DELETE FROM memory_version v USING memory m
  WHERE m.graph_id = v.graph_id AND m.id = v.memory_id AND v.version < m.version - 1000
  RETURNING v.graph_id, memory_bytes(v.type, v.title, v.content, v.summary, v.tags) AS bytes
), freed AS (
  SELECT gone.graph_id, sum(gone.bytes) AS bytes FROM gone GROUP BY gone.graph_id
)
UPDATE graph_usage u SET bytes = greatest(0, u.bytes - freed.bytes) FROM freed WHERE u.graph_id = freed.graph_id;

-- As before, but for a change that may free more than it adds.
CREATE OR REPLACE FUNCTION count_in_graph(p_graph_id uuid, p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    UPDATE graph_usage SET memories = memories + p_memories, bytes = greatest(0, bytes + p_bytes)
    WHERE graph_id = p_graph_id
      AND (p_memories <= 0 OR memories + p_memories <= p_memories_max)
      AND (p_bytes <= 0 OR bytes + p_bytes <= p_bytes_max);
    EXIT WHEN FOUND;
    -- Where there is room by now, somebody has just made it: once more.
    PERFORM assert_graph_has_room(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
  END LOOP;
END $$;

DROP FUNCTION change_memory(uuid, uuid, integer, text, text, text, boolean, text, text[], float8, uuid, timestamptz,
  integer, bigint);

-- As before, and of the versions that it keeps only the newest stay.
CREATE FUNCTION change_memory(p_graph_id uuid, p_id uuid, p_expected_version integer, p_type text, p_title text,
  p_content text, p_sets_summary boolean, p_summary text, p_tags text[], p_importance float8, p_user_id uuid,
  p_now timestamptz, p_memories_max integer, p_bytes_max bigint, p_versions_max integer,
  OUT version_before integer, OUT graph_id uuid, OUT id uuid, OUT type text, OUT title text, OUT content text,
  OUT summary text, OUT tags text[], OUT importance float8, OUT version integer, OUT created_by uuid,
  OUT created_at timestamptz, OUT updated_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  added bigint;
  freed bigint;
  words tsvector;
BEGIN
  SELECT m.version INTO version_before FROM memory m WHERE m.graph_id = p_graph_id AND m.id = p_id FOR UPDATE;
  IF NOT FOUND OR version_before <> p_expected_version THEN
    RETURN;
  END IF;
  -- The least that it takes; how much it is, the row tells when it is written.
  added := memory_bytes(coalesce(p_type, ''), coalesce(p_title, ''), coalesce(p_content, ''), p_summary,
    coalesce(p_tags, '{}'));
  PERFORM assert_graph_has_room(p_graph_id, 0, added, p_memories_max, p_bytes_max);
  INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, summary, tags, importance,
    changed_by, changed_at)
  SELECT m.graph_id, m.id, m.version, m.type, m.title, m.content, m.summary, m.tags, m.importance, m.updated_by,
    m.updated_at
  FROM memory m WHERE m.graph_id = p_graph_id AND m.id = p_id;
  UPDATE memory m SET
    type = coalesce(p_type, m.type), title = coalesce(p_title, m.title), content = coalesce(p_content, m.content),
    summary = CASE WHEN p_sets_summary THEN p_summary ELSE m.summary END, tags = coalesce(p_tags, m.tags),
    importance = coalesce(p_importance, m.importance), version = m.version + 1, updated_by = p_user_id,
    updated_at = p_now
  WHERE m.graph_id = p_graph_id AND m.id = p_id
  RETURNING m.search, memory_bytes(m.type, m.title, m.content, m.summary, m.tags), m.graph_id, m.id, m.type, m.title, m.content,
    m.summary, m.tags, m.importance, m.version, m.created_by, m.created_at, m.updated_at
  INTO words, added, graph_id, id, type, title, content, summary, tags, importance, version, created_by, created_at,
    updated_at;
  PERFORM learn_words(p_graph_id, words);
  WITH gone AS (
    DELETE FROM memory_version v
    WHERE v.graph_id = p_graph_id AND v.memory_id = p_id AND v.version <= version_before - p_versions_max
    RETURNING memory_bytes(v.type, v.title, v.content, v.summary, v.tags) AS bytes
  )
  SELECT coalesce(sum(gone.bytes), 0) INTO freed FROM gone;
  -- What it was is kept, so all that it is now comes on top, but for the versions that go.
  PERFORM count_in_graph(p_graph_id, 0, added - freed, p_memories_max, p_bytes_max);
END $$;

-- How many relationships a memory has, in both directions; `p_most` where it has more.
CREATE FUNCTION count_relationships(p_graph_id uuid, p_id uuid, p_most integer) RETURNS integer LANGUAGE sql STABLE
  RETURN (SELECT count(*) FROM (
    SELECT FROM relationship WHERE graph_id = p_graph_id AND from_id = p_id
    UNION ALL
    SELECT FROM relationship WHERE graph_id = p_graph_id AND to_id = p_id
    LIMIT p_most) AS counted);

DROP FUNCTION create_relationship(uuid, uuid, uuid, uuid, text, float8, float8, text, uuid, timestamptz, integer, bigint);

-- As before, but for a memory that has as many as it may: then it is that memory's id that is answered. Who links it at
-- the same moment is not waited for, so it may end with a few more.
CREATE FUNCTION create_relationship(p_graph_id uuid, p_id uuid, p_from_id uuid, p_to_id uuid, p_type text,
  p_strength float8, p_confidence float8, p_context text, p_user_id uuid, p_now timestamptz,
  p_memories_max integer, p_bytes_max bigint, p_relationships_max integer, OUT outcome text, OUT existing_id uuid) LANGUAGE plpgsql AS $$
DECLARE
  added CONSTANT bigint := relationship_bytes(p_type, p_context);
BEGIN
  outcome := 'no_memory';
  IF (SELECT count(*) FROM memory WHERE graph_id = p_graph_id AND id IN (p_from_id, p_to_id)) < 2 THEN
    RETURN;
  END IF;
  LOOP
    outcome := 'exists';
    SELECT id INTO existing_id FROM relationship
    WHERE graph_id = p_graph_id AND from_id = p_from_id AND type = p_type AND to_id = p_to_id;
    IF FOUND THEN
      RETURN;
    END IF;
    outcome := 'too_many';
    FOREACH existing_id IN ARRAY ARRAY[p_from_id, p_to_id] LOOP
      IF count_relationships(p_graph_id, existing_id, p_relationships_max) >= p_relationships_max THEN
        RETURN;
      END IF;
    END LOOP;
    existing_id := NULL;
    outcome := 'created';
    PERFORM assert_graph_has_room(p_graph_id, 0, added, p_memories_max, p_bytes_max);
    INSERT INTO relationship (graph_id, id, from_id, to_id, type, strength, confidence, context, created_by, created_at)
    VALUES (p_graph_id, p_id, p_from_id, p_to_id, p_type, p_strength, p_confidence, p_context, p_user_id, p_now)
    ON CONFLICT (graph_id, from_id, type, to_id) DO NOTHING;
    EXIT WHEN FOUND;
    -- Somebody has just made it: it is there now, or has been deleted again and leaves its place.
  END LOOP;
  PERFORM count_in_graph(p_graph_id, 0, added, p_memories_max, p_bytes_max);
END $$;
