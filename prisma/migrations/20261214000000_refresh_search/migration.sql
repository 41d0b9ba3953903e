-- A memory is found by words that PostgreSQL's own stemmer and classes of characters made when it was stored. Another
-- major version may make others: 18 stems "added" as "add", earlier ones as "ad". After an upgrade in place a query then
-- has one stem, and an older memory the other; after a backup was restored there, the lexicon lacks the new stems.

-- Whether that is so for one of some memories, in 2 ms for each. They are of some pages of the whole table, so that neither
-- other memories nor dead rows are read. Does not wait for a lock: while somebody has one, nothing is known. Each word is
-- looked up in the lexicon's primary key, as when it is learnt.
CREATE FUNCTION is_search_outdated(p_sample integer DEFAULT 1000) RETURNS boolean LANGUAGE plpgsql
  SET lock_timeout = '1s' SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  kept record;
  v_percent real;
  v_until timestamptz := clock_timestamp() + p_sample * interval '2 ms';
BEGIN
  -- A page of 8 kB for each memory. Of a table that is partitioned or distributed the size is 0 here.
  v_percent := least(100, 100.0 * p_sample * 8192 / greatest(1, pg_relation_size('memory')));
  FOR kept IN SELECT /* all graphs */ * FROM memory TABLESAMPLE SYSTEM (v_percent) REPEATABLE (0) LIMIT p_sample LOOP
    EXIT WHEN clock_timestamp() > v_until;
    IF kept.search IS DISTINCT FROM memory_search(kept.type, kept.title, kept.tags, kept.summary, kept.content)
      OR EXISTS (SELECT 1 FROM lexicon_words(kept.search) AS had(word) WHERE NOT EXISTS
        (SELECT 1 FROM lexicon known WHERE known.graph_id = kept.graph_id AND known.word = had.word OFFSET 0)) THEN
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;

-- Makes the words again of each memory whose words differ, learns those that the lexicon lacks, and counts them. Requests
-- go on meanwhile, since a transaction locks one memory at most. It may be ended and called again.
CREATE PROCEDURE refresh_search(p_sample integer DEFAULT 10000) LANGUAGE plpgsql AS $$
DECLARE
  v_graph_id uuid;
  v_ids uuid[];
  v_id uuid;
  v_changed boolean;
BEGIN
  FOR v_graph_id IN SELECT /* all graphs */ graph_id FROM graph_usage WHERE memories > 0 ORDER BY graph_id LOOP
    v_id := '00000000-0000-0000-0000-000000000000';
    LOOP
      v_ids := ARRAY(SELECT m.id FROM memory m WHERE m.graph_id = v_graph_id AND m.id > v_id ORDER BY m.id LIMIT 100);
      EXIT WHEN v_ids = '{}';
      v_changed := false;
      FOREACH v_id IN ARRAY v_ids LOOP
        UPDATE memory m SET title = m.title WHERE m.graph_id = v_graph_id AND m.id = v_id
          AND m.search IS DISTINCT FROM memory_search(m.type, m.title, m.tags, m.summary, m.content);
        IF FOUND THEN
          v_changed := true;
          COMMIT;
        END IF;
      END LOOP;
      -- The memories are there to see by now: who forgets words meanwhile is waited for, and the graph stays.
      PERFORM 1 FROM graph_root WHERE graph_id = v_graph_id FOR KEY SHARE;
      EXIT WHEN NOT FOUND;
      PERFORM learn_words_of(v_graph_id, v_ids);
      IF v_changed THEN
        UPDATE graph_usage SET words_doubted_at = now() WHERE graph_id = v_graph_id AND words_doubted_at IS NULL;
      END IF;
      COMMIT;
    END LOOP;
    IF EXISTS (SELECT 1 FROM lexicon l WHERE l.graph_id = v_graph_id AND l.documents = 0) THEN
      PERFORM count_words(v_graph_id, p_sample);
    END IF;
    COMMIT;
  END LOOP;
END $$;
