-- The service writes memories and relationships by its own statements and models. Here stays what these cannot say:
-- measuring texts where they are, learning words, and counting so that the row itself decides.

DROP FUNCTION create_memory(uuid, uuid, text, text, text, text, text[], float8, uuid, timestamptz, integer, bigint);
DROP FUNCTION change_memory(uuid, uuid, integer, text, text, text, boolean, text, text[], float8, uuid, timestamptz,
  integer, bigint, integer);
DROP FUNCTION remove_memory(uuid, uuid);
DROP FUNCTION create_relationship(uuid, uuid, uuid, uuid, text, float8, float8, text, uuid, timestamptz, integer, bigint,
  integer);
DROP FUNCTION count_relationships(uuid, uuid, integer);
DROP FUNCTION change_relationship(uuid, uuid, float8, float8, boolean, text, integer, bigint);
DROP FUNCTION remove_relationship(uuid, uuid);
DROP FUNCTION give_back_to_graph(uuid, integer, bigint);
DROP FUNCTION measure_memories(uuid, uuid[]);

-- The bytes of the texts, and 200 for what each row takes besides; `bytesOf` of the service says the same. By rows, so
-- that a further text changes these two functions and no other.
CREATE FUNCTION memory_bytes(m memory) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 200 + octet_length(m.type) + octet_length(m.title) + octet_length(m.content)
    + coalesce(octet_length(m.summary), 0) + octet_length(array_to_string(m.tags, ''));
CREATE FUNCTION memory_bytes(m memory_version) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 200 + octet_length(m.type) + octet_length(m.title) + octet_length(m.content)
    + coalesce(octet_length(m.summary), 0) + octet_length(array_to_string(m.tags, ''));

-- Counts anew: what "graph_usage" must say.
CREATE OR REPLACE FUNCTION measure_graph(p_graph_id uuid, OUT memories integer, OUT bytes bigint)
  LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer, coalesce(sum(memory_bytes(m)), 0)::bigint
    + (SELECT coalesce(sum(memory_bytes(v)), 0)::bigint FROM memory_version v WHERE v.graph_id = p_graph_id)
    + (SELECT coalesce(sum(relationship_bytes(r.type, r.context)), 0)::bigint
       FROM relationship r WHERE r.graph_id = p_graph_id)
  FROM memory m WHERE m.graph_id = p_graph_id
$$;
DROP FUNCTION memory_bytes(text, text, text, text, text[]);

-- What a whole graph takes; or some memories of it, with their versions and all their relationships, of which none
-- changes from then on until the end of the transaction. They are locked in one order, memories first: whoever locks
-- several waits for others before it holds what they wait for. Who adds to a memory needs its row.
CREATE FUNCTION measure_memories(p_graph_id uuid, p_ids uuid[], OUT memories integer, OUT bytes bigint)
  LANGUAGE plpgsql AS $$
BEGIN
  IF p_ids IS NULL THEN
    SELECT held.memories, held.bytes INTO memories, bytes FROM measure_graph(p_graph_id) held;
    RETURN;
  END IF;
  PERFORM FROM memory WHERE graph_id = p_graph_id AND id = ANY(p_ids) ORDER BY id FOR UPDATE;
  PERFORM FROM relationship WHERE graph_id = p_graph_id AND (from_id = ANY(p_ids) OR to_id = ANY(p_ids))
  ORDER BY id FOR UPDATE;
  SELECT count(*)::integer, coalesce(sum(memory_bytes(m)), 0)::bigint INTO memories, bytes
  FROM memory m WHERE m.graph_id = p_graph_id AND m.id = ANY(p_ids);
  bytes := bytes
    + (SELECT coalesce(sum(memory_bytes(v)), 0)::bigint
       FROM memory_version v WHERE v.graph_id = p_graph_id AND v.memory_id = ANY(p_ids))
    + (SELECT coalesce(sum(relationship_bytes(r.type, r.context)), 0)::bigint
       FROM relationship r WHERE r.graph_id = p_graph_id AND (r.from_id = ANY(p_ids) OR r.to_id = ANY(p_ids)));
END $$;

-- As before, and for what is deleted, which always fits: a count that went wrong must not keep anybody from deleting.
-- Whatever is not a further memory may have taken words along.
CREATE OR REPLACE FUNCTION count_in_graph(p_graph_id uuid, p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    UPDATE graph_usage SET memories = greatest(0, memories + p_memories), bytes = greatest(0, bytes + p_bytes),
      words_doubted_at = CASE WHEN p_memories > 0 THEN words_doubted_at ELSE coalesce(words_doubted_at, now()) END
    WHERE graph_id = p_graph_id
      AND (p_memories <= 0 OR memories + p_memories <= p_memories_max)
      AND (p_bytes <= 0 OR bytes + p_bytes <= p_bytes_max);
    EXIT WHEN FOUND;
    -- Where there is room by now, somebody has just made it: once more.
    PERFORM assert_graph_has_room(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
  END LOOP;
END $$;

-- The last step of a change: lets the words of the memories that it wrote be known, and counts it.
CREATE FUNCTION settle_change(p_graph_id uuid, p_written uuid[], p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(p_written) = 1 THEN
    PERFORM learn_words(p_graph_id, m.search) FROM memory m WHERE m.graph_id = p_graph_id AND m.id = p_written[1];
  ELSIF cardinality(p_written) > 1 THEN
    PERFORM learn_words_of(p_graph_id, p_written);
  END IF;
  PERFORM count_in_graph(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
END $$;
