-- Both functions are as before, with the same result, but:
-- - many types and tags are compared with each memory as the keys of an object, which are found by halving. An array
--   compares each of 50 tags with each of a memory's, which takes 3 microseconds;
-- - no vector is read where nothing is looked for in it, as for a sign.
CREATE OR REPLACE FUNCTION walk_memories(p_graph_id uuid, p_queries tsquery[], p_walks boolean[], p_phrases tsquery, p_types text[],
  p_tags text[], p_filtered boolean, p_newest int, p_oldest int, p_bytes float8, p_share float8, p_importance_min float8,
  p_after timestamptz, p_before timestamptz, p_project text, p_now timestamptz)
  RETURNS TABLE (place bigint, id uuid, importance float8, title_length int, size int)
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_indexscan = on
  SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  types jsonb := jsonb_object(p_types, p_types);
  alternatives jsonb := jsonb_object(p_tags, p_tags);
  from_oldest boolean := p_filtered AND p_project IS NULL
    AND p_before <= (SELECT m.created_at FROM memory m WHERE m.graph_id = p_graph_id ORDER BY m.id DESC LIMIT 1)
    AND (p_after IS NULL
      OR p_after <= (SELECT m.created_at FROM memory m WHERE m.graph_id = p_graph_id ORDER BY m.id LIMIT 1));
  newest int := CASE WHEN from_oldest THEN 0 ELSE p_newest END;
  oldest int := CASE WHEN from_oldest THEN p_newest ELSE p_oldest END;
BEGIN
  IF p_filtered AND p_project IS NULL AND p_after IS NULL AND p_before IS NULL AND p_share < (
      SELECT avg((p_importance_min IS NULL OR sample.importance >= p_importance_min)::int)
      FROM (
        (SELECT m.importance FROM memory m WHERE m.graph_id = p_graph_id ORDER BY m.id DESC LIMIT 2000)
        UNION ALL
        (SELECT m.importance FROM memory m WHERE m.graph_id = p_graph_id ORDER BY m.id LIMIT 2000)
      ) AS sample) THEN
    RETURN QUERY SELECT 0::bigint, NULL::uuid, NULL::float8, NULL::int, NULL::int;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT hit.place, near.id, near.importance, near.title_length, near.size
  FROM (
    SELECT walked.*, row_number() OVER walk AS rank, sum(walked.size) OVER walk AS bytes
    FROM (
      (SELECT m.id, m.importance, char_length(m.title) AS title_length, m.type, m.tags, m.search,
        vector_bytes(m.search, m.content) AS size
      FROM memory m
      WHERE m.graph_id = p_graph_id AND m.importance >= coalesce(p_importance_min, '-infinity')
        AND m.created_at >= coalesce(p_after, '-infinity') AND m.created_at < coalesce(p_before, 'infinity')
        AND (p_now IS NULL OR m.expires_at IS NULL OR m.expires_at > p_now) AND p_project IS NULL
      ORDER BY m.id DESC LIMIT newest)
      UNION ALL
      (SELECT m.id, m.importance, char_length(m.title), m.type, m.tags, m.search, vector_bytes(m.search, m.content)
      FROM memory m
      WHERE m.graph_id = p_graph_id AND m.project = p_project AND m.importance >= coalesce(p_importance_min, '-infinity')
        AND m.created_at >= coalesce(p_after, '-infinity') AND m.created_at < coalesce(p_before, 'infinity')
        AND (p_now IS NULL OR m.expires_at IS NULL OR m.expires_at > p_now) AND p_project IS NOT NULL
      ORDER BY m.id DESC LIMIT newest)
      UNION ALL
      (SELECT m.id, m.importance, char_length(m.title), m.type, m.tags, m.search, vector_bytes(m.search, m.content)
      FROM memory m
      WHERE m.graph_id = p_graph_id AND m.importance >= coalesce(p_importance_min, '-infinity')
        AND m.created_at >= coalesce(p_after, '-infinity') AND m.created_at < coalesce(p_before, 'infinity')
        AND (p_now IS NULL OR m.expires_at IS NULL OR m.expires_at > p_now)
      ORDER BY m.id LIMIT oldest)
    ) AS walked
    WINDOW walk AS (ROWS UNBOUNDED PRECEDING)
  ) AS near CROSS JOIN LATERAL (
    SELECT query.place FROM unnest(p_queries, p_walks) WITH ORDINALITY AS query (words, walks, place)
    WHERE near.bytes <= p_bytes
      AND (types IS NULL OR types ? near.type) AND (alternatives IS NULL OR alternatives ?| near.tags)
      AND (query.walks OR p_filtered) AND near.search @@ query.words AND (p_phrases IS NULL OR near.search @@ p_phrases)
    UNION ALL
    SELECT 0 WHERE near.bytes > p_bytes OR near.rank = newest + oldest
    UNION ALL
    SELECT -1 WHERE p_filtered AND near.rank = newest + oldest AND near.bytes <= p_bytes
  ) AS hit;
