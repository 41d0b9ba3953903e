-- Search by words: one vector that knows words by every way in which they are asked for, and a lexicon per graph, so
-- that misspelling is a matter of words and not of texts.

-- Words without accents: "cafe" finds "café". ASCII is left alone, which most texts are.
CREATE FUNCTION fold_accents(value text) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN CASE WHEN octet_length(value) = char_length(value) THEN value ELSE
    normalize(regexp_replace(normalize(
      translate(value, 'øØłŁđĐıŒœ', 'oOlLdDiOo'), NFD), '[\u0300-\u036f]+', '', 'g'), NFC) END;

-- Words as they are written, but for those that say nothing ("the", "of").
CREATE TEXT SEARCH DICTIONARY word_form (TEMPLATE = pg_catalog.simple, STOPWORDS = english);
CREATE TEXT SEARCH CONFIGURATION word_form (COPY = pg_catalog.simple);
ALTER TEXT SEARCH CONFIGURATION word_form
  ALTER MAPPING FOR asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part, hword_numpart
  WITH word_form;

-- What a text is found by:
-- * the stems of its words, with their places, for phrases;
-- * its words as written;
-- * the parts of camelCase words;
-- * names of several parts as one word, whole and from each part on: get_user_by_id, get-user-by-id and getUserById all
--   have "getuserbyid", "userbyid" and "byid";
-- * each two neighbours in a run of Chinese, Japanese or Korean characters.
-- Every expression is linear in the text's length; names are looked for in the first 20,000 characters.
CREATE FUNCTION text_search(value text) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
  folded text := fold_accents(value);
  plain text := plain_words(folded);
  words tsvector := to_tsvector('english', plain) || strip(to_tsvector('word_form', plain));
  names text := '';
  parts text;
BEGIN
  IF folded ~ '[[:lower:][:digit:]][[:upper:]]|[[:upper:]][[:upper:]][[:lower:]]' THEN
    SELECT string_agg(piece[1], ' ') INTO parts FROM regexp_matches(left(folded, 20000),
      '[[:alnum:]]*(?:[[:lower:][:digit:]][[:upper:]]|[[:upper:]][[:upper:]][[:lower:]])[[:alnum:]]*', 'g') AS piece
    WHERE length(piece[1]) <= 80;
    names := regexp_replace(regexp_replace(coalesce(parts, ''), '([[:lower:][:digit:]])([[:upper:]])', '\1_\2', 'g'),
      '([[:upper:]])([[:upper:]][[:lower:]])', '\1_\2', 'g');
    parts := plain_words(names);
    words := words || strip(to_tsvector('english', parts)) || strip(to_tsvector('word_form', parts));
  END IF;
  IF folded ~ '[[:alnum:]][-_./][[:alnum:]]' THEN
    SELECT string_agg(piece[1], ' ') INTO parts
    FROM regexp_matches(left(folded, 20000), '[[:alnum:]]+(?:[-_./][[:alnum:]]+)+', 'g') AS piece
    WHERE length(piece[1]) <= 80;
    names := names || ' ' || coalesce(parts, '');
  END IF;
  FOR rest IN 1 .. 4 LOOP
    EXIT WHEN names !~ '[-_./]';
    words := words || strip(to_tsvector('word_form', translate(names, '-_./', '')));
    names := regexp_replace(names, '(^| )[[:alnum:]]+[-_./]?', '\1', 'g');
  END LOOP;
  IF octet_length(folded) > char_length(folded)
    AND folded ~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f]' THEN
    parts := regexp_replace(folded,
      '[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f]+', ' ', 'g');
    words := words || strip(to_tsvector('word_form', regexp_replace(parts, '([^ ][^ ])', '\1 ', 'g')))
      || strip(to_tsvector('word_form',
        regexp_replace(regexp_replace(parts, '(^| )[^ ]', '\1', 'g'), '([^ ][^ ])', '\1 ', 'g')));
  END IF;
  RETURN words;
END $$;

-- The same words behind a mark that no word has, which says where they stand.
CREATE FUNCTION mark_words(mark text, words tsvector) RETURNS tsvector
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN CASE WHEN length(words) = 0 THEN ''::tsvector ELSE array_to_tsvector(
    string_to_array(mark || array_to_string(tsvector_to_array(words), E'\n' || mark), E'\n')) END;

