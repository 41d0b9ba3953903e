-- A statement that is planned while the lexicon is nearly empty keeps its plan. As a join it compared each word of a
-- query with each word of the graph. As a subquery for each, it looks them up in the primary key. Otherwise the function
-- is as before.
CREATE OR REPLACE FUNCTION search_words(p_graph_id uuid, p_pieces text[], p_as_written boolean[])
  RETURNS TABLE (place int, lexemes text[], documents int, known boolean, memories int)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT piece.place::int, words.lexemes, coalesce(found.least, 0)::int, found.known = cardinality(words.lexemes),
    coalesce((SELECT documents FROM lexicon counted WHERE counted.graph_id = p_graph_id AND counted.word = ''), 0)
  FROM unnest(p_pieces, p_as_written) WITH ORDINALITY AS piece (text, as_written, place)
  CROSS JOIN LATERAL (SELECT tsvector_to_array(CASE WHEN piece.as_written
      THEN to_tsvector('word_form', plain_words(fold_accents(piece.text)))
      ELSE to_tsvector('english', plain_words(fold_accents(piece.text))) END) AS stems OFFSET 0) AS read
  CROSS JOIN LATERAL (SELECT CASE WHEN cardinality(stems) = 1 AND stems[1] <> piece.text
      AND (SELECT documents FROM lexicon written WHERE written.graph_id = p_graph_id AND written.word = piece.text)
        > coalesce((SELECT documents FROM lexicon stem WHERE stem.graph_id = p_graph_id AND stem.word = stems[1]), -1)
    THEN ARRAY[piece.text] ELSE stems END AS lexemes OFFSET 0) AS words
  CROSS JOIN LATERAL (SELECT min(each.documents) AS least, count(each.documents) AS known FROM (
      SELECT (SELECT documents FROM lexicon WHERE lexicon.graph_id = p_graph_id AND lexicon.word = lexeme) AS documents
      FROM unnest(words.lexemes) AS lexeme OFFSET 0) AS each) AS found;
END $$;
