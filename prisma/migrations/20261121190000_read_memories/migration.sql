-- Memories with their relationships. A function, so that they are read by a plan that is made once, for any graph: by what
-- is known of one graph, PostgreSQL plans anew at each call, for longer than it reads; and where that is outdated, it
-- reads all relationships of the graph. `OFFSET 0` has it find a memory's own ones before it sorts.
CREATE FUNCTION memories_with_relationships(p_graph_id uuid, p_ids uuid[], p_with_content boolean, p_shown int)
  RETURNS TABLE (graph_id uuid, id uuid, type text, title text, content text, summary text, tags text[], importance float8,
    context json, confidence float8, external_id text, expires_at timestamptz, version int, created_by uuid,
    created_at timestamptz, updated_at timestamptz, relationships_total int, relationships json)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT m.graph_id, m.id, m.type, m.title, CASE WHEN p_with_content THEN m.content ELSE '' END, m.summary, m.tags,
    m.importance, CASE WHEN p_with_content THEN m.context END, m.confidence, m.external_id, m.expires_at, m.version,
    m.created_by, m.created_at, m.updated_at,
    (SELECT count(*) FROM relationship r WHERE r.graph_id = p_graph_id AND r.from_id = m.id)::int
      + (SELECT count(*) FROM relationship r WHERE r.graph_id = p_graph_id AND r.to_id = m.id)::int,
    (SELECT coalesce(json_agg(json_build_object(
        'relationshipId', r.id, 'type', r.type, 'direction', r.direction, 'from', r.from_id, 'to', r.to_id,
        'memory', json_build_object('graphId', m.graph_id, 'id', other.id, 'type', other.type, 'title', other.title),
        'strength', r.strength, 'confidence', r.confidence, 'createdAt', r.created_at) ORDER BY r.id DESC), '[]')
     FROM (
       (SELECT own.*, 'out' AS direction, own.to_id AS other_id
        FROM (SELECT * FROM relationship WHERE graph_id = p_graph_id AND from_id = m.id OFFSET 0) own
        ORDER BY own.id DESC LIMIT p_shown)
       UNION ALL
       (SELECT own.*, 'in', own.from_id
        FROM (SELECT * FROM relationship WHERE graph_id = p_graph_id AND to_id = m.id OFFSET 0) own
        ORDER BY own.id DESC LIMIT p_shown)
       ORDER BY id DESC LIMIT p_shown) r
     JOIN memory other ON other.graph_id = p_graph_id AND other.id = r.other_id)
  FROM unnest(p_ids) AS wanted (id) JOIN memory m ON m.graph_id = p_graph_id AND m.id = wanted.id;
END $$;