-- What a memory is found by. A word of the title stands in it once more behind ^, one of a tag behind #, a whole tag
-- behind =, the type behind :, and every other character than letters, digits and space for itself. So where a word
-- stands, and what a search is narrowed to, is told by the index alone: no vector is read for it.
CREATE FUNCTION memory_search(type text, title text, tags text[], summary text, content text) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  in_title tsvector := text_search(title);
  in_tags tsvector := text_search(array_to_string(tags, ' '));
  body text := coalesce(summary || ' ', '') || content;
  signs text := left(regexp_replace(title || array_to_string(tags, '') || body, '[[:alnum:][:space:]]+', '', 'g'), 5000);
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

DROP INDEX memory_words;
DROP INDEX memory_search;
ALTER TABLE memory DROP COLUMN search;
DROP FUNCTION memory_search(text, text[], text, text);
DROP FUNCTION memory_words(text, text[], text, text);
ALTER TABLE memory ADD COLUMN search tsvector
  GENERATED ALWAYS AS (memory_search("type", "title", "tags", "summary", "content")) STORED;
-- What waits to be sorted into the index is read by every search, so it is kept short.
CREATE INDEX "memory_search" ON "memory" USING GIN ("graph_id" uuid_ops, "search") WITH (gin_pending_list_limit = 256);

-- The words of a graph and how many memories have each: 0 until they are counted. The word '' has how many memories
-- there were when they were counted.
CREATE TABLE "lexicon" (
    "graph_id" UUID NOT NULL,
    "word" TEXT COLLATE "C" NOT NULL,
    "documents" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "lexicon_pkey" PRIMARY KEY ("graph_id", "word"),
    CONSTRAINT "lexicon_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph"("id")
      ON DELETE CASCADE ON UPDATE NO ACTION
);

-- Which graphs have words that are not counted yet.
CREATE INDEX "lexicon_uncounted" ON "lexicon" ("graph_id") WHERE "documents" = 0;

-- The words of a vector that stand in the lexicon: no marks, and nothing that nobody types.
CREATE FUNCTION lexicon_words(search tsvector) RETURNS SETOF text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT word FROM unnest(tsvector_to_array(search)) AS word
  WHERE length(word) <= 40 AND left(word, 1) <> ALL ('{^,#,=,:}'::text[])
$$;

INSERT INTO lexicon (graph_id, word, documents)
SELECT m.graph_id, word, count(*) FROM memory m, lexicon_words(m.search) AS word GROUP BY m.graph_id, word;
INSERT INTO lexicon (graph_id, word, documents) SELECT graph_id, '', count(*) FROM memory GROUP BY graph_id;

-- Lets the words of a memory stand in the lexicon; answers with how many were new. Words come in one order, so that two
-- who learn at once do not each wait for the other.
CREATE FUNCTION learn_words(p_graph_id uuid, p_search tsvector) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  learnt bigint;
BEGIN
  INSERT INTO lexicon (graph_id, word)
  SELECT p_graph_id, learnt_word FROM lexicon_words(p_search) AS learnt_word
  WHERE NOT EXISTS (SELECT 1 FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = learnt_word)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS learnt = ROW_COUNT;
  RETURN learnt;
END $$;

