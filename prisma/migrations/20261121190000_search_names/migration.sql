-- The same letters in other forms are found by each other: full-width and half-width ones, ligatures, letters with marks
-- that may be left out (accents, Arabic and Hebrew vowels), and words with characters that are not seen. A few characters
-- stand for up to 18, so what a text becomes is cut at twice its length.
CREATE OR REPLACE FUNCTION fold_accents(value text) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN CASE WHEN octet_length(value) = char_length(value) THEN value ELSE
    left(normalize(regexp_replace(normalize(
      replace(replace(replace(replace(replace(replace(
        translate(value, 'øØłŁđĐı™℠', 'oOlLdDi  '),
        'ß', 'ss'), 'ẞ', 'SS'), 'æ', 'ae'), 'Æ', 'Ae'), 'œ', 'oe'), 'Œ', 'Oe'), NFKD),
        '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670'
        '\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]+', '', 'g'), NFC),
      2 * char_length(value) + 20) END;

-- As before, but signs are folded, too.
CREATE OR REPLACE FUNCTION memory_search(type text, title text, tags text[], summary text, content text) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  in_title tsvector := text_search(title);
  in_tags tsvector := text_search(array_to_string(tags, ' '));
  body text := coalesce(summary || ' ', '') || content;
  signs text := left(regexp_replace(fold_accents(title || array_to_string(tags, '') || body),
    '[[:alnum:][:space:]]+', '', 'g'), 5000);
  whole text[] := ARRAY[':' || type];
  tag text;
BEGIN
  FOREACH tag IN ARRAY tags LOOP
    whole := whole || ('=' || tag);
  END LOOP;
  RETURN in_title || in_tags || text_search(body)
    || mark_words('^', strip(in_title || to_tsvector('simple', plain_words(fold_accents(title)))))
    || mark_words('#', in_tags)
    || array_to_tsvector(whole)
    || array_to_tsvector(string_to_array(signs, NULL));
END $$;

