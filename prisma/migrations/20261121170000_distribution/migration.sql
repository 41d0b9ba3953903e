-- What a graph holds refers only to tables that are distributed with it, so that each graph may live on a node of its own.
-- "graph_root" stands there for "graph", which stays with the accounts: one row a graph, kept by the trigger below.
CREATE TABLE "graph_root" (
    "graph_id" UUID NOT NULL,

    CONSTRAINT "graph_root_pkey" PRIMARY KEY ("graph_id")
);
INSERT INTO "graph_root" ("graph_id") SELECT "id" FROM "graph";

-- A graph begins with an empty count. Deleting its root deletes what is derived; memories that are left forbid it.
CREATE FUNCTION keep_graph_root() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO graph_root (graph_id) VALUES (NEW.id);
    INSERT INTO graph_usage (graph_id) VALUES (NEW.id);
  ELSE
    DELETE FROM graph_root WHERE graph_id = OLD.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "graph_root_kept" AFTER INSERT OR DELETE ON "graph" FOR EACH ROW EXECUTE FUNCTION keep_graph_root();

-- The id of a graph never changes, so no foreign key follows it.
ALTER TABLE "memory" DROP CONSTRAINT "memory_graph_id_fkey",
  ADD CONSTRAINT "memory_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph_root"("graph_id")
    ON DELETE RESTRICT ON UPDATE NO ACTION;
