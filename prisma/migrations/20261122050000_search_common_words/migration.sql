-- The memories that match one of some queries among the newest ones that pass the filters, and among the oldest ones:
-- where many memories match, this reads less than the index of the search, which reads all of them. At most `p_newest`
-- and `p_oldest` are read, and `p_bytes` of their words. With filters, `p_oldest` is 0. Filters that more than one in 100
-- of the newest and oldest memories pass are left to the index: it finds more, as memories that pass are far apart.
-- A row with the place 0 says that others may match, too; one with the place -1 that the index would find fewer. Queries
-- without `p_walks` are compared only where there are filters, since few memories may pass them.
CREATE FUNCTION newest_and_oldest(p_graph_id uuid, p_queries tsquery[], p_walks boolean[], p_phrases tsquery, p_newest int,
  p_oldest int, p_bytes float8, p_importance_min float8, p_after timestamptz, p_before timestamptz, p_project text,
  p_now timestamptz)
  RETURNS TABLE (place bigint, id uuid, importance float8, title_length int, size int)
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_indexscan = on
  SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  is_filtered boolean := p_oldest = 0;
BEGIN
  IF is_filtered AND p_project IS NULL AND 100 * (
      SELECT count(*) FILTER (WHERE (p_importance_min IS NULL OR sample.importance >= p_importance_min)
        AND (p_after IS NULL OR sample.created_at >= p_after) AND (p_before IS NULL OR sample.created_at < p_before))
      FROM (
        (SELECT m.importance, m.created_at FROM memory m WHERE m.graph_id = p_graph_id ORDER BY m.id DESC LIMIT 2000)
        UNION ALL
        (SELECT m.importance, m.created_at FROM memory m WHERE m.graph_id = p_graph_id ORDER BY m.id LIMIT 2000)
      ) AS sample) > 4000 THEN
    RETURN QUERY SELECT 0::bigint, NULL::uuid, NULL::float8, NULL::int, NULL::int;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT hit.place, near.id, near.importance, near.title_length, near.size
  FROM (
    SELECT walked.*, row_number() OVER walk AS rank, sum(walked.size) OVER walk AS bytes
    FROM (
      (SELECT m.id, m.importance, char_length(m.title) AS title_length, m.search, pg_column_size(m.search) AS size
      FROM memory m
      WHERE m.graph_id = p_graph_id AND m.importance >= coalesce(p_importance_min, '-infinity')
        AND m.created_at >= coalesce(p_after, '-infinity') AND m.created_at < coalesce(p_before, 'infinity')
        AND (p_now IS NULL OR m.expires_at IS NULL OR m.expires_at > p_now) AND p_project IS NULL
      ORDER BY m.id DESC LIMIT p_newest)
      UNION ALL
      (SELECT m.id, m.importance, char_length(m.title), m.search, pg_column_size(m.search)
      FROM memory m
      WHERE m.graph_id = p_graph_id AND m.project = p_project AND m.importance >= coalesce(p_importance_min, '-infinity')
        AND m.created_at >= coalesce(p_after, '-infinity') AND m.created_at < coalesce(p_before, 'infinity')
        AND (p_now IS NULL OR m.expires_at IS NULL OR m.expires_at > p_now) AND p_project IS NOT NULL
      ORDER BY m.id DESC LIMIT p_newest)
      UNION ALL
      (SELECT m.id, m.importance, char_length(m.title), m.search, pg_column_size(m.search)
      FROM memory m
      WHERE m.graph_id = p_graph_id AND (p_now IS NULL OR m.expires_at IS NULL OR m.expires_at > p_now)
      ORDER BY m.id LIMIT p_oldest)
    ) AS walked
    WINDOW walk AS (ROWS UNBOUNDED PRECEDING)
  ) AS near CROSS JOIN LATERAL (
    SELECT query.place FROM unnest(p_queries, p_walks) WITH ORDINALITY AS query (words, walks, place)
    WHERE (query.walks OR is_filtered) AND near.bytes <= p_bytes AND near.search @@ query.words
      AND (p_phrases IS NULL OR near.search @@ p_phrases)
    UNION ALL
    SELECT 0 WHERE near.bytes > p_bytes OR near.rank = p_newest + p_oldest
    UNION ALL
    SELECT -1 WHERE is_filtered AND p_project IS NULL AND near.rank = p_newest AND near.bytes <= p_bytes
  ) AS hit;
