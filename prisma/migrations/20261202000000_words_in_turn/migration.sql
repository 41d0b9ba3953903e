-- Counts the words of the next graph that has enough new ones. Returns null if there is nothing more to do. As before,
-- but no graph that gets new words faster than they are counted keeps others waiting, and changes of no graph wait while
-- another is counted: one that has learnt words since the first look stayed locked.
CREATE OR REPLACE FUNCTION count_next_words(p_words int, p_sample int) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  noted uuid;
  counted int;
  locked int := 0;
BEGIN
  FOREACH noted IN ARRAY ARRAY(SELECT /* all graphs */ graph_id FROM graph_usage
    WHERE words_learnt_at IS NOT NULL ORDER BY words_learnt_at LIMIT 100) LOOP
    IF has_new_words(noted, p_words) THEN
      -- Counting takes long, so no row of another graph may be locked meanwhile.
      EXIT WHEN locked > 0;
      counted := count_words(noted, p_sample);
      -- Another server is counting this graph.
      CONTINUE WHEN counted IS NULL;
      -- Behind the others, unless the graph is being changed: nobody waits for that.
      PERFORM 1 FROM graph_usage WHERE graph_id = noted FOR UPDATE SKIP LOCKED;
      IF FOUND THEN
        UPDATE graph_usage SET words_learnt_at = clock_timestamp() WHERE graph_id = noted;
      END IF;
      RETURN counted;
    END IF;
    -- Nobody waits for a graph that is being changed: its turn comes.
    PERFORM 1 FROM graph_usage WHERE graph_id = noted FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      locked := locked + 1;
      -- Once more: now nobody can commit words without a new note.
      IF NOT has_new_words(noted, p_words) THEN
        UPDATE graph_usage SET words_learnt_at = NULL WHERE graph_id = noted;
      END IF;
    END IF;
  END LOOP;
  RETURN CASE WHEN locked > 0 THEN 0 END;
END $$;
