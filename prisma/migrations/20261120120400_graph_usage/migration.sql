-- What each graph holds, counted with every change, so that it can be bounded. Apart from "graph", since every change
-- of a graph's contents writes this row, and each request reads that one.
CREATE TABLE "graph_usage" (
    "graph_id" UUID NOT NULL,
    "memories" INTEGER NOT NULL DEFAULT 0 CHECK ("memories" >= 0),
    "bytes" BIGINT NOT NULL DEFAULT 0 CHECK ("bytes" >= 0),

    CONSTRAINT "graph_usage_pkey" PRIMARY KEY ("graph_id"),
    CONSTRAINT "graph_usage_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph"("id")
      ON DELETE CASCADE ON UPDATE CASCADE
) WITH (fillfactor = 50);

-- The bytes of the texts, and 200 for what each row takes besides: rows without any text must not come for nothing.
CREATE FUNCTION memory_bytes(type text, title text, content text, summary text, tags text[]) RETURNS bigint
  LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 200 + octet_length(type) + octet_length(title) + octet_length(content) + coalesce(octet_length(summary), 0)
    + octet_length(array_to_string(tags, ''));

CREATE FUNCTION relationship_bytes(type text, context text) RETURNS bigint
  LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 200 + octet_length(type) + coalesce(octet_length(context), 0);

-- Counts anew: what "graph_usage" must say.
CREATE FUNCTION measure_graph(p_graph_id uuid, OUT memories integer, OUT bytes bigint)
  LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer, coalesce(sum(memory_bytes(type, title, content, summary, tags)), 0)::bigint
    + (SELECT coalesce(sum(memory_bytes(type, title, content, summary, tags)), 0)::bigint
       FROM memory_version WHERE graph_id = p_graph_id)
    + (SELECT coalesce(sum(relationship_bytes(type, context)), 0)::bigint
       FROM relationship WHERE graph_id = p_graph_id)
  FROM memory WHERE graph_id = p_graph_id
$$;

