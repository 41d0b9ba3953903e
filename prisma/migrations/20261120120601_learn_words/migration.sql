-- As before, but never by reading a graph's whole lexicon: each word is looked up by the primary key.
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
