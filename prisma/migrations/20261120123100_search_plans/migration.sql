-- What a search costs must not depend on which other indexes there are. Where reading an index costs nothing, all of them
-- are as good to the planner, and by one that begins with the graph alone each hit was looked up by reading all of it.
ALTER FUNCTION words_of_no_memory(uuid, text[]) SET cpu_index_tuple_cost = 0.005;

-- As before, but planned once for a connection: what is written in SQL is planned at every call, which took longer than
-- all else.
CREATE OR REPLACE FUNCTION search_words(p_graph_id uuid, p_pieces text[], p_as_written boolean[])
  RETURNS TABLE (place int, lexemes text[], documents int, known boolean, memories int)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT piece.place::int, words.lexemes, coalesce(min(lexicon.documents), 0)::int,
    count(lexicon.word) = cardinality(words.lexemes), coalesce(counted.documents, 0)
  FROM unnest(p_pieces, p_as_written) WITH ORDINALITY AS piece (text, as_written, place)
  CROSS JOIN LATERAL (SELECT tsvector_to_array(CASE WHEN piece.as_written
      THEN to_tsvector('word_form', plain_words(fold_accents(piece.text)))
      ELSE to_tsvector('english', plain_words(fold_accents(piece.text))) END) AS lexemes OFFSET 0) AS words
  LEFT JOIN lexicon ON lexicon.graph_id = p_graph_id AND lexicon.word = ANY (words.lexemes)
  LEFT JOIN lexicon AS counted ON counted.graph_id = p_graph_id AND counted.word = ''
  GROUP BY piece.place, words.lexemes, counted.documents;
END $$;

CREATE OR REPLACE FUNCTION words_alike(p_graph_id uuid, p_words text[], p_spellings text[], p_beginnings text[], p_most int)
  RETURNS TABLE (asked text, word text, stem text[], documents int, begins boolean)
  LANGUAGE plpgsql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
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
    ORDER BY near.documents DESC, near.word LIMIT p_most) AS alike;
END $$;