END $$;

-- The function with other parameters stays, so that servers of the previous version can search until they are stopped.
--
-- As before, but what many memories have costs less, since the index reads all of them:
-- - what a gate asks for is two queries. The index looks up the second only for memories that match the first: of 15 words
--   in one query, it looked up all others for each memory that has the rarest;
-- - the newest `p_tuning[11]` and the oldest `p_tuning[12]` memories are read before, up to `p_tuning[13]` bytes of their
--   words. Gates that find enough there, and all gates if no more memories pass the filters, do not use the index;
-- - the words of names are bounded by `p_tuning[14]`, no longer by what is read of the candidates.
CREATE FUNCTION search_hits(
  p_graph_id uuid, p_gates text[], p_further_words text[], p_limits int[], p_walks boolean[], p_phrases text[],
  p_scan_gates int[], p_concepts int[], p_scans text[], p_points float8[], p_shares float8[], p_in_title boolean[],
  p_pairs text[], p_names text[], p_name_shares float8[], p_query_length int, p_tuning float8[], p_limit int, p_offset int,
  p_examined int,
  p_importance_min float8, p_after timestamptz, p_before timestamptz, p_project text, p_now timestamptz,
  p_text_bytes int, p_text_least int, p_explains boolean)
  RETURNS TABLE (total int, id uuid, type text, title text, summary text, tags text[], relevance float8, text text,
    continues boolean, concepts int[], weights float8[], newer json)
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET random_page_cost = 0 SET seq_page_cost = 0
  SET cpu_operator_cost = 0 SET cpu_index_tuple_cost = 0.005 SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  phrases tsquery := (SELECT string_agg('(' || words::text || ')', ' & ')::tsquery
    FROM (SELECT phraseto_tsquery('english', plain_words(fold_accents(phrase))) FROM unnest(p_phrases) AS phrase)
      AS read (words)
    WHERE numnode(words) > 0);
  -- Most graphs have none, and need not look further.
  has_superseded boolean := EXISTS (SELECT 1 FROM relationship r
    WHERE r.graph_id = p_graph_id AND r.type IN ('REPLACES', 'DEPRECATED_BY'));
  has_expired boolean := has_expired_memory(p_graph_id, p_now);
  -- What is not found by the index alone needs more to look at.
  examined int := CASE WHEN has_expired OR p_importance_min IS NOT NULL OR p_after IS NOT NULL OR p_before IS NOT NULL
    OR p_project IS NOT NULL THEN p_examined ELSE 0 END;
  -- The gates for which the newest and oldest memories suffice, and which of these match them.
  answered bigint[] := '{}';
  walked_places bigint[];
  walked_ids uuid[];
  walked_importances float8[];
  walked_lengths int[];
  walked_sizes int[];