-- The same for several memories of a graph.
CREATE FUNCTION learn_words_of(p_graph_id uuid, p_ids uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO lexicon (graph_id, word)
  SELECT DISTINCT p_graph_id, word COLLATE "C" AS word FROM memory m, lexicon_words(m.search) AS word
  WHERE m.graph_id = p_graph_id AND m.id = ANY (p_ids) ORDER BY word
  ON CONFLICT DO NOTHING
$$;

-- As before, and what a memory says enters the lexicon with it.
CREATE OR REPLACE FUNCTION create_memory(p_graph_id uuid, p_id uuid, p_type text, p_title text, p_content text, p_summary text,
  p_tags text[], p_importance float8, p_user_id uuid, p_now timestamptz, p_memories_max integer, p_bytes_max bigint)
  RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  words tsvector;
  added CONSTANT bigint := memory_bytes(p_type, p_title, p_content, p_summary, p_tags);
BEGIN
  PERFORM assert_graph_has_room(p_graph_id, 1, added, p_memories_max, p_bytes_max);
  INSERT INTO memory (graph_id, id, type, title, content, summary, tags, importance,
    created_by, created_at, updated_by, updated_at)
  VALUES (p_graph_id, p_id, p_type, p_title, p_content, p_summary, p_tags, p_importance,
    p_user_id, p_now, p_user_id, p_now)
  RETURNING search INTO words;
  PERFORM learn_words(p_graph_id, words);
  PERFORM count_in_graph(p_graph_id, 1, added, p_memories_max, p_bytes_max);
END $$;

CREATE OR REPLACE FUNCTION change_memory(p_graph_id uuid, p_id uuid, p_expected_version integer, p_type text, p_title text,
  p_content text, p_sets_summary boolean, p_summary text, p_tags text[], p_importance float8, p_user_id uuid,
  p_now timestamptz, p_memories_max integer, p_bytes_max bigint,
  OUT version_before integer, OUT graph_id uuid, OUT id uuid, OUT type text, OUT title text, OUT content text,
  OUT summary text, OUT tags text[], OUT importance float8, OUT version integer, OUT created_by uuid,
  OUT created_at timestamptz, OUT updated_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  added bigint;
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
  -- What it was is kept, so all that it is now comes on top.
  PERFORM count_in_graph(p_graph_id, 0, added, p_memories_max, p_bytes_max);
END $$;

-- What each piece of a query stands for in the index, and how many memories have it: 0 where that is not known.
CREATE FUNCTION search_words(p_graph_id uuid, p_pieces text[], p_as_written boolean[])
  RETURNS TABLE (place int, lexemes text[], documents int, known boolean, memories int)
  LANGUAGE sql STABLE SET enable_seqscan = off AS $$
  SELECT piece.place::int, words.lexemes, coalesce(min(lexicon.documents), 0)::int,
    count(lexicon.word) = cardinality(words.lexemes), coalesce(counted.documents, 0)
  FROM unnest(p_pieces, p_as_written) WITH ORDINALITY AS piece (text, as_written, place)
  CROSS JOIN LATERAL (SELECT tsvector_to_array(CASE WHEN piece.as_written
      THEN to_tsvector('word_form', plain_words(fold_accents(piece.text)))
      ELSE to_tsvector('english', plain_words(fold_accents(piece.text))) END) AS lexemes) AS words
  LEFT JOIN lexicon ON lexicon.graph_id = p_graph_id AND lexicon.word = ANY (words.lexemes)
  LEFT JOIN lexicon AS counted ON counted.graph_id = p_graph_id AND counted.word = ''
  GROUP BY piece.place, words.lexemes, counted.documents
$$;

-- Known words that are spelt nearly like each of some words among those that begin as it does, that are one of some
-- spellings, and that begin with each of some beginnings. Each looks at a bounded part of the primary key.
CREATE FUNCTION words_alike(p_graph_id uuid, p_words text[], p_spellings text[], p_beginnings text[], p_most int)
  RETURNS TABLE (asked text, word text, stem text[], documents int, begins boolean)
  LANGUAGE sql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
  SELECT asked, alike.word, tsvector_to_array(to_tsvector('english', alike.word)), alike.documents, false
  FROM unnest(p_words) AS asked CROSS JOIN LATERAL (
    SELECT near.word, near.documents FROM (
      SELECT known.word, known.documents FROM lexicon known
      WHERE known.graph_id = p_graph_id AND known.word >= left(asked, 2) AND known.word < left(asked, 2) || U&'\+10FFFF'
        AND length(known.word) BETWEEN length(asked) - 3 AND length(asked) + 3
      LIMIT 3000) AS near
    ORDER BY similarity(near.word, asked) DESC, near.word LIMIT p_most) AS alike
  UNION ALL
  SELECT '', known.word, tsvector_to_array(to_tsvector('english', known.word)), known.documents, false
  FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = ANY (p_spellings)
  UNION ALL
  SELECT asked, alike.word, tsvector_to_array(to_tsvector('english', alike.word)), alike.documents, true
  FROM unnest(p_beginnings) AS asked CROSS JOIN LATERAL (
    SELECT near.word, near.documents FROM (
      SELECT known.word, known.documents FROM lexicon known
      WHERE known.graph_id = p_graph_id AND known.word > asked AND known.word < asked || U&'\+10FFFF'
      ORDER BY known.word LIMIT 500) AS near
    ORDER BY near.documents DESC, near.word LIMIT p_most) AS alike
$$;

-- Hits, best first. The gates are looked up in the index, each up to its limit: what they find are the candidates; what
-- the first finds is what matches in full. A scan looks up which candidates of a gate have a concept in a place, and
-- what that is worth; one without a query is worth that for all of them. The best scan of a concept counts. Vectors are
-- read for phrases only, so the cost depends on the number of candidates and not on their length.
-- By these settings every plan uses the index memory_search: the planner would believe that to read all vectors of a
-- small graph is cheap.
CREATE FUNCTION search_hits(
  p_graph_id uuid, p_gates text[], p_limits int[], p_phrases text[],
  p_scan_gates int[], p_concepts int[], p_scans text[], p_points float8[], p_shares float8[], p_in_title boolean[],
  p_pairs text[], p_query_length int, p_tuning float8[], p_limit int, p_offset int, p_examined int,
  p_types text[], p_tags text[], p_importance_min float8, p_after timestamptz, p_before timestamptz)
  RETURNS TABLE (id uuid, type text, title text, relevance float8, total int)
  LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET random_page_cost = 0 SET seq_page_cost = 0
  SET cpu_operator_cost = 0 SET cpu_index_tuple_cost = 0 SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  phrases tsquery := (SELECT string_agg('(' || words::text || ')', ' & ')::tsquery
    FROM (SELECT phraseto_tsquery('english', plain_words(fold_accents(phrase))) FROM unnest(p_phrases) AS phrase)
      AS read (words)
    WHERE numnode(words) > 0);
BEGIN
  RETURN QUERY
  WITH gate AS MATERIALIZED (
    SELECT given.place, given.query::tsquery AS query, given.most
    FROM unnest(p_gates, p_limits) WITH ORDINALITY AS given (query, most, place)
  ), scan AS MATERIALIZED (
    SELECT given.gate, given.concept, given.query::tsquery AS query, given.points, given.share, given.in_title
    FROM unnest(p_scan_gates, p_concepts, p_scans, p_points, p_shares, p_in_title)
      AS given (gate, concept, query, points, share, in_title)
  ), found AS MATERIALIZED (
    SELECT gate.place, hit.* FROM gate CROSS JOIN LATERAL (
      SELECT near.id, near.importance, near.title_length, near.size
      FROM (
        SELECT m.id, m.type, m.tags, m.importance, m.created_at, m.search, char_length(m.title) AS title_length,
          pg_column_size(m.search) AS size
        FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ gate.query
        LIMIT greatest(gate.most, p_examined)) AS near
      WHERE (phrases IS NULL OR near.search @@ phrases)
        AND (p_types IS NULL OR near.type = ANY (p_types)) AND (p_tags IS NULL OR near.tags @> p_tags)
        AND (p_importance_min IS NULL OR near.importance >= p_importance_min)
        AND (p_after IS NULL OR near.created_at >= p_after) AND (p_before IS NULL OR near.created_at < p_before)
      LIMIT gate.most) AS hit
  ), candidate AS MATERIALIZED (
    SELECT DISTINCT ON (found.id) found.id, found.importance, found.title_length, found.size FROM found
  ), point AS (
    SELECT found.id, scan.concept, scan.points, scan.share, scan.in_title
    FROM scan JOIN found ON found.place = scan.gate WHERE scan.query IS NULL
    UNION ALL
    SELECT hit.id, scan.concept, scan.points, scan.share, scan.in_title
    FROM scan JOIN gate ON gate.place = scan.gate CROSS JOIN LATERAL (
      SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.search @@ (gate.query && scan.query)
      LIMIT greatest(gate.most, p_examined)) AS hit
    WHERE scan.query IS NOT NULL
  ), best AS (
    SELECT point.id, point.concept, max(point.points) AS points, max(point.share) AS share,
      coalesce(max(point.share) FILTER (WHERE point.in_title), 0) AS in_title
    FROM point GROUP BY point.id, point.concept
  ), summed AS MATERIALIZED (
    SELECT best.id, sum(best.points) AS points, sum(best.share) AS share, sum(best.in_title) AS in_title
    FROM best JOIN candidate ON candidate.id = best.id GROUP BY best.id
  ), graded AS MATERIALIZED (
    SELECT candidate.id, candidate.importance,
      round(greatest(0, least(1, (summed.points - p_tuning[2] * summed.in_title
        * (1 - sqrt(least(1, p_query_length::float8 / greatest(1, candidate.title_length)))))
        * (1 - p_tuning[3] * (1 - candidate.importance)
          - p_tuning[4] * least(1, ln(greatest(1, candidate.size / 1000.0)) / 5))))::numeric, 4)::float8 AS relevance
    FROM candidate JOIN summed ON summed.id = candidate.id
    WHERE summed.share > 0 AND summed.share > p_tuning[1] * (SELECT max(best.share) FROM summed AS best)
  ), ranked AS MATERIALIZED (
    SELECT graded.*, row_number() OVER (ORDER BY graded.relevance DESC, graded.importance DESC, graded.id DESC) AS place
    FROM graded
  ), side_by_side AS (
    SELECT ranked.id, round(least(1, ranked.relevance
      + p_tuning[5] * (SELECT avg((read.search @@ pair::tsquery)::int) FROM unnest(p_pairs) AS pair))::numeric, 4)::float8
      AS relevance
    FROM ranked JOIN memory m ON m.graph_id = p_graph_id AND m.id = ranked.id
    CROSS JOIN LATERAL (SELECT m.search || ''::tsvector AS search OFFSET 0) AS read
    WHERE ranked.place <= p_tuning[6] AND cardinality(p_pairs) > 0
  ), chosen AS MATERIALIZED (
    SELECT ranked.id, ranked.importance, coalesce(side_by_side.relevance, ranked.relevance) AS relevance
    FROM ranked LEFT JOIN side_by_side ON side_by_side.id = ranked.id
    ORDER BY relevance DESC, ranked.importance DESC, ranked.id DESC LIMIT p_limit OFFSET p_offset
  )
  SELECT m.id, m.type, m.title, chosen.relevance, coalesce(
    nullif((SELECT count(*) FROM found WHERE found.place = 1), 0), (SELECT count(*) FROM graded))::int
  FROM chosen JOIN memory m ON m.graph_id = p_graph_id AND m.id = chosen.id
  ORDER BY chosen.relevance DESC, chosen.importance DESC, chosen.id DESC;
END $$;

-- Counts how many memories have each word, from about `p_sample` of them where there are more, and learns the words that
-- it meets. Words that it does not meet are rare. One at a time does it for a graph. Answers with how many memories
-- there are.
CREATE FUNCTION count_words(p_graph_id uuid, p_sample int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  memories int;
  step int;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('count_words' || p_graph_id, 0)) THEN
    RETURN NULL;
  END IF;
  SELECT count(*) INTO memories FROM memory m WHERE m.graph_id = p_graph_id;
  step := greatest(1, memories / p_sample);
  INSERT INTO lexicon AS known (graph_id, word, documents)
  SELECT p_graph_id, counted.word, counted.ndoc * step FROM ts_stat(format(
    'SELECT search FROM memory WHERE graph_id = %L AND mod(abs(hashtext(id::text)::bigint), %s) = 0',
    p_graph_id, step)) AS counted
  WHERE length(counted.word) <= 40 AND left(counted.word, 1) <> ALL ('{^,#,=,:}'::text[])
  ORDER BY counted.word COLLATE "C"
  ON CONFLICT (graph_id, word) DO UPDATE SET documents = excluded.documents
  WHERE known.documents NOT BETWEEN excluded.documents * 0.8 AND excluded.documents * 1.25;
  UPDATE lexicon SET documents = 1 WHERE graph_id = p_graph_id AND documents = 0;
  INSERT INTO lexicon (graph_id, word, documents) VALUES (p_graph_id, '', memories)
  ON CONFLICT (graph_id, word) DO UPDATE SET documents = excluded.documents;
  RETURN memories;
END $$;