ALTER TABLE "graph_usage" DROP CONSTRAINT "graph_usage_graph_id_fkey",
  ADD CONSTRAINT "graph_usage_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph_root"("graph_id")
    ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "lexicon" DROP CONSTRAINT "lexicon_graph_id_fkey",
  ADD CONSTRAINT "lexicon_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph_root"("graph_id")
    ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "graph_vectors" DROP CONSTRAINT "graph_vectors_graph_id_fkey",
  ADD CONSTRAINT "graph_vectors_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph_root"("graph_id")
    ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "memory_version" DROP CONSTRAINT "memory_version_graph_id_memory_id_fkey",
  ADD CONSTRAINT "memory_version_graph_id_memory_id_fkey" FOREIGN KEY ("graph_id", "memory_id")
    REFERENCES "memory"("graph_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "relationship" DROP CONSTRAINT "relationship_graph_id_from_id_fkey",
  DROP CONSTRAINT "relationship_graph_id_to_id_fkey",
  ADD CONSTRAINT "relationship_graph_id_from_id_fkey" FOREIGN KEY ("graph_id", "from_id")
    REFERENCES "memory"("graph_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION,
  ADD CONSTRAINT "relationship_graph_id_to_id_fkey" FOREIGN KEY ("graph_id", "to_id")
    REFERENCES "memory"("graph_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- Functions follow these rules from here on: a statement names one graph as a value, and selects at least one column; a
-- function that reads these tables is not called by a statement that reads them, too; no function takes a whole row of
-- them, whose type is another one on each node. A statement on the graphs of all nodes says so: /* all graphs */.

-- The bytes of the texts, and 200 for what each row takes besides; `bytesOf` of the service says the same.
CREATE FUNCTION memory_bytes(type text, title text, content text, summary text, tags text[], context json,
  external_id text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 200 + octet_length(type) + octet_length(title) + octet_length(content) + coalesce(octet_length(summary), 0)
    + octet_length(array_to_string(tags, '')) + coalesce(octet_length(context::text), 0)
    + coalesce(octet_length(external_id), 0);

CREATE OR REPLACE FUNCTION measure_graph(p_graph_id uuid, OUT memories integer, OUT bytes bigint)
  LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer,
    coalesce(sum(memory_bytes(type, title, content, summary, tags, context, external_id)), 0)::bigint
    + (SELECT coalesce(sum(memory_bytes(type, title, content, summary, tags, context, external_id)), 0)::bigint
       FROM memory_version WHERE graph_id = p_graph_id)
    + (SELECT coalesce(sum(relationship_bytes(type, context)), 0)::bigint
       FROM relationship WHERE graph_id = p_graph_id)
  FROM memory WHERE graph_id = p_graph_id
$$;

CREATE OR REPLACE FUNCTION measure_memories(p_graph_id uuid, p_ids uuid[], OUT memories integer, OUT bytes bigint)
  LANGUAGE plpgsql AS $$
BEGIN
  IF p_ids IS NULL THEN
    SELECT held.memories, held.bytes INTO memories, bytes FROM measure_graph(p_graph_id) held;
    RETURN;
  END IF;
  PERFORM 1 FROM memory WHERE graph_id = p_graph_id AND id = ANY(p_ids) ORDER BY id FOR UPDATE;
  PERFORM 1 FROM relationship WHERE graph_id = p_graph_id AND (from_id = ANY(p_ids) OR to_id = ANY(p_ids))
  ORDER BY id FOR UPDATE;
  SELECT count(*)::integer,
    coalesce(sum(memory_bytes(m.type, m.title, m.content, m.summary, m.tags, m.context, m.external_id)), 0)::bigint
  INTO memories, bytes FROM memory m WHERE m.graph_id = p_graph_id AND m.id = ANY(p_ids);
  bytes := bytes
    + (SELECT coalesce(sum(memory_bytes(v.type, v.title, v.content, v.summary, v.tags, v.context, v.external_id)), 0)
       FROM memory_version v WHERE v.graph_id = p_graph_id AND v.memory_id = ANY(p_ids))
    + (SELECT coalesce(sum(relationship_bytes(r.type, r.context)), 0)
       FROM relationship r WHERE r.graph_id = p_graph_id AND (r.from_id = ANY(p_ids) OR r.to_id = ANY(p_ids)));
END $$;

DROP FUNCTION memory_bytes(memory);
DROP FUNCTION memory_bytes(memory_version);

-- Stores a memory, lets its words be known, and counts it last, since others wait for that. False where another memory
-- of the graph has its external id.
CREATE FUNCTION create_memory(p_graph_id uuid, p_id uuid, p_type text, p_title text, p_content text, p_summary text,
  p_tags text[], p_importance float8, p_context json, p_confidence float8, p_external_id text, p_expires_at timestamptz,
  p_user_id uuid, p_time timestamptz, p_bytes bigint, p_memories_max integer, p_bytes_max bigint)
  RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  words tsvector;
BEGIN
  PERFORM assert_graph_has_room(p_graph_id, 1, p_bytes, p_memories_max, p_bytes_max);
  INSERT INTO memory (graph_id, id, type, title, content, summary, tags, importance, context, confidence, external_id,
    expires_at, created_by, created_at, updated_by, updated_at)
  VALUES (p_graph_id, p_id, p_type, p_title, p_content, p_summary, p_tags, p_importance, p_context, p_confidence,
    p_external_id, p_expires_at, p_user_id, p_time, p_user_id, p_time)
  ON CONFLICT (graph_id, external_id) DO NOTHING RETURNING search INTO words;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM learn_words(p_graph_id, words);
  PERFORM note_for_embedding(p_graph_id, ARRAY[p_id]);
  PERFORM count_in_graph(p_graph_id, 1, p_bytes, p_memories_max, p_bytes_max);
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION settle_change(p_graph_id uuid, p_written uuid[], p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  words tsvector;
BEGIN
  IF cardinality(p_written) > 0 THEN
    PERFORM 1 FROM graph_root WHERE graph_id = p_graph_id FOR KEY SHARE;
  END IF;
  IF cardinality(p_written) = 1 THEN
    SELECT m.search INTO words FROM memory m WHERE m.graph_id = p_graph_id AND m.id = p_written[1];
    PERFORM learn_words(p_graph_id, words);
  ELSIF cardinality(p_written) > 1 THEN
    PERFORM learn_words_of(p_graph_id, p_written);
  END IF;
  PERFORM note_for_embedding(p_graph_id, p_written);
  PERFORM count_in_graph(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
END $$;

CREATE OR REPLACE FUNCTION note_for_embedding(p_graph_id uuid, p_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(p_ids) > 0 AND EXISTS (SELECT 1 FROM embedding_model WHERE used_at > now() - interval '7 days') THEN
    INSERT INTO embedding_due (graph_id, memory_id) SELECT p_graph_id, id FROM unnest(p_ids) AS id ORDER BY id
    ON CONFLICT (graph_id, memory_id) DO UPDATE SET due_at = now(), attempts = 0;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION has_expired_memory(p_graph_id uuid, p_now timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN p_now IS NOT NULL AND EXISTS (SELECT 1 FROM (
    SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.expires_at <= p_now ORDER BY m.expires_at LIMIT 1) AS first);
END $$;

-- As before, but the newest memory that REPLACES another, or that it is DEPRECATED_BY, is looked for in place. Of one with
-- very many such relationships some are looked at.
CREATE OR REPLACE FUNCTION search_hits(
  p_graph_id uuid, p_gates text[], p_limits int[], p_phrases text[],
  p_scan_gates int[], p_concepts int[], p_scans text[], p_points float8[], p_shares float8[], p_in_title boolean[],
  p_pairs text[], p_query_length int, p_tuning float8[], p_limit int, p_offset int, p_examined int,
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
    SELECT candidate.id, candidate.importance,
      round(10000 * greatest(0, least(1, (summed.points - p_tuning[2] * summed.in_title
        * (1 - sqrt(least(1, p_query_length::float8 / greatest(1, candidate.title_length)))))
        * (1 - p_tuning[3] * (1 - candidate.importance)
          - p_tuning[4] * least(1, ln(greatest(1, candidate.size / 1000::float8)) / 5))))) / 10000 AS relevance
    FROM candidate JOIN summed ON summed.id = candidate.id
    WHERE summed.share > 0 AND summed.share > p_tuning[1] * (SELECT max(best.share) FROM summed AS best)
  ), ranked AS MATERIALIZED (
    SELECT graded.*, row_number() OVER (ORDER BY graded.relevance DESC, graded.importance DESC, graded.id DESC) AS place
    FROM graded
  ), side_by_side AS MATERIALIZED (
    SELECT ranked.id, round(10000 * least(1, ranked.relevance
      + p_tuning[5] * (SELECT avg((read.search @@ pair::tsquery)::int::float8) FROM unnest(p_pairs) AS pair))) / 10000
      AS relevance
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
      CASE WHEN superseded.by IS NULL THEN coalesce(side_by_side.relevance, ranked.relevance)
        ELSE round(10000 * p_tuning[7] * coalesce(side_by_side.relevance, ranked.relevance)) / 10000 END AS relevance
    FROM ranked LEFT JOIN side_by_side ON side_by_side.id = ranked.id LEFT JOIN superseded ON superseded.id = ranked.id
    ORDER BY relevance DESC, ranked.importance DESC, ranked.id DESC LIMIT p_limit OFFSET p_offset
  )
  SELECT matches.total::int, hit.id, hit.type, hit.title, hit.summary, hit.tags, hit.relevance, hit.text,
    octet_length(hit.text) < hit.bytes, weighed.concepts, weighed.weights,
    newer.memory
  FROM (
    SELECT coalesce(nullif((SELECT count(*) FROM found WHERE found.place = 1), 0), (SELECT count(*) FROM graded)) AS total
  ) AS matches
  LEFT JOIN (
    SELECT m.id, m.type, m.title, m.summary, m.tags, chosen.relevance, chosen.importance, chosen.by,
      has_superseded AND chosen.place > p_tuning[6] AS is_unknown, octet_length(m.content) AS bytes,
      CASE WHEN p_text_bytes > 0 THEN CASE
        WHEN sum(octet_length(m.content)) OVER (ORDER BY chosen.relevance DESC, chosen.importance DESC, chosen.id DESC)
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
  ORDER BY hit.relevance DESC, hit.importance DESC, hit.id DESC;
END $$;
DROP FUNCTION superseding(uuid, uuid);

-- Stores the vectors of a memory in place of earlier ones, unless it was changed, moved or deleted meanwhile; returns
-- how many. Changes of one graph come one after the other: they write the row that counts them.
CREATE FUNCTION store_vectors(p_graph_id uuid, p_memory_id uuid, p_version integer, p_model text, p_scales float8[],
  p_vectors text[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  counted bigint;
BEGIN
  PERFORM 1 FROM memory WHERE graph_id = p_graph_id AND id = p_memory_id AND version = p_version FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  INSERT INTO graph_vectors (graph_id, changes) VALUES (p_graph_id, 1)
  ON CONFLICT (graph_id) DO UPDATE SET changes = graph_vectors.changes + 1 RETURNING changes INTO counted;
  DELETE FROM memory_vector WHERE graph_id = p_graph_id AND memory_id = p_memory_id
    AND (model = p_model AND piece >= cardinality(p_scales) OR model <> p_model AND version <> p_version);
  INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
  SELECT p_graph_id, p_memory_id, p_model, given.piece - 1, p_version, counted, given.scale, decode(given.vector, 'base64')
  FROM unnest(p_scales, p_vectors) WITH ORDINALITY AS given (scale, vector, piece)
  ON CONFLICT (graph_id, memory_id, model, piece) DO UPDATE SET version = excluded.version, change = excluded.change,
    scale = excluded.scale, vector = excluded.vector;
  RETURN cardinality(p_scales);
END $$;

-- Deletes some of what a graph holds; returns how many rows, of one table. What goes by a cascade would not count, so
-- memories come last.
CREATE FUNCTION empty_graph(p_graph_id uuid, p_rows int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  gone int;
BEGIN
  DELETE FROM memory_version WHERE graph_id = p_graph_id AND (memory_id, version) IN (
    SELECT memory_id, version FROM memory_version WHERE graph_id = p_graph_id LIMIT p_rows);
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone = 0 THEN
    DELETE FROM relationship WHERE graph_id = p_graph_id AND id IN (
      SELECT id FROM relationship WHERE graph_id = p_graph_id LIMIT p_rows);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  IF gone = 0 THEN
    DELETE FROM lexicon WHERE graph_id = p_graph_id AND word IN (
      SELECT word FROM lexicon WHERE graph_id = p_graph_id LIMIT p_rows);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  IF gone = 0 THEN
    DELETE FROM memory_vector WHERE graph_id = p_graph_id AND (memory_id, model, piece) IN (
      SELECT memory_id, model, piece FROM memory_vector WHERE graph_id = p_graph_id LIMIT p_rows);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  IF gone = 0 THEN
    DELETE FROM memory WHERE graph_id = p_graph_id AND id IN (
      SELECT id FROM memory WHERE graph_id = p_graph_id LIMIT p_rows);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  RETURN gone;
END $$;

-- What runs in the background looks for the next graph, and then works on that one by functions that name it.

-- Counts the words of the graph with the most that have not been counted, if these are as many as `p_words` and a
-- twentieth of its memories. Returns how many memories it has; null where no graph needs it.
CREATE FUNCTION count_next_words(p_words int, p_sample int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  neediest uuid;
BEGIN
  SELECT /* all graphs */ waiting.graph_id INTO neediest
  FROM (SELECT graph_id, count(*) AS words FROM lexicon WHERE documents = 0 GROUP BY graph_id) AS waiting
  LEFT JOIN lexicon counted ON counted.graph_id = waiting.graph_id AND counted.word = ''
  WHERE waiting.words >= p_words + coalesce(counted.documents, 0) / 20 ORDER BY waiting.words DESC LIMIT 1;
  IF neediest IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN coalesce(count_words(neediest, p_sample), 0);
END $$;

-- As before, but what keeps learning and forgetting words apart is a lock of the graph's root, which is where the words
-- are, on whichever node a function runs: a word that is known here must not be forgotten before the memory that has it is
-- there to see. Whoever calls this holds it: storing a memory does, by its foreign key, and `settle_change`.
CREATE OR REPLACE FUNCTION learn_words(p_graph_id uuid, p_search tsvector) RETURNS bigint LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
  SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  learnt bigint;
BEGIN
  INSERT INTO lexicon (graph_id, word)
  SELECT p_graph_id, given.word
  FROM (SELECT w COLLATE "C" AS word FROM unnest(tsvector_to_array(p_search)) AS w
    WHERE length(w) <= 40 AND left(w, 1) <> ALL ('{^,#,=,:}'::text[]) OFFSET 0) AS given
  WHERE NOT EXISTS (SELECT 1 FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = given.word)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS learnt = ROW_COUNT;
  RETURN learnt;
END $$;

CREATE OR REPLACE FUNCTION learn_words_of(p_graph_id uuid, p_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO lexicon (graph_id, word)
  SELECT DISTINCT p_graph_id, word COLLATE "C" AS word FROM memory m, lexicon_words(m.search) AS word
  WHERE m.graph_id = p_graph_id AND m.id = ANY (p_ids) ORDER BY word
  ON CONFLICT DO NOTHING;
END $$;

-- Looks at the next words of a graph, and forgets those that no memory has. Returns the last one that it looked at: null
-- where there is none, the one it began after where somebody learns words at the moment.
CREATE FUNCTION forget_words_of(p_graph_id uuid, p_after text, p_words int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  words text[];
  gone text[];
  tries int := 0;
BEGIN
  SELECT array_agg(word ORDER BY word) INTO words FROM (
    SELECT word FROM lexicon WHERE graph_id = p_graph_id AND word > p_after ORDER BY word LIMIT p_words) AS next;
  IF words IS NULL THEN
    RETURN NULL;
  END IF;
  gone := words_of_no_memory(p_graph_id, words);
  IF gone IS NOT NULL THEN
    -- Counting learns words as well. Neither is waited for in a queue, in which others would wait behind.
    LOOP
      PERFORM 1 FROM graph_root WHERE graph_id = p_graph_id FOR UPDATE SKIP LOCKED;
      EXIT WHEN FOUND AND pg_try_advisory_xact_lock(hashtextextended('count_words' || p_graph_id, 0));
      tries := tries + 1;
      IF tries = 20 THEN
        RETURN p_after;
      END IF;
      PERFORM pg_sleep(0.01);
    END LOOP;
    -- Once more: now nobody learns, and what was learnt is there to see.
    gone := words_of_no_memory(p_graph_id, gone);
    DELETE FROM lexicon WHERE graph_id = p_graph_id AND word = ANY (gone);
  END IF;
  RETURN words[cardinality(words)];
END $$;

CREATE OR REPLACE FUNCTION forget_words(p_after interval, p_words int, p_sample int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  look record;
  looked_at uuid[];
  doubted uuid;
  last text;
BEGIN
  SELECT * INTO look FROM lexicon_look ORDER BY graph_id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    looked_at := ARRAY(SELECT graph_id FROM lexicon_look);
    SELECT /* all graphs */ u.graph_id INTO doubted FROM graph_usage u
    WHERE u.words_doubted_at <= now() - p_after AND u.graph_id <> ALL (looked_at)
    ORDER BY u.words_doubted_at LIMIT 1;
    -- Nobody waits for a graph that is being changed: its turn comes.
    PERFORM 1 FROM graph_usage WHERE graph_id = doubted AND words_doubted_at IS NOT NULL FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    -- Whatever is taken from now on is for the next look.
    UPDATE graph_usage SET words_doubted_at = NULL WHERE graph_id = doubted;
    INSERT INTO lexicon_look (graph_id, word) VALUES (doubted, '');
    RETURN true;
  END IF;
  last := forget_words_of(look.graph_id, look.word, p_words);
  IF last IS NULL THEN
    DELETE FROM lexicon_look WHERE graph_id = look.graph_id;
    PERFORM count_words(look.graph_id, p_sample);
  ELSIF last = look.word THEN
    RETURN false;
  ELSE
    UPDATE lexicon_look SET word = last WHERE graph_id = look.graph_id;
  END IF;
  RETURN true;
END $$;

-- Claims memories to embed: those of each graph are due again after a minute, later after each further attempt. Another
-- server that found them, too, waits for this one and then finds that they are not due.
CREATE FUNCTION claim_due_memories(p_most int)
  RETURNS TABLE (graph_id uuid, memory_id uuid, attempts int, due_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  of_graph record;
BEGIN
  FOR of_graph IN
    SELECT /* all graphs */ due.graph_id AS id, array_agg(due.memory_id) AS memory_ids
    FROM (SELECT graph_id, memory_id FROM embedding_due WHERE due_at <= now() ORDER BY due_at LIMIT p_most) AS due
    GROUP BY due.graph_id ORDER BY due.graph_id
  LOOP
    RETURN QUERY UPDATE embedding_due due SET attempts = due.attempts + 1,
      due_at = now() + make_interval(secs => least(3600, greatest(60, 5 * power(2, least(due.attempts, 10)))))
    WHERE due.graph_id = of_graph.id AND due.memory_id = ANY (of_graph.memory_ids) AND due.due_at <= now()
    RETURNING due.graph_id, due.memory_id, due.attempts, due.due_at;
  END LOOP;
END $$;

-- Queues the next memories of a graph; returns how many, and the last of them.
CREATE FUNCTION queue_for_embedding(p_graph_id uuid, p_after uuid, p_most int, OUT queued int, OUT last uuid)
  LANGUAGE plpgsql AS $$
DECLARE
  ids uuid[];
BEGIN
  SELECT array_agg(next.id ORDER BY next.id) INTO ids FROM (
    SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.id > p_after ORDER BY m.id LIMIT p_most) AS next;
  INSERT INTO embedding_due (graph_id, memory_id) SELECT p_graph_id, id FROM unnest(ids) AS id ON CONFLICT DO NOTHING;
  queued := coalesce(cardinality(ids), 0);
  last := ids[queued];
END $$;

CREATE OR REPLACE FUNCTION fill_embeddings(p_model text, p_most int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  place record;
  waiting int;
  room int := p_most;
  next_graph uuid;
  part record;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM embedding_model WHERE model = p_model AND used_at >= now() - interval '6 days') THEN
    LOCK TABLE embedding_model IN ACCESS EXCLUSIVE MODE;
    DELETE FROM embedding_model WHERE model = p_model AND used_at < now() - interval '6 days';
    INSERT INTO embedding_model (model) VALUES (p_model) ON CONFLICT DO NOTHING;
    RETURN true;
  END IF;
  SELECT * INTO place FROM embedding_model WHERE model = p_model FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF place.used_at < now() - interval '1 minute' THEN
    UPDATE embedding_model SET used_at = now() WHERE model = p_model;
  END IF;
  IF place.complete THEN
    RETURN false;
  END IF;
  SELECT /* all graphs */ count(*) INTO waiting FROM (SELECT 1 FROM embedding_due LIMIT p_most) AS due;
  IF waiting = p_most THEN
    RETURN false;
  END IF;
  IF place.filled THEN
    -- What was refused several times is not waited for.
    SELECT /* all graphs */ count(*) INTO waiting FROM (SELECT 1 FROM embedding_due WHERE attempts < 3 LIMIT 1) AS due;
    IF waiting = 0 THEN
      UPDATE embedding_model SET complete = true WHERE model = p_model;
    END IF;
    RETURN false;
  END IF;
  -- The rest of the graph that it came to, then the graphs behind: a number of them, since most may be empty.
  next_graph := place.next_graph_id;
  FOR step IN 1 .. 200 LOOP
    SELECT * INTO part FROM queue_for_embedding(next_graph, place.next_id, room);
    room := room - part.queued;
    IF room = 0 THEN
      place.next_id := part.last;
      EXIT;
    END IF;
    place.next_id := '00000000-0000-0000-0000-000000000000';
    SELECT g.id INTO next_graph FROM graph g WHERE g.id > place.next_graph_id ORDER BY g.id LIMIT 1;
    EXIT WHEN NOT FOUND;
    place.next_graph_id := next_graph;
  END LOOP;
  UPDATE embedding_model SET filled = next_graph IS NULL, next_graph_id = place.next_graph_id, next_id = place.next_id
  WHERE model = p_model;
  RETURN next_graph IS NOT NULL;
END $$;

-- Deletes some vectors of a model that nobody has used for an hour, once the given one is complete; then the model.
-- Returns how many vectors; null where there is no such model.
CREATE FUNCTION forget_vectors(p_model text, p_rows int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  unused text;
  place uuid;
  gone int;
BEGIN
  SELECT model INTO unused FROM embedding_model WHERE model <> p_model AND used_at < now() - interval '1 hour'
    AND EXISTS (SELECT 1 FROM embedding_model WHERE model = p_model AND complete) LIMIT 1;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  SELECT /* all graphs */ graph_id INTO place FROM memory_vector WHERE model = unused LIMIT 1;
  IF NOT FOUND THEN
    DELETE FROM embedding_model WHERE model = unused AND used_at < now() - interval '1 hour';
    RETURN 0;
  END IF;
  DELETE FROM memory_vector WHERE graph_id = place AND model = unused AND (memory_id, piece) IN (
    SELECT memory_id, piece FROM memory_vector WHERE graph_id = place AND model = unused LIMIT p_rows);
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

-- Functions name the configuration in texts, of which PostgreSQL knows nothing: by this one it goes along with them.
CREATE FUNCTION word_form_configuration() RETURNS regconfig LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 'word_form'::regconfig;