BEGIN
  IF p_tuning[11] > 0 THEN
    WITH hit AS MATERIALIZED (
      -- The newest are the oldest, too, where few have not expired.
      SELECT DISTINCT * FROM newest_and_oldest(p_graph_id,
        ARRAY(SELECT coalesce(given.query::tsquery && given.further::tsquery, given.query::tsquery)
          FROM unnest(p_gates, p_further_words) WITH ORDINALITY AS given (query, further, place) ORDER BY given.place),
        p_walks, phrases, p_tuning[11]::int, p_tuning[12]::int, p_tuning[13], p_importance_min, p_after, p_before, p_project,
        CASE WHEN has_expired THEN p_now END)
    ), gate AS MATERIALIZED (
      SELECT given.place, given.most FROM unnest(p_limits, p_walks) WITH ORDINALITY AS given (most, walks, place)
      WHERE NOT EXISTS (SELECT FROM hit WHERE hit.place = 0) OR given.walks AND (EXISTS (SELECT FROM hit WHERE hit.place = -1)
        OR (SELECT count(*) FROM hit WHERE hit.place = given.place) >= given.most)
    )
    SELECT ARRAY(SELECT gate.place FROM gate), array_agg(kept.place), array_agg(kept.id), array_agg(kept.importance),
      array_agg(kept.title_length), array_agg(kept.size)
    INTO answered, walked_places, walked_ids, walked_importances, walked_lengths, walked_sizes
    FROM (
      SELECT hit.*, gate.most, row_number() OVER (PARTITION BY hit.place ORDER BY hit.id DESC) AS rank
      FROM hit JOIN gate ON gate.place = hit.place) AS kept
    WHERE kept.rank <= kept.most;
  END IF;
  RETURN QUERY
  WITH gate AS MATERIALIZED (
    SELECT given.place, given.place = 1 AS is_first, given.query::tsquery AS query,
      given.further::tsquery AS further,
      coalesce(given.query::tsquery && given.further::tsquery, given.query::tsquery) AS whole, given.most
    FROM unnest(p_gates, p_further_words, p_limits) WITH ORDINALITY AS given (query, further, most, place)
  ), scan AS MATERIALIZED (
    SELECT given.gate, given.concept, given.query::tsquery AS query, given.points, given.share, given.in_title
    FROM unnest(p_scan_gates, p_concepts, p_scans, p_points, p_shares, p_in_title)
      AS given (gate, concept, query, points, share, in_title)
  ), walked AS MATERIALIZED (
    SELECT hit.* FROM unnest(walked_places, walked_ids, walked_importances, walked_lengths, walked_sizes)
      AS hit (place, id, importance, title_length, size)
  ), further AS MATERIALIZED (
    SELECT gate.place, hit.*, false AS is_walked FROM gate CROSS JOIN LATERAL (
      SELECT CASE WHEN gate.place = ANY (answered) THEN 0 ELSE greatest(gate.most, examined) END AS most) AS look
    CROSS JOIN LATERAL (
      SELECT near.id, near.importance, near.title_length, near.size
      FROM (
        (SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, char_length(m.title) AS title_length,
          pg_column_size(m.search) AS size
        FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query AND gate.further IS NULL
        LIMIT look.most)
        UNION ALL
        (SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, char_length(m.title),
          pg_column_size(m.search)
        FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query AND m.search @@ gate.further
        LIMIT look.most)) AS near
      WHERE (phrases IS NULL OR near.search @@ phrases)
        AND (p_importance_min IS NULL OR near.importance >= p_importance_min)
        AND (p_after IS NULL OR near.created_at >= p_after) AND (p_before IS NULL OR near.created_at < p_before)
        AND (p_project IS NULL OR near.project = p_project)
        AND (NOT has_expired OR near.expires_at IS NULL OR near.expires_at > p_now)
      LIMIT gate.most) AS hit
    WHERE NOT gate.is_first
    UNION ALL
    SELECT walked.*, true FROM walked WHERE walked.place > 1
  ), spared AS MATERIALIZED (
    SELECT p_tuning[10] = 1 AND EXISTS (SELECT 1 FROM further JOIN gate ON gate.place = further.place
      GROUP BY gate.place, gate.most HAVING count(*) >= gate.most) AS is_spared
  ), found AS MATERIALIZED (
    SELECT * FROM further
    UNION ALL
    SELECT gate.place, hit.*, false FROM gate CROSS JOIN LATERAL (
      SELECT CASE WHEN (SELECT spared.is_spared FROM spared) OR 1 = ANY (answered) THEN 0
        ELSE greatest(gate.most, examined) END AS most) AS look
    CROSS JOIN LATERAL (
      SELECT near.id, near.importance, near.title_length, near.size
      FROM (
        (SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, char_length(m.title) AS title_length,
          pg_column_size(m.search) AS size
        FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query AND gate.further IS NULL
        LIMIT look.most)
        UNION ALL
        (SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, char_length(m.title),
          pg_column_size(m.search)
        FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query AND m.search @@ gate.further
        LIMIT look.most)) AS near
      WHERE (phrases IS NULL OR near.search @@ phrases)
        AND (p_importance_min IS NULL OR near.importance >= p_importance_min)
        AND (p_after IS NULL OR near.created_at >= p_after) AND (p_before IS NULL OR near.created_at < p_before)
        AND (p_project IS NULL OR near.project = p_project)
        AND (NOT has_expired OR near.expires_at IS NULL OR near.expires_at > p_now)
      LIMIT gate.most) AS hit
    WHERE gate.is_first
    UNION ALL
    SELECT walked.*, true FROM walked WHERE walked.place = 1 AND NOT (SELECT spared.is_spared FROM spared)
  ), candidate AS MATERIALIZED (
    SELECT DISTINCT ON (found.id) found.id, found.importance, found.title_length, found.size, found.is_walked FROM found
    ORDER BY found.id, found.is_walked DESC
  ), reading AS MATERIALIZED (
    SELECT coalesce(sum(candidate.size), 0) <= p_tuning[8] AS is_little FROM candidate
  ), point AS (
    SELECT found.id, scan.concept, scan.points, scan.share, scan.in_title
    FROM scan JOIN found ON found.place = scan.gate WHERE scan.query IS NULL
    UNION ALL
    SELECT read.id, had.concept, had.points, had.share, had.in_title
    FROM (
      SELECT m.id, m.search || ''::tsvector AS search
      FROM candidate JOIN memory m ON m.graph_id = p_graph_id AND m.id = candidate.id
      WHERE candidate.is_walked OR (SELECT reading.is_little FROM reading) OFFSET 0
    ) AS read CROSS JOIN LATERAL (
      SELECT scan.concept, scan.points, scan.share, scan.in_title FROM scan JOIN gate ON gate.place = scan.gate
      WHERE read.search @@ scan.query AND read.search @@ gate.whole OFFSET 0) AS had
    UNION ALL
    SELECT hit.id, scan.concept, scan.points, scan.share, scan.in_title
    FROM scan JOIN gate ON gate.place = scan.gate CROSS JOIN LATERAL (
      SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query
        AND m.search @@ coalesce(scan.query && gate.further, scan.query)
      LIMIT greatest(gate.most, examined)) AS hit
    WHERE scan.query IS NOT NULL AND NOT (SELECT reading.is_little FROM reading)
  ), best AS (
    SELECT point.id, point.concept, max(point.points) AS points, max(point.share) AS share,
      coalesce(max(point.share) FILTER (WHERE point.in_title), 0) AS in_title
    FROM point GROUP BY point.id, point.concept
  ), summed AS MATERIALIZED (
    SELECT best.id, sum(best.points) AS points, sum(best.share) AS share, sum(best.in_title) AS in_title
    FROM best JOIN candidate ON candidate.id = best.id GROUP BY best.id
  ), graded AS MATERIALIZED (
    SELECT candidate.id, candidate.importance, candidate.size,
      round(10000 * greatest(0, (summed.points - p_tuning[2] * summed.in_title
        * (1 - sqrt(least(1, p_query_length::float8 / greatest(1, candidate.title_length)))))
        * (1 - p_tuning[3] * (1 - candidate.importance)
          - p_tuning[4] * least(1, ln(greatest(1, candidate.size / 1000::float8)) / 5)))) / 10000 AS score
    FROM candidate JOIN summed ON summed.id = candidate.id
    WHERE summed.share > 0 AND summed.share > p_tuning[1] * (SELECT max(best.share) FROM summed AS best)
  ), near AS (
    SELECT graded.id, sum(graded.size) OVER (ORDER BY graded.score DESC, graded.importance DESC, graded.id DESC) AS size
    FROM graded WHERE cardinality(p_names) > 0
    ORDER BY graded.score DESC, graded.importance DESC, graded.id DESC LIMIT p_tuning[9]
  ), spelt AS MATERIALIZED (
    SELECT read.id, name.place, name.share
    FROM (
      SELECT m.id, concat_ws(E'\n', m.title, array_to_string(m.tags, E'\n'), m.summary, m.content) AS text
      FROM near JOIN memory m ON m.graph_id = p_graph_id AND m.id = near.id WHERE near.size <= p_tuning[14] OFFSET 0
    ) AS read
    JOIN unnest(p_names, p_name_shares) WITH ORDINALITY AS name (pattern, share, place) ON read.text ~* name.pattern
  ), named AS (
    SELECT spelt.id, sum(spelt.share) AS share FROM spelt GROUP BY spelt.id
  ), at_stake AS MATERIALIZED (
    SELECT coalesce(sum(name.share), 0) AS share FROM (SELECT DISTINCT spelt.place, spelt.share FROM spelt) AS name
  ), ranked AS MATERIALIZED (
    SELECT hit.*, row_number() OVER (ORDER BY hit.score DESC, hit.importance DESC, hit.id DESC) AS place
    FROM (
      SELECT graded.id, graded.importance,
        round(10000 * graded.score * (1 - at_stake.share + coalesce(named.share, 0))) / 10000 AS score
      FROM graded CROSS JOIN at_stake LEFT JOIN named ON named.id = graded.id) AS hit
  ), side_by_side AS MATERIALIZED (
    SELECT ranked.id, round(10000 * (ranked.score
      + p_tuning[5] * (SELECT avg((read.search @@ pair::tsquery)::int::float8) FROM unnest(p_pairs) AS pair))) / 10000
      AS score
    FROM ranked JOIN memory m ON m.graph_id = p_graph_id AND m.id = ranked.id
    CROSS JOIN LATERAL (SELECT m.search || ''::tsvector AS search OFFSET 0) AS read
    WHERE ranked.place <= p_tuning[6] AND cardinality(p_pairs) > 0
  ), superseded AS MATERIALIZED (
    SELECT ranked.id, newer.id AS by FROM ranked CROSS JOIN LATERAL (SELECT newest.other_id AS id FROM (
        (SELECT r.id, r.from_id AS other_id FROM relationship r
          WHERE r.graph_id = p_graph_id AND r.to_id = ranked.id AND r.type = 'REPLACES' LIMIT 20)
        UNION ALL
        (SELECT r.id, r.to_id FROM relationship r
          WHERE r.graph_id = p_graph_id AND r.from_id = ranked.id AND r.type = 'DEPRECATED_BY' LIMIT 20)) AS newest
      ORDER BY newest.id DESC LIMIT 1) AS newer
    WHERE has_superseded AND ranked.place <= p_tuning[6]
  ), chosen AS MATERIALIZED (
    SELECT ranked.id, ranked.importance, ranked.place, superseded.by,
      CASE WHEN superseded.by IS NULL THEN coalesce(side_by_side.score, ranked.score)
        ELSE round(10000 * p_tuning[7] * least(1, coalesce(side_by_side.score, ranked.score))) / 10000 END AS score
    FROM ranked LEFT JOIN side_by_side ON side_by_side.id = ranked.id LEFT JOIN superseded ON superseded.id = ranked.id
    ORDER BY score DESC, ranked.importance DESC, ranked.id DESC LIMIT p_limit OFFSET p_offset
  )
  SELECT matches.total::int, hit.id, hit.type, hit.title, hit.summary, hit.tags, least(1, hit.score), hit.text,
    octet_length(hit.text) < hit.bytes, weighed.concepts, weighed.weights,
    newer.memory
  FROM (
    SELECT coalesce(nullif((SELECT count(*) FROM found WHERE found.place = 1), 0), (SELECT count(*) FROM graded)) AS total
  ) AS matches
  LEFT JOIN (
    SELECT m.id, m.type, m.title, m.summary, m.tags, chosen.score, chosen.importance, chosen.by,
      has_superseded AND chosen.place > p_tuning[6] AS is_unknown, octet_length(m.content) AS bytes,
      CASE WHEN p_text_bytes > 0 THEN CASE
        WHEN sum(octet_length(m.content)) OVER (ORDER BY chosen.score DESC, chosen.importance DESC, chosen.id DESC)
          <= p_text_bytes THEN m.content
        ELSE left(m.content, p_text_least) END END AS text
    FROM chosen JOIN memory m ON m.graph_id = p_graph_id AND m.id = chosen.id
  ) AS hit ON true
  LEFT JOIN LATERAL (
    SELECT array_agg(best.concept ORDER BY best.concept) AS concepts,
      array_agg(best.points ORDER BY best.concept) AS weights
    FROM best WHERE p_explains AND best.id = hit.id
  ) AS weighed ON true
  LEFT JOIN LATERAL (
    SELECT json_build_object('memoryId', m.id, 'title', m.title) AS memory FROM (SELECT hit.by AS id WHERE hit.by IS NOT NULL
      UNION ALL SELECT further.id FROM (SELECT newest.other_id AS id FROM (
        (SELECT r.id, r.from_id AS other_id FROM relationship r
          WHERE r.graph_id = p_graph_id AND r.to_id = hit.id AND r.type = 'REPLACES' LIMIT 20)
        UNION ALL
        (SELECT r.id, r.to_id FROM relationship r
          WHERE r.graph_id = p_graph_id AND r.from_id = hit.id AND r.type = 'DEPRECATED_BY' LIMIT 20)) AS newest
      ORDER BY newest.id DESC LIMIT 1) AS further WHERE hit.is_unknown) AS known
    JOIN memory m ON m.graph_id = p_graph_id AND m.id = known.id
  ) AS newer ON true
  ORDER BY hit.score DESC, hit.importance DESC, hit.id DESC;
END $$;
