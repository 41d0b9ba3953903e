-- As before, but each spelling is looked up by itself: PostgreSQL before version 17 read all words of a graph instead, where the
-- statistics did not know the graph.
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
    FROM (SELECT DISTINCT spelling FROM unnest(p_spellings) AS spelling) AS spelt CROSS JOIN LATERAL (
      SELECT * FROM lexicon WHERE graph_id = p_graph_id AND lexicon.word = spelt.spelling OFFSET 0) AS known
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