END $$;

CREATE OR REPLACE FUNCTION search_hits(
  p_graph_id uuid, p_gates text[], p_further_words text[], p_within int[], p_limits int[], p_walks boolean[], p_wide text,
  p_compares boolean[], p_types text[], p_tags text[], p_phrases text[],
  p_scan_gates int[], p_concepts int[], p_scans text[], p_points float8[], p_shares float8[], p_in_title boolean[],
  p_pairs text[], p_names text[], p_name_shares float8[], p_query_length int, p_tuning float8[], p_limit int, p_offset int,
  p_examined int,
  p_importance_min float8, p_after timestamptz, p_before timestamptz, p_project text, p_now timestamptz,
  p_text_bytes int, p_text_least int, p_explains boolean, p_probes boolean)
  RETURNS TABLE (total int, id uuid, type text, title text, summary text, tags text[], relevance float8, text text,
    continues boolean, concepts int[], weights float8[], newer json, solution json,
    updated timestamptz)
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
  has_superseded boolean := has_relationship(p_graph_id, '{REPLACES,DEPRECATED_BY}');
  -- The previous version does not say it.
  shows_links boolean := coalesce(p_tuning[21], 1) = 1;
  has_solved boolean := shows_links AND has_relationship(p_graph_id, '{SOLVES,ADDRESSES}');
  has_expired boolean := has_expired_memory(p_graph_id, p_now);
  -- What is not found by the index alone needs more to look at.
  is_filtered boolean := has_expired OR p_importance_min IS NOT NULL OR p_after IS NOT NULL OR p_before IS NOT NULL
    OR p_project IS NOT NULL;
  -- Many types and tags are compared with what the index has found for some gates, and looked up in it for the others.
  wide_share float8 := CASE WHEN NOT is_filtered AND true = ANY (p_compares)
    THEN share_at_ends(p_graph_id, NULL, p_types, p_tags, 0) END;
  is_compared boolean := coalesce(wide_share >= p_tuning[19], false);
  types jsonb := CASE WHEN is_compared THEN jsonb_object(p_types, p_types) END;
  alternatives jsonb := CASE WHEN is_compared THEN jsonb_object(p_tags, p_tags) END;
  examined int := CASE WHEN is_filtered THEN p_examined ELSE 0 END;
  further tsquery[] := ARRAY(
    SELECT CASE WHEN is_compared AND given.compares THEN given.words::tsquery
      ELSE coalesce(given.words::tsquery && p_wide::tsquery, given.words::tsquery, p_wide::tsquery) END
    FROM unnest(p_further_words, p_compares) WITH ORDINALITY AS given (words, compares, place) ORDER BY given.place);
  wholes tsquery[] := ARRAY(SELECT coalesce(given.query::tsquery && given.words::tsquery, given.query::tsquery)
    FROM unnest(p_gates, p_further_words) WITH ORDINALITY AS given (query, words, place) ORDER BY given.place);
  -- Comparing a vector with a phrase takes as long as the phrase has words, at most.
  phrase_work float8 := coalesce(1 + numnode(phrases) / 4.0, 1);
  -- Servers of the previous version give no limits of bytes.
  phrase_bytes float8 := coalesce(p_tuning[22], 16000000) / phrase_work;
  best_bytes float8 := coalesce(p_tuning[23], 1500000);
  newest int := p_tuning[11];
  oldest int := p_tuning[12];
  share float8;
  -- The candidates: which gate found them, and whether among the newest and oldest memories.
  places bigint[] := '{}';
  ids uuid[] := '{}';
  importances float8[] := '{}';
  lengths int[] := '{}';
  sizes int[] := '{}';
  -- The gates for which the newest and oldest memories suffice, and which of these match them.
  answered bigint[] := '{}';
  walked_count int;
  gate record;
  hits record;
  complete bigint[] := '{}';
  is_full boolean;