-- Whether a text has a character that is folded since this migration and was not before, or otherwise.
CREATE FUNCTION is_folded_anew(value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN octet_length(value) <> char_length(value) AND (
    value ~ ('[ßẞæÆœŒ\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670'
      '\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]')
    OR normalize(translate(value, U&'\2026\00a0\202f™℠', ''), NFKD)
      <> normalize(translate(value, U&'\2026\00a0\202f™℠', ''), NFD));

-- Only these memories are read anew: setting a column to what it is computes what they are found by.
UPDATE memory SET content = content
WHERE is_folded_anew(title || ' ' || array_to_string(tags, ' ') || ' ' || coalesce(summary, '') || ' ' || content);
INSERT INTO lexicon (graph_id, word)
SELECT m.graph_id, word FROM memory m, lexicon_words(m.search) AS word
WHERE is_folded_anew(title || ' ' || array_to_string(tags, ' ') || ' ' || coalesce(summary, '') || ' ' || content)
GROUP BY m.graph_id, word
ON CONFLICT DO NOTHING;
-- Words as they were before go when their graph is looked at.
UPDATE graph_usage SET words_doubted_at = now() WHERE words_doubted_at IS NULL AND graph_id IN (
  SELECT m.graph_id FROM memory m
  WHERE is_folded_anew(title || ' ' || array_to_string(tags, ' ') || ' ' || coalesce(summary, '') || ' ' || content));
DROP FUNCTION is_folded_anew(text);

DROP FUNCTION search_hits(uuid, text[], int[], text[], int[], int[], text[], float8[], float8[], boolean[], text[], int,
  float8[], int, int, int, float8, timestamptz, timestamptz, text, timestamptz, int, int, boolean);

-- As before, but
-- - hits are put in order by their whole score, of which the relevance shows at most 1: a title that is all of the query
--   comes before longer ones that have all of it, too;
-- - names with signs, such as c++ and --no-cache, are looked for in the texts of the best `p_tuning[9]` hits while their
--   words have at most `p_tuning[8]` bytes together. Where any has such a name, those that do not lose its share. A name is
--   given as a regular expression, and texts are compared as they are written: to fold 50 of 14,000 characters took 100 ms;
-- - where `p_tuning[10]` is 1 and another gate is full, the first is not looked up: what it finds besides is worth less, and
--   it is known that there is more than a search counts. Of a flag the planner guesses that half of the gates have it;
--   with fewer rows it would join all hits by nested loops.
CREATE FUNCTION search_hits(
  p_graph_id uuid, p_gates text[], p_limits int[], p_phrases text[],
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
BEGIN
  RETURN QUERY
  WITH gate AS MATERIALIZED (
    SELECT given.place, given.place = 1 AS is_first, given.query::tsquery AS query, given.most
    FROM unnest(p_gates, p_limits) WITH ORDINALITY AS given (query, most, place)
  ), scan AS MATERIALIZED (
    SELECT given.gate, given.concept, given.query::tsquery AS query, given.points, given.share, given.in_title
    FROM unnest(p_scan_gates, p_concepts, p_scans, p_points, p_shares, p_in_title)
      AS given (gate, concept, query, points, share, in_title)
  ), further AS MATERIALIZED (
    SELECT gate.place, hit.* FROM gate CROSS JOIN LATERAL (
      SELECT near.id, near.importance, near.title_length, near.size
      FROM (
        SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, char_length(m.title) AS title_length,
          pg_column_size(m.search) AS size
        FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query
        LIMIT greatest(gate.most, examined)) AS near
      WHERE (phrases IS NULL OR near.search @@ phrases)
        AND (p_importance_min IS NULL OR near.importance >= p_importance_min)
        AND (p_after IS NULL OR near.created_at >= p_after) AND (p_before IS NULL OR near.created_at < p_before)
        AND (p_project IS NULL OR near.project = p_project)
        AND (NOT has_expired OR near.expires_at IS NULL OR near.expires_at > p_now)
      LIMIT gate.most) AS hit
    WHERE NOT gate.is_first
  ), spared AS MATERIALIZED (
    SELECT p_tuning[10] = 1 AND EXISTS (SELECT 1 FROM further JOIN gate ON gate.place = further.place
      GROUP BY gate.place, gate.most HAVING count(*) >= gate.most) AS is_spared
  ), found AS MATERIALIZED (
    SELECT * FROM further
    UNION ALL
    SELECT gate.place, hit.* FROM gate CROSS JOIN LATERAL (
      SELECT near.id, near.importance, near.title_length, near.size
      FROM (
        SELECT m.id, m.importance, m.created_at, m.project, m.expires_at, m.search, char_length(m.title) AS title_length,
          pg_column_size(m.search) AS size
        FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query
        LIMIT CASE WHEN (SELECT spared.is_spared FROM spared) THEN 0 ELSE greatest(gate.most, examined) END) AS near
      WHERE (phrases IS NULL OR near.search @@ phrases)
        AND (p_importance_min IS NULL OR near.importance >= p_importance_min)
        AND (p_after IS NULL OR near.created_at >= p_after) AND (p_before IS NULL OR near.created_at < p_before)
        AND (p_project IS NULL OR near.project = p_project)
        AND (NOT has_expired OR near.expires_at IS NULL OR near.expires_at > p_now)
      LIMIT gate.most) AS hit
    WHERE gate.is_first
  ), candidate AS MATERIALIZED (
    SELECT DISTINCT ON (found.id) found.id, found.importance, found.title_length, found.size FROM found
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
      WHERE (SELECT reading.is_little FROM reading) OFFSET 0
    ) AS read CROSS JOIN LATERAL (
      SELECT scan.concept, scan.points, scan.share, scan.in_title FROM scan JOIN gate ON gate.place = scan.gate
      WHERE read.search @@ scan.query AND read.search @@ gate.query OFFSET 0) AS had
    UNION ALL
    SELECT hit.id, scan.concept, scan.points, scan.share, scan.in_title
    FROM scan JOIN gate ON gate.place = scan.gate CROSS JOIN LATERAL (
      SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ (gate.query && scan.query)
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
      FROM near JOIN memory m ON m.graph_id = p_graph_id AND m.id = near.id WHERE near.size <= p_tuning[8] OFFSET 0
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