-- Refuses what cannot fit, before any work is done and without waiting for anybody. SQLSTATE GF001: too many memories;
-- GF002: too many bytes. A graph without this row is gone.
CREATE FUNCTION assert_graph_has_room(p_graph_id uuid, p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  held record;
BEGIN
  SELECT memories, bytes INTO held FROM graph_usage WHERE graph_id = p_graph_id;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the graph is gone' USING ERRCODE = 'foreign_key_violation';
  ELSIF p_memories > 0 AND held.memories + p_memories > p_memories_max THEN
    RAISE EXCEPTION 'the graph has no room for more memories' USING ERRCODE = 'GF001';
  ELSIF p_bytes > 0 AND held.bytes + p_bytes > p_bytes_max THEN
    RAISE EXCEPTION 'the graph has no room for more bytes' USING ERRCODE = 'GF002';
  END IF;
END $$;

-- Counts a change, or raises what the function above does: exact, whoever else changes the graph, since the row itself
-- decides. Called last, so that others wait for the end of a change only, and never for each other in a circle.
CREATE FUNCTION count_in_graph(p_graph_id uuid, p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    UPDATE graph_usage SET memories = memories + p_memories, bytes = bytes + p_bytes
    WHERE graph_id = p_graph_id
      AND (p_memories <= 0 OR memories + p_memories <= p_memories_max)
      AND (p_bytes <= 0 OR bytes + p_bytes <= p_bytes_max);
    EXIT WHEN FOUND;
    -- Where there is room by now, somebody has just made it: once more.
    PERFORM assert_graph_has_room(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
  END LOOP;
END $$;

-- What is deleted always fits; a count that went wrong must not keep anybody from deleting.
CREATE FUNCTION give_back_to_graph(p_graph_id uuid, p_memories integer, p_bytes bigint) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  UPDATE graph_usage SET memories = greatest(0, memories - p_memories), bytes = greatest(0, bytes - p_bytes)
  WHERE graph_id = p_graph_id;
END $$;

-- Every change of a graph's contents is one call of one of the functions below: one way to the database and back, on
-- the one node that holds the graph, with its count.

CREATE FUNCTION create_memory(p_graph_id uuid, p_id uuid, p_type text, p_title text, p_content text, p_summary text,
  p_tags text[], p_importance float8, p_user_id uuid, p_now timestamptz, p_memories_max integer, p_bytes_max bigint)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  added CONSTANT bigint := memory_bytes(p_type, p_title, p_content, p_summary, p_tags);
BEGIN
  PERFORM assert_graph_has_room(p_graph_id, 1, added, p_memories_max, p_bytes_max);
  INSERT INTO memory (graph_id, id, type, title, content, summary, tags, importance,
    created_by, created_at, updated_by, updated_at)
  VALUES (p_graph_id, p_id, p_type, p_title, p_content, p_summary, p_tags, p_importance,
    p_user_id, p_now, p_user_id, p_now);
  PERFORM count_in_graph(p_graph_id, 1, added, p_memories_max, p_bytes_max);
END $$;

-- Keeps what the memory was and changes it. The row is locked first, so updates of one memory follow each other: none
-- is lost, each keeps its own predecessor. A memory at another version than the expected one is left as it is: then the
-- version it is at is all that is answered. Without such a memory everything is null.
CREATE FUNCTION change_memory(p_graph_id uuid, p_id uuid, p_expected_version integer, p_type text, p_title text,
  p_content text, p_sets_summary boolean, p_summary text, p_tags text[], p_importance float8, p_user_id uuid,
  p_now timestamptz, p_memories_max integer, p_bytes_max bigint,
  OUT version_before integer, OUT graph_id uuid, OUT id uuid, OUT type text, OUT title text, OUT content text,
  OUT summary text, OUT tags text[], OUT importance float8, OUT version integer, OUT created_by uuid,
  OUT created_at timestamptz, OUT updated_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  added bigint;
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
  RETURNING memory_bytes(m.type, m.title, m.content, m.summary, m.tags), m.graph_id, m.id, m.type, m.title, m.content,
    m.summary, m.tags, m.importance, m.version, m.created_by, m.created_at, m.updated_at
  INTO added, graph_id, id, type, title, content, summary, tags, importance, version, created_by, created_at,
    updated_at;
  -- What it was is kept, so all that it is now comes on top.
  PERFORM count_in_graph(p_graph_id, 0, added, p_memories_max, p_bytes_max);
END $$;

-- Its relationships and versions go with it, by their foreign keys. The relationships are locked first, in one order:
-- two memories that are linked both ways and deleted at once would else each hold what the other waits for.
CREATE FUNCTION remove_memory(p_graph_id uuid, p_id uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  freed bigint;
BEGIN
  PERFORM FROM relationship WHERE graph_id = p_graph_id AND (from_id = p_id OR to_id = p_id) ORDER BY id FOR UPDATE;
  SELECT memory_bytes(type, title, content, summary, tags) INTO freed
  FROM memory WHERE graph_id = p_graph_id AND id = p_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- From here on nobody adds to it: both need the memory's row.
  freed := freed
    + (SELECT coalesce(sum(memory_bytes(type, title, content, summary, tags)), 0)::bigint
       FROM memory_version WHERE graph_id = p_graph_id AND memory_id = p_id)
    + (SELECT coalesce(sum(relationship_bytes(type, context)), 0)::bigint
       FROM relationship WHERE graph_id = p_graph_id AND (from_id = p_id OR to_id = p_id));
  DELETE FROM memory WHERE graph_id = p_graph_id AND id = p_id;
  PERFORM give_back_to_graph(p_graph_id, 1, freed);
  RETURN true;
END $$;

-- Inserts unless a memory is not there, or the relationship is there already; says which of the two was the case.
CREATE FUNCTION create_relationship(p_graph_id uuid, p_id uuid, p_from_id uuid, p_to_id uuid, p_type text,
  p_strength float8, p_confidence float8, p_context text, p_user_id uuid, p_now timestamptz,
  p_memories_max integer, p_bytes_max bigint, OUT outcome text, OUT existing_id uuid) LANGUAGE plpgsql AS $$
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

-- No row where there is no such relationship.
CREATE FUNCTION change_relationship(p_graph_id uuid, p_id uuid, p_strength float8, p_confidence float8,
  p_sets_context boolean, p_context text, p_memories_max integer, p_bytes_max bigint) RETURNS SETOF relationship
  LANGUAGE plpgsql AS $$
DECLARE
  changed relationship;
  added bigint;
BEGIN
  SELECT * INTO changed FROM relationship WHERE graph_id = p_graph_id AND id = p_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  added := -relationship_bytes(changed.type, changed.context);
  UPDATE relationship SET strength = coalesce(p_strength, strength), confidence = coalesce(p_confidence, confidence),
    context = CASE WHEN p_sets_context THEN p_context ELSE context END
  WHERE graph_id = p_graph_id AND id = p_id RETURNING * INTO changed;
  added := added + relationship_bytes(changed.type, changed.context);
  IF added > 0 THEN
    PERFORM count_in_graph(p_graph_id, 0, added, p_memories_max, p_bytes_max);
  ELSIF added < 0 THEN
    PERFORM give_back_to_graph(p_graph_id, 0, -added);
  END IF;
  RETURN NEXT changed;
END $$;

CREATE FUNCTION remove_relationship(p_graph_id uuid, p_id uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  freed bigint;
BEGIN
  DELETE FROM relationship WHERE graph_id = p_graph_id AND id = p_id
  RETURNING relationship_bytes(type, context) INTO freed;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM give_back_to_graph(p_graph_id, 0, freed);
  RETURN true;
END $$;

-- What some memories take with their versions and all their relationships, of which none changes until the end of the
-- transaction: the memories are locked by whoever asks.
CREATE FUNCTION measure_memories(p_graph_id uuid, p_ids uuid[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM relationship WHERE graph_id = p_graph_id AND (from_id = ANY(p_ids) OR to_id = ANY(p_ids))
  ORDER BY id FOR UPDATE;
  RETURN (SELECT coalesce(sum(memory_bytes(type, title, content, summary, tags)), 0)::bigint
      FROM memory WHERE graph_id = p_graph_id AND id = ANY(p_ids))
    + (SELECT coalesce(sum(memory_bytes(type, title, content, summary, tags)), 0)::bigint
      FROM memory_version WHERE graph_id = p_graph_id AND memory_id = ANY(p_ids))
    + (SELECT coalesce(sum(relationship_bytes(type, context)), 0)::bigint
      FROM relationship WHERE graph_id = p_graph_id AND (from_id = ANY(p_ids) OR to_id = ANY(p_ids)));
END $$;

INSERT INTO graph_usage (graph_id, memories, bytes)
SELECT g.id, measured.memories, measured.bytes FROM graph g, measure_graph(g.id) measured;
