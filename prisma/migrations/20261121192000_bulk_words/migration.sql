-- As before, but only words that are not known yet are written. To insert one that is known waits for whoever changes it,
-- which for seconds is the counting of the graph's words.
CREATE OR REPLACE FUNCTION learn_words_of(p_graph_id uuid, p_ids uuid[]) RETURNS void LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
  SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  INSERT INTO lexicon (graph_id, word)
  SELECT p_graph_id, given.word
  FROM (SELECT DISTINCT word COLLATE "C" AS word FROM memory m, lexicon_words(m.search) AS word
    WHERE m.graph_id = p_graph_id AND m.id = ANY (p_ids) OFFSET 0) AS given
  WHERE NOT EXISTS (SELECT 1 FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = given.word)
  ORDER BY given.word
  ON CONFLICT DO NOTHING;
END $$;
