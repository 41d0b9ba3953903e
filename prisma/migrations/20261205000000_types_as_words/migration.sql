-- The lexicon also has the types of memories, behind a colon as in the index: a word of a query may name a type, and how
-- many memories are of it tells how much that says. These functions are as before but for the colon.
CREATE OR REPLACE FUNCTION lexicon_words(search tsvector) RETURNS SETOF text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
  SELECT word FROM unnest(tsvector_to_array(search)) AS word
  WHERE length(word) <= 40 AND left(word, 1) <> ALL ('{^,#,=}'::text[])
$$;

CREATE OR REPLACE FUNCTION learn_words(p_graph_id uuid, p_search tsvector) RETURNS bigint
  LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  learnt bigint;
BEGIN
  INSERT INTO lexicon (graph_id, word)
  SELECT p_graph_id, given.word
  FROM (SELECT w COLLATE "C" AS word FROM unnest(tsvector_to_array(p_search)) AS w
    WHERE length(w) <= 40 AND left(w, 1) <> ALL ('{^,#,=}'::text[]) OFFSET 0) AS given
  WHERE NOT EXISTS
    (SELECT 1 FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = given.word OFFSET 0)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS learnt = ROW_COUNT;
  RETURN learnt;
END $$;

CREATE OR REPLACE FUNCTION count_words(p_graph_id uuid, p_sample int) RETURNS int LANGUAGE plpgsql AS $$
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
  WHERE length(counted.word) <= 40 AND left(counted.word, 1) <> ALL ('{^,#,=}'::text[])
  ORDER BY counted.word COLLATE "C"
  ON CONFLICT (graph_id, word) DO UPDATE SET documents = excluded.documents
  WHERE known.documents NOT BETWEEN excluded.documents * 0.8 AND excluded.documents * 1.25;
  UPDATE lexicon SET documents = 1 WHERE graph_id = p_graph_id AND documents = 0;
  INSERT INTO lexicon (graph_id, word, documents) VALUES (p_graph_id, '', memories)
  ON CONFLICT (graph_id, word) DO UPDATE SET documents = excluded.documents;
  RETURN memories;
END $$;
