-- Words that no memory of their graph has any more leave the lexicon. A graph from which something was taken is noted
-- where its contents are counted, in a row that is written anyway; its words are looked at some hours later, in pieces.
ALTER TABLE "graph_usage" ADD COLUMN "words_doubted_at" TIMESTAMPTZ(3);
CREATE INDEX "graph_usage_words_doubted_at_idx" ON "graph_usage" ("words_doubted_at")
  WHERE "words_doubted_at" IS NOT NULL;
-- What was deleted before this migration may have left words, too.
UPDATE "graph_usage" SET "words_doubted_at" = now();

-- A look at the words of a graph that has begun: the last word that it came to.
CREATE TABLE "lexicon_look" (
    "graph_id" UUID NOT NULL,
    "word" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "lexicon_look_pkey" PRIMARY KEY ("graph_id"),
    CONSTRAINT "lexicon_look_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph"("id")
      ON DELETE CASCADE ON UPDATE NO ACTION
);

-- As before, and notes that words may have gone with the memories.
CREATE OR REPLACE FUNCTION give_back_to_graph(p_graph_id uuid, p_memories integer, p_bytes bigint) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  UPDATE graph_usage SET memories = greatest(0, memories - p_memories), bytes = greatest(0, bytes - p_bytes),
    words_doubted_at = CASE WHEN p_memories > 0 THEN coalesce(words_doubted_at, now()) ELSE words_doubted_at END
  WHERE graph_id = p_graph_id;
END $$;

-- As before. What changes a memory counts no further one, and may have taken words from it; relationships do the same,
-- for which a look at the words is in vain and costs little.
CREATE OR REPLACE FUNCTION count_in_graph(p_graph_id uuid, p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    UPDATE graph_usage SET memories = memories + p_memories, bytes = greatest(0, bytes + p_bytes),
      words_doubted_at = CASE WHEN p_memories = 0 THEN coalesce(words_doubted_at, now()) ELSE words_doubted_at END
    WHERE graph_id = p_graph_id
      AND (p_memories <= 0 OR memories + p_memories <= p_memories_max)
      AND (p_bytes <= 0 OR bytes + p_bytes <= p_bytes_max);
    EXIT WHEN FOUND;
    -- Where there is room by now, somebody has just made it: once more.
    PERFORM assert_graph_has_room(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
  END LOOP;
END $$;

-- As before, and held apart from forgetting: a word that is known here must not be forgotten before the memory that has
-- it is there to see.
CREATE OR REPLACE FUNCTION learn_words(p_graph_id uuid, p_search tsvector) RETURNS bigint LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
  SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  learnt bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('learn_words' || p_graph_id, 0));
  INSERT INTO lexicon (graph_id, word)
  SELECT p_graph_id, given.word
  FROM (SELECT w COLLATE "C" AS word FROM unnest(tsvector_to_array(p_search)) AS w
    WHERE length(w) <= 40 AND left(w, 1) <> ALL ('{^,#,=,:}'::text[]) OFFSET 0) AS given
  WHERE NOT EXISTS (SELECT 1 FROM lexicon known WHERE known.graph_id = p_graph_id AND known.word = given.word)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS learnt = ROW_COUNT;
  RETURN learnt;
END $$;

CREATE OR REPLACE FUNCTION learn_words_of(p_graph_id uuid, p_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('learn_words' || p_graph_id, 0));
  INSERT INTO lexicon (graph_id, word)
  SELECT DISTINCT p_graph_id, word COLLATE "C" AS word FROM memory m, lexicon_words(m.search) AS word
  WHERE m.graph_id = p_graph_id AND m.id = ANY (p_ids) ORDER BY word
  ON CONFLICT DO NOTHING;
END $$;

-- Those of some words that no memory of the graph has; each is looked up in the index of the search.
CREATE FUNCTION words_of_no_memory(p_graph_id uuid, p_words text[]) RETURNS text[] LANGUAGE sql STABLE
  SET enable_seqscan = off SET enable_indexscan = off SET random_page_cost = 0 SET seq_page_cost = 0
  SET cpu_operator_cost = 0 SET cpu_index_tuple_cost = 0 SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
  SELECT array_agg(word) FROM unnest(p_words) AS word
  WHERE (SELECT true FROM memory m
    WHERE m.graph_id = p_graph_id AND m.search @@ array_to_tsvector(ARRAY[word])::text::tsquery LIMIT 1) IS NULL
$$;

-- Looks at the next words of a graph from which something was taken so long ago, and forgets those that no memory has.
-- When all are looked at, the rest is counted anew. Answers with whether there is more to do right now.
CREATE FUNCTION forget_words(p_after interval, p_words int, p_sample int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  look lexicon_look;
  words text[];
  gone text[];
  tries int := 0;
BEGIN
  SELECT * INTO look FROM lexicon_look ORDER BY graph_id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    -- Whatever is taken from now on is for the next look.
    UPDATE graph_usage SET words_doubted_at = NULL WHERE graph_id = (
      SELECT u.graph_id FROM graph_usage u
      WHERE u.words_doubted_at <= now() - p_after
        AND NOT EXISTS (SELECT FROM lexicon_look l WHERE l.graph_id = u.graph_id)
      ORDER BY u.words_doubted_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING graph_id INTO look.graph_id;
    IF FOUND THEN
      INSERT INTO lexicon_look (graph_id, word) VALUES (look.graph_id, '');
      RETURN true;
    END IF;
    RETURN false;
  END IF;
  SELECT array_agg(word ORDER BY word) INTO words FROM (
    SELECT word FROM lexicon WHERE graph_id = look.graph_id AND word > look.word ORDER BY word LIMIT p_words) AS next;
  IF words IS NULL THEN
    DELETE FROM lexicon_look WHERE graph_id = look.graph_id;
    PERFORM count_words(look.graph_id, p_sample);
    RETURN true;
  END IF;
  gone := words_of_no_memory(look.graph_id, words);
  IF gone IS NOT NULL THEN
    -- Counting learns words as well. Neither is waited for in a queue, in which others would wait behind.
    WHILE NOT (pg_try_advisory_xact_lock(hashtextextended('count_words' || look.graph_id, 0))
      AND pg_try_advisory_xact_lock(hashtextextended('learn_words' || look.graph_id, 0))) LOOP
      tries := tries + 1;
      IF tries = 20 THEN
        RETURN false;
      END IF;
      PERFORM pg_sleep(0.01);
    END LOOP;
    -- Once more: now nobody learns, and what was learnt is there to see.
    gone := words_of_no_memory(look.graph_id, gone);
    DELETE FROM lexicon WHERE graph_id = look.graph_id AND word = ANY (gone);
  END IF;
  UPDATE lexicon_look SET word = words[cardinality(words)] WHERE graph_id = look.graph_id;
  RETURN true;
END $$;
