-- Models by which memories are embedded. Memories that there were before a model are queued by and by, from the lowest key;
-- a model is complete when all of these have their vectors.
CREATE TABLE "embedding_model" (
    "model" TEXT NOT NULL,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "next_graph_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    "next_id" UUID NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    "filled" BOOLEAN NOT NULL DEFAULT false,
    "complete" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "embedding_model_pkey" PRIMARY KEY ("model")
);

-- Memories that wait to be embedded. No foreign key: whoever claims one that is gone forgets it.
CREATE TABLE "embedding_due" (
    "graph_id" UUID NOT NULL,
    "memory_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "embedding_due_pkey" PRIMARY KEY ("graph_id", "memory_id")
);
CREATE INDEX "embedding_due_due_at_idx" ON "embedding_due"("due_at");

-- How often the vectors of a graph have changed: servers read it to know what they have not loaded yet.
CREATE TABLE "graph_vectors" (
    "graph_id" UUID NOT NULL,
    "changes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "graph_vectors_pkey" PRIMARY KEY ("graph_id"),
    CONSTRAINT "graph_vectors_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph"("id")
      ON DELETE CASCADE ON UPDATE NO ACTION
);

-- The vectors of a memory, one for each piece of its text: whole numbers from -127 to 127, times `scale`. A memory that
-- moves to another graph leaves them behind: nobody changes their key.
CREATE TABLE "memory_vector" (
    "graph_id" UUID NOT NULL,
    "memory_id" UUID NOT NULL,
    "model" TEXT NOT NULL,
    "piece" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "change" BIGINT NOT NULL,
    "scale" DOUBLE PRECISION NOT NULL,
    "vector" BYTEA NOT NULL,

    CONSTRAINT "memory_vector_pkey" PRIMARY KEY ("graph_id", "memory_id", "model", "piece"),
    CONSTRAINT "memory_vector_graph_id_memory_id_fkey" FOREIGN KEY ("graph_id", "memory_id")
      REFERENCES "memory"("graph_id", "id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "memory_vector_graph_id_model_change_idx" ON "memory_vector"("graph_id", "model", "change");
CREATE INDEX "memory_vector_model_idx" ON "memory_vector"("model");

-- Queues memories to be embedded, where anybody has embedded any in the last week.
CREATE FUNCTION note_for_embedding(p_graph_id uuid, p_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(p_ids) > 0 AND EXISTS (SELECT FROM embedding_model WHERE used_at > now() - interval '7 days') THEN
    INSERT INTO embedding_due (graph_id, memory_id) SELECT p_graph_id, id FROM unnest(p_ids) AS id ORDER BY id
    ON CONFLICT (graph_id, memory_id) DO UPDATE SET due_at = now(), attempts = 0;
  END IF;
END $$;

-- As before, and queues what was written.
CREATE OR REPLACE FUNCTION settle_change(p_graph_id uuid, p_written uuid[], p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(p_written) = 1 THEN
    PERFORM learn_words(p_graph_id, m.search) FROM memory m WHERE m.graph_id = p_graph_id AND m.id = p_written[1];
  ELSIF cardinality(p_written) > 1 THEN
    PERFORM learn_words_of(p_graph_id, p_written);
  END IF;
  PERFORM note_for_embedding(p_graph_id, p_written);
  PERFORM count_in_graph(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
END $$;

-- Says that a model is used, and queues the next memories that there were before it while few wait. Answers with whether
-- there are more. A model that was not used for so long that changes were not queued begins anew. A new model waits for
-- those who write at this moment: they may not have seen that memories are embedded now, and so have queued nothing;
-- reading the table holds a lock until the end of the transaction.
CREATE FUNCTION fill_embeddings(p_model text, p_most int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  place embedding_model;
  graph_ids uuid[];
  ids uuid[];
BEGIN
  IF NOT EXISTS (SELECT FROM embedding_model WHERE model = p_model AND used_at >= now() - interval '6 days') THEN
    LOCK TABLE embedding_model IN ACCESS EXCLUSIVE MODE;
    DELETE FROM embedding_model WHERE model = p_model AND used_at < now() - interval '6 days';
    INSERT INTO embedding_model (model) VALUES (p_model) ON CONFLICT DO NOTHING;
    RETURN true;
  END IF;
  SELECT * INTO place FROM embedding_model WHERE model = p_model FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF place.used_at < now() - interval '1 minute' THEN
    UPDATE embedding_model SET used_at = now() WHERE model = p_model;
  END IF;
  IF place.complete OR (SELECT count(*) FROM (SELECT FROM embedding_due LIMIT p_most) AS waiting) = p_most THEN
    RETURN false;
  END IF;
  IF place.filled THEN
    -- What was refused several times is not waited for.
    UPDATE embedding_model SET complete = true
    WHERE model = p_model AND NOT EXISTS (SELECT FROM embedding_due WHERE attempts < 3);
    RETURN false;
  END IF;
  SELECT array_agg(next.graph_id), array_agg(next.id) INTO graph_ids, ids FROM (
    SELECT m.graph_id, m.id FROM memory m WHERE (m.graph_id, m.id) > (place.next_graph_id, place.next_id)
    ORDER BY m.graph_id, m.id LIMIT p_most) AS next;
  INSERT INTO embedding_due (graph_id, memory_id) SELECT * FROM unnest(graph_ids, ids) ON CONFLICT DO NOTHING;
  UPDATE embedding_model SET filled = coalesce(cardinality(ids), 0) < p_most,
    next_graph_id = coalesce(graph_ids[cardinality(ids)], next_graph_id),
    next_id = coalesce(ids[cardinality(ids)], next_id) WHERE model = p_model;
  RETURN cardinality(ids) = p_most;
END $$;
