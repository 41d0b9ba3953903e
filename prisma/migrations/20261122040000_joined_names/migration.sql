-- Names of several parts, such as read-only or use_sim_time, are in the index as one word, too, but without stemming:
-- it has "readonly", not the stem "readonli". So a word is looked up as it is written, not by its stem, where more
-- memories have it so. Otherwise both functions are as before.
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
      ELSE to_tsvector('english', plain_words(fold_accents(piece.text))) END) AS stems OFFSET 0) AS read
  CROSS JOIN LATERAL (SELECT CASE WHEN cardinality(stems) = 1 AND stems[1] <> piece.text
      AND (SELECT documents FROM lexicon written WHERE written.graph_id = p_graph_id AND written.word = piece.text)
        > coalesce((SELECT documents FROM lexicon stem WHERE stem.graph_id = p_graph_id AND stem.word = stems[1]), -1)
    THEN ARRAY[piece.text] ELSE stems END AS lexemes OFFSET 0) AS words
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
  SELECT found.asked, found.word, CASE WHEN cardinality(stems) = 1 AND stems[1] <> found.word AND found.documents
      > coalesce((SELECT documents FROM lexicon stem WHERE stem.graph_id = p_graph_id AND stem.word = stems[1]), -1)
    THEN ARRAY[found.word] ELSE stems END, found.documents, found.begins
  FROM (
    SELECT asked, alike.word, alike.documents, false AS begins
    FROM unnest(p_words) AS asked CROSS JOIN LATERAL (
      SELECT near.word, near.documents FROM (
        SELECT known.word, known.documents FROM lexicon known
        WHERE known.graph_id = p_graph_id AND known.word >= left(asked, 2) AND known.word < left(asked, 2) || U&'\+10FFFF'
          AND length(known.word) BETWEEN length(asked) - 3 AND length(asked) + 3
        LIMIT 3000) AS near
      ORDER BY similarity(near.word, asked) DESC, near.word LIMIT p_most) AS alike
    UNION ALL
    SELECT '', known.word, known.documents, false
    FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = ANY (p_spellings)
    UNION ALL
    SELECT asked, alike.word, alike.documents, true
    FROM unnest(p_beginnings) AS asked CROSS JOIN LATERAL (
      SELECT near.word, near.documents FROM (
        SELECT known.word, known.documents FROM lexicon known
        WHERE known.graph_id = p_graph_id AND known.word > asked AND known.word < asked || U&'\+10FFFF'
        ORDER BY known.word LIMIT 500) AS near
      ORDER BY near.documents DESC, near.word LIMIT p_most) AS alike) AS found
  CROSS JOIN LATERAL (SELECT tsvector_to_array(to_tsvector('english', found.word)) AS stems OFFSET 0) AS read;
END $$;