BEGIN
  -- Two conditions, since the index then looks up the further words only for what matches the first ones.
  IF p_probes AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.graph_id = p_graph_id
    AND m.search @@ p_gates[1]::tsquery AND m.search @@ coalesce(p_further_words[1], p_gates[1])::tsquery) THEN
    total := -1;
    RETURN NEXT;
    RETURN;
  END IF;
  -- The share of what is matched is not known where there are types or tags.
  IF newest > 0 AND p_tuning[16] > 0 THEN
    share := share_at_ends(p_graph_id, wholes[1], p_types, p_tags, best_bytes);
    newest := CASE WHEN share >= p_tuning[16] THEN ceil(p_tuning[17] * p_limits[1] / share / 2) ELSE 0 END;
    oldest := newest;
  END IF;
  IF newest > 0 THEN
    WITH hit AS MATERIALIZED (
      -- The newest are the oldest, too, where few have not expired.
      SELECT DISTINCT * FROM walk_memories(p_graph_id, wholes, p_walks, phrases, p_types, p_tags, p_tuning[18] = 1,
        newest, oldest, p_tuning[13] / phrase_work, p_tuning[15], p_importance_min, p_after, p_before, p_project,
        CASE WHEN has_expired THEN p_now END)
    ), gate AS MATERIALIZED (
      SELECT given.place, given.most FROM unnest(p_limits, p_walks) WITH ORDINALITY AS given (most, walks, place)
      -- Without filters, gates that do not walk are not compared.
      WHERE (given.walks OR p_tuning[18] = 1) AND NOT EXISTS (SELECT FROM hit WHERE hit.place = 0)
        OR given.walks AND (EXISTS (SELECT FROM hit WHERE hit.place = -1)
          OR (SELECT count(*) FROM hit WHERE hit.place = given.place) >= given.most)
    )
    SELECT ARRAY(SELECT gate.place FROM gate), coalesce(array_agg(kept.place), '{}'), coalesce(array_agg(kept.id), '{}'),
      coalesce(array_agg(kept.importance), '{}'), coalesce(array_agg(kept.title_length), '{}'),
      coalesce(array_agg(kept.size), '{}')
    INTO answered, places, ids, importances, lengths, sizes
    FROM (
      SELECT hit.*, gate.most, row_number() OVER (PARTITION BY hit.place ORDER BY hit.id DESC) AS rank
      FROM hit JOIN gate ON gate.place = hit.place) AS kept
    WHERE kept.rank <= kept.most;
  END IF;
  walked_count := cardinality(ids);
  is_full := EXISTS (SELECT 1 FROM unnest(places) AS walked (place) WHERE walked.place > 1
    GROUP BY walked.place HAVING count(*) >= p_limits[walked.place]);
  FOR gate IN
    SELECT given.place, given.query::tsquery AS query, given.further, given.within, given.most,
      greatest(given.most, CASE WHEN is_filtered THEN p_examined
        WHEN is_compared AND given.compares THEN ceil(p_tuning[17] * given.most / wide_share) END)::int AS examined,
      is_compared AND given.compares AS compares
    FROM unnest(p_gates, further, p_within, p_limits, p_compares) WITH ORDINALITY
      AS given (query, further, within, most, compares, place)
    WHERE given.place <> ALL (answered) ORDER BY p_tuning[10] = 1 AND given.place = 1, given.place
  LOOP
    CONTINUE WHEN p_tuning[10] = 1 AND gate.place = 1 AND is_full OR gate.within = ANY (complete);
    LOOP
      SELECT count(*) AS count, array_agg(hit.id) AS ids, array_agg(hit.importance) AS importances,
        array_agg(hit.title_length) AS lengths, array_agg(hit.size) AS sizes INTO hits
      FROM (
        SELECT passing.*
        FROM (
          SELECT near.*, sum(near.size) OVER (ROWS UNBOUNDED PRECEDING) AS bytes
          FROM (
            (SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, m.type, m.tags,
              char_length(m.title) AS title_length, vector_bytes(m.search, m.content) AS size
            FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query AND gate.further IS NULL
            LIMIT gate.examined)
            UNION ALL
            (SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, m.type, m.tags,
              char_length(m.title), vector_bytes(m.search, m.content)
            FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query AND m.search @@ gate.further
            LIMIT gate.examined)) AS near
          WHERE (types IS NULL OR types ? near.type) AND (alternatives IS NULL OR alternatives ?| near.tags)
            AND (p_importance_min IS NULL OR near.importance >= p_importance_min)
            AND (p_after IS NULL OR near.created_at >= p_after) AND (p_before IS NULL OR near.created_at < p_before)
            AND (p_project IS NULL OR near.project = p_project)
            AND (NOT has_expired OR near.expires_at IS NULL OR near.expires_at > p_now)) AS passing
        -- What is beyond the limit counts as a hit until here, so that no more is looked at than is wanted.
        WHERE phrases IS NULL OR passing.bytes > phrase_bytes OR passing.search @@ phrases
        LIMIT gate.most) AS hit
      WHERE phrases IS NULL OR hit.bytes <= phrase_bytes;
      EXIT WHEN hits.count >= gate.most OR NOT gate.compares;
      -- Those that have any may be stored behind those that were looked at.
      gate.compares := false;
      gate.further := coalesce(gate.further && p_wide::tsquery, p_wide::tsquery);
    END LOOP;
    IF hits.count < gate.most AND gate.examined = gate.most AND phrases IS NULL THEN
      complete := complete || gate.place;
    END IF;
    CONTINUE WHEN hits.count = 0;
    is_full := is_full OR hits.count >= gate.most;
    places := places || array_fill(gate.place, ARRAY[hits.count::int]);
    ids := ids || hits.ids;
    importances := importances || hits.importances;
    lengths := lengths || hits.lengths;
    sizes := sizes || hits.sizes;
  END LOOP;
  RETURN QUERY
  WITH gate AS MATERIALIZED (
    SELECT given.place, given.query::tsquery AS query, given.further, given.most
    FROM unnest(p_gates, further, p_limits) WITH ORDINALITY AS given (query, further, most, place)
  ), scan AS MATERIALIZED (
    SELECT abs(given.gate) AS gate, CASE WHEN given.gate > 0 THEN wholes[given.gate] END AS whole, given.concept,
      given.query::tsquery AS query, given.points, given.share, given.in_title
    FROM unnest(p_scan_gates, p_concepts, p_scans, p_points, p_shares, p_in_title)
      AS given (gate, concept, query, points, share, in_title)
  ), sought AS MATERIALIZED (
    -- Most memories have few of the concepts.
    SELECT scan.whole, scan.concept, string_agg('(' || scan.query::text || ')', ' | ')::tsquery AS query,
      array_agg(scan.query) AS queries, array_agg(scan.points) AS points, array_agg(scan.share) AS shares,
      array_agg(scan.in_title) AS in_title
    FROM scan WHERE scan.query IS NOT NULL GROUP BY scan.gate, scan.whole, scan.concept
  ), found AS MATERIALIZED (
    -- The planner guesses that there are 1,000; of `unnest` it would guess ten, and join all hits by nested loops.
    SELECT places[hit.rank] AS place, ids[hit.rank] AS id, importances[hit.rank] AS importance,
      lengths[hit.rank] AS title_length, sizes[hit.rank] AS size, hit.rank <= walked_count AS is_walked
    FROM generate_series(1, cardinality(ids)) AS hit (rank)
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
      SELECT candidate.id, had.search FROM candidate CROSS JOIN LATERAL (SELECT setweight(m.search, 'D') AS search
        FROM memory m WHERE m.graph_id = p_graph_id AND m.id = candidate.id OFFSET 0) AS had
      WHERE (SELECT count(*) FROM sought) > 0
        AND (candidate.is_walked OR (SELECT reading.is_little FROM reading)) OFFSET 0
    ) AS read CROSS JOIN LATERAL (
      SELECT sought.* FROM sought
      WHERE read.search @@ sought.query AND (sought.whole IS NULL OR read.search @@ sought.whole) OFFSET 0
    ) AS present CROSS JOIN LATERAL (
      SELECT present.concept, way.points, way.share, way.in_title
      FROM unnest(present.queries, present.points, present.shares, present.in_title) AS way (query, points, share, in_title)
      WHERE read.search @@ way.query) AS had
    UNION ALL
    SELECT hit.id, scan.concept, scan.points, scan.share, scan.in_title
    FROM scan JOIN gate ON gate.place = scan.gate CROSS JOIN LATERAL (
      SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id
        AND m.search @@ CASE WHEN scan.whole IS NULL THEN scan.query ELSE gate.query END
        AND m.search @@ coalesce(scan.query && gate.further, scan.query)
      LIMIT greatest(gate.most, examined)) AS hit
    WHERE scan.query IS NOT NULL AND NOT (SELECT reading.is_little FROM reading)
  ), best AS (
    SELECT point.id, point.concept, max(point.points) AS points, max(point.share) AS share,
      coalesce(max(point.share) FILTER (WHERE point.in_title), 0) AS in_title
    FROM point WHERE point.id IN (SELECT candidate.id FROM candidate) IS TRUE GROUP BY point.id, point.concept
  ), summed AS MATERIALIZED (
    SELECT best.id, sum(best.points) AS points, sum(best.share) AS share, sum(best.in_title) AS in_title,
      count(*) FILTER (WHERE best.share > 0) AS words
    FROM best GROUP BY best.id
  ), graded AS MATERIALIZED (
    SELECT candidate.id, candidate.importance, candidate.size,
      round(10000 * greatest(0, (summed.points - p_tuning[2] * summed.in_title
        * (1 - sqrt(least(1, p_query_length::float8 / greatest(1, candidate.title_length)))))
        * (1 - p_tuning[3] * (1 - candidate.importance)
          - p_tuning[4] * least(1, ln(greatest(1, candidate.size / 1000::float8)) / 5)))) / 10000 AS score
    FROM candidate JOIN summed ON summed.id = candidate.id
    WHERE summed.share > 0 AND summed.share > (
      SELECT max(best.share) * CASE WHEN max(best.words) > 1 THEN p_tuning[1] ELSE coalesce(p_tuning[20], p_tuning[1]) END
      FROM summed AS best)
  ), near AS (
    SELECT graded.id, sum(graded.size) OVER (ORDER BY graded.score DESC, graded.importance DESC, graded.id DESC) AS size
    FROM graded WHERE cardinality(p_names) > 0
    ORDER BY graded.score DESC, graded.importance DESC, graded.id DESC LIMIT p_tuning[9]
  ), spelt AS MATERIALIZED (
    SELECT read.id, name.place, name.share
    FROM (
      SELECT m.id, concat_ws(E'\n', m.title, array_to_string(m.tags, E'\n'), m.summary, m.content) AS text
      FROM (
        SELECT m.*, sum(octet_length(m.content)) OVER (ORDER BY near.size) AS bytes
        FROM near CROSS JOIN LATERAL (SELECT * FROM memory m WHERE m.graph_id = p_graph_id AND m.id = near.id OFFSET 0) AS m
        WHERE near.size <= p_tuning[14]
      ) AS m WHERE m.bytes <= 2 * p_tuning[14] OFFSET 0
    ) AS read
    JOIN unnest(p_names, p_name_shares) WITH ORDINALITY AS name (pattern, share, place) ON read.text ~* name.pattern
  ), named AS (
    SELECT spelt.id, sum(spelt.share) AS share FROM spelt GROUP BY spelt.id
  ), at_stake AS MATERIALIZED (
    SELECT coalesce(sum(name.share), 0) AS share FROM (SELECT DISTINCT spelt.place, spelt.share FROM spelt) AS name
  ), ranked AS MATERIALIZED (
    SELECT hit.*, row_number() OVER best_first AS place, sum(hit.size) OVER best_first AS bytes
    FROM (
      SELECT graded.id, graded.importance, graded.size,
        round(10000 * graded.score * (1 - at_stake.share + coalesce(named.share, 0))) / 10000 AS score
      FROM graded CROSS JOIN at_stake LEFT JOIN named ON named.id = graded.id) AS hit
    WINDOW best_first AS (ORDER BY hit.score DESC, hit.importance DESC, hit.id DESC ROWS UNBOUNDED PRECEDING)
  ), side_by_side AS MATERIALIZED (
    SELECT ranked.id, round(10000 * (ranked.score
      + p_tuning[5] * (SELECT avg((read.search @@ pair::tsquery)::int::float8) FROM unnest(p_pairs) AS pair))) / 10000
      AS score
    FROM ranked CROSS JOIN LATERAL (SELECT setweight(m.search, 'D') AS search
      FROM memory m WHERE m.graph_id = p_graph_id AND m.id = ranked.id OFFSET 0) AS read
    WHERE ranked.place <= p_tuning[6] AND ranked.bytes <= best_bytes AND cardinality(p_pairs) > 0
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
  ), explained AS MATERIALIZED (
    SELECT best.* FROM best WHERE p_explains AND best.id IN (SELECT chosen.id FROM chosen) IS TRUE
  )
  SELECT matches.total::int, hit.id, hit.type, hit.title, hit.summary, hit.tags, least(1, hit.score), hit.text,
    octet_length(hit.text) < hit.bytes, weighed.concepts, weighed.weights,
    newer.memory, solution.memory, hit.updated_at
  FROM (
    SELECT coalesce(nullif((SELECT count(*) FROM found WHERE found.place = 1), 0), (SELECT count(*) FROM graded)) AS total
  ) AS matches
  LEFT JOIN (
    SELECT m.id, m.type, m.title, m.summary, m.tags, m.updated_at, chosen.score, chosen.importance, chosen.by,
      shows_links AND has_superseded AND chosen.place > p_tuning[6] AS is_unknown, octet_length(m.content) AS bytes,
      CASE WHEN p_text_bytes > 0 THEN CASE
        WHEN sum(octet_length(m.content)) OVER (ORDER BY chosen.score DESC, chosen.importance DESC, chosen.id DESC)
          <= p_text_bytes THEN m.content
        ELSE left(m.content, p_text_least) END END AS text
    FROM chosen CROSS JOIN LATERAL (
      SELECT * FROM memory m WHERE m.graph_id = p_graph_id AND m.id = chosen.id OFFSET 0) AS m
  ) AS hit ON true
  LEFT JOIN LATERAL (
    SELECT array_agg(best.concept ORDER BY best.concept) AS concepts,
      array_agg(best.points ORDER BY best.concept) AS weights
    FROM explained AS best WHERE best.id = hit.id
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
  LEFT JOIN LATERAL (
    SELECT json_build_object('memoryId', m.id, 'title', m.title) AS memory FROM (SELECT either.other_id AS id FROM (
        (SELECT r.id, r.type, r.from_id AS other_id FROM relationship r
          WHERE r.graph_id = p_graph_id AND r.to_id = hit.id AND r.type = 'SOLVES' LIMIT 20)
        UNION ALL
        (SELECT r.id, r.type, r.from_id FROM relationship r
          WHERE r.graph_id = p_graph_id AND r.to_id = hit.id AND r.type = 'ADDRESSES' LIMIT 20)) AS either
      -- A condition of the join would be checked after the look-up.
      WHERE has_solved ORDER BY either.type DESC, either.id DESC LIMIT 1) AS newest
    JOIN memory m ON m.graph_id = p_graph_id AND m.id = newest.id
  ) AS solution ON true
  ORDER BY hit.score DESC, hit.importance DESC, hit.id DESC;
END $$;
