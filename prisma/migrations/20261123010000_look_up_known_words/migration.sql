-- A statement that is planned while the lexicon is nearly empty keeps its plan. As a join it compared each new word with
-- each known one, 450 million times for 500 memories with 45,000 words among 10,000 known ones. `OFFSET 0` keeps it from
-- becoming a join, so each word is looked up in the primary key. Otherwise both functions are as before.
CREATE OR REPLACE FUNCTION learn_words(p_graph_id uuid, p_search tsvector) RETURNS bigint
  LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  learnt bigint;
BEGIN
  INSERT INTO lexicon (graph_id, word)
  SELECT p_graph_id, given.word
  FROM (SELECT w COLLATE "C" AS word FROM unnest(tsvector_to_array(p_search)) AS w
    WHERE length(w) <= 40 AND left(w, 1) <> ALL ('{^,#,=,:}'::text[]) OFFSET 0) AS given
  WHERE NOT EXISTS
    (SELECT 1 FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = given.word OFFSET 0)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS learnt = ROW_COUNT;
  RETURN learnt;
END $$;

CREATE OR REPLACE FUNCTION learn_words_of(p_graph_id uuid, p_ids uuid[]) RETURNS void
  LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  INSERT INTO lexicon (graph_id, word)
  SELECT p_graph_id, given.word
  FROM (SELECT DISTINCT word COLLATE "C" AS word FROM memory m, lexicon_words(m.search) AS word
    WHERE m.graph_id = p_graph_id AND m.id = ANY (p_ids) OFFSET 0) AS given
  WHERE NOT EXISTS
    (SELECT 1 FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = given.word OFFSET 0)
  ORDER BY given.word
  ON CONFLICT DO NOTHING;
END $$;
