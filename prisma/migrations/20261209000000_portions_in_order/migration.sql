-- For a graph that the statistics do not know, PostgreSQL expects so few rows that it reads all of the graph's.

-- As before, but a portion is what comes first in the order of the primary key, with all vectors of its last memory.
-- To delete 1,000 words of 100,000, each word was compared with each of the 1,000; of the other tables all was read, too.
CREATE OR REPLACE FUNCTION empty_graph(p_graph_id uuid, p_rows int) RETURNS int LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  last_id CONSTANT uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  last record;
  gone int;
BEGIN
  SELECT memory_id, version INTO last FROM memory_version WHERE graph_id = p_graph_id
  ORDER BY memory_id, version OFFSET p_rows - 1 LIMIT 1;
  DELETE FROM memory_version WHERE graph_id = p_graph_id
    AND (memory_id, version) <= (coalesce(last.memory_id, last_id), coalesce(last.version, 2147483647));
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone = 0 THEN
    DELETE FROM relationship WHERE graph_id = p_graph_id AND id <= coalesce((SELECT id FROM relationship
      WHERE graph_id = p_graph_id ORDER BY id OFFSET p_rows - 1 LIMIT 1), last_id);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  IF gone = 0 THEN
    DELETE FROM lexicon WHERE graph_id = p_graph_id AND word <= coalesce((SELECT word FROM lexicon
      WHERE graph_id = p_graph_id ORDER BY word OFFSET p_rows - 1 LIMIT 1), U&'\+10FFFF');
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  IF gone = 0 THEN
    DELETE FROM memory_vector WHERE graph_id = p_graph_id AND memory_id <= coalesce((SELECT memory_id FROM memory_vector
      WHERE graph_id = p_graph_id ORDER BY memory_id OFFSET p_rows - 1 LIMIT 1), last_id);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  IF gone = 0 THEN
    DELETE FROM memory WHERE graph_id = p_graph_id AND id <= coalesce((SELECT id FROM memory
      WHERE graph_id = p_graph_id ORDER BY id OFFSET p_rows - 1 LIMIT 1), last_id);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  RETURN gone;
END $$;

-- As before, but no further words are sorted to find the next ones, and those that are gone are looked for among these:
-- PostgreSQL before version 17 looked for them among all words of the graph.
CREATE OR REPLACE FUNCTION forget_words_of(p_graph_id uuid, p_after text, p_words int) RETURNS text LANGUAGE plpgsql
  SET enable_sort = off
AS $$
DECLARE
  words text[];
  gone text[];
  tries int := 0;
BEGIN
  SELECT array_agg(word ORDER BY word) INTO words FROM (
    SELECT word FROM lexicon WHERE graph_id = p_graph_id AND word > p_after ORDER BY word LIMIT p_words) AS next;
  IF words IS NULL THEN
    RETURN NULL;
  END IF;
  gone := words_of_no_memory(p_graph_id, words);
  IF gone IS NOT NULL THEN
    -- Counting learns words as well. Neither is waited for in a queue, in which others would wait behind.
    LOOP
      PERFORM 1 FROM graph_root WHERE graph_id = p_graph_id FOR UPDATE SKIP LOCKED;
      EXIT WHEN FOUND AND pg_try_advisory_xact_lock(hashtextextended('count_words' || p_graph_id, 0));
      tries := tries + 1;
      IF tries = 20 THEN
        RETURN p_after;
      END IF;
      PERFORM pg_sleep(0.01);
    END LOOP;
    -- Once more: now nobody learns, and what was learnt is there to see.
    gone := words_of_no_memory(p_graph_id, gone);
    DELETE FROM lexicon WHERE graph_id = p_graph_id AND word > p_after AND word <= words[cardinality(words)]
      AND word = ANY (gone);
  END IF;
  RETURN words[cardinality(words)];
END $$;

-- As before, but the memories behind the next ones are not sorted.
CREATE OR REPLACE FUNCTION queue_for_embedding(p_graph_id uuid, p_after uuid, p_most int, OUT queued int, OUT last uuid)
  LANGUAGE plpgsql SET enable_sort = off
AS $$
DECLARE
  ids uuid[];
BEGIN
  SELECT array_agg(next.id ORDER BY next.id) INTO ids FROM (
    SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.id > p_after ORDER BY m.id LIMIT p_most) AS next;
  INSERT INTO embedding_due (graph_id, memory_id) SELECT p_graph_id, id FROM unnest(ids) AS id ON CONFLICT DO NOTHING;
  queued := coalesce(cardinality(ids), 0);
  last := ids[queued];
END $$;

-- One index instead of two, for the vectors of a model, and of a model in a graph. Until the statistics knew a new model,
-- PostgreSQL read those of all graphs by the index of the model alone.
CREATE INDEX "memory_vector_model_graph_id_change_idx" ON "memory_vector"("model", "graph_id", "change");
DROP INDEX "memory_vector_graph_id_model_change_idx";
DROP INDEX "memory_vector_model_idx";
