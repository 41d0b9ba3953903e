-- Background jobs and deletions that read few rows, however many accounts, teams and graphs there are.

-- A graph with new words is noted where its contents are counted, in a row that is written anyway. To find the graph
-- with the most new words, those of all graphs were counted: every 5 s, for 1 s with 200,000 graphs of a few memories.
ALTER TABLE "graph_usage" ADD COLUMN "words_learnt_at" TIMESTAMPTZ(3);
-- Words that were learnt before this migration may wait, too.
UPDATE "graph_usage" SET "words_learnt_at" = now();
CREATE INDEX "graph_usage_words_learnt_at_idx" ON "graph_usage" ("words_learnt_at")
  WHERE "words_learnt_at" IS NOT NULL;

-- As before, and notes that words may have come with the memories. Relationships do the same, in vain, at little cost.
CREATE OR REPLACE FUNCTION count_in_graph(p_graph_id uuid, p_memories integer, p_bytes bigint,
  p_memories_max integer, p_bytes_max bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOOP
    UPDATE graph_usage SET memories = greatest(0, memories + p_memories), bytes = greatest(0, bytes + p_bytes),
      words_doubted_at = CASE WHEN p_memories > 0 THEN words_doubted_at ELSE coalesce(words_doubted_at, now()) END,
      words_learnt_at = CASE WHEN p_memories < 0 THEN words_learnt_at ELSE coalesce(words_learnt_at, now()) END
    WHERE graph_id = p_graph_id
      AND (p_memories <= 0 OR memories + p_memories <= p_memories_max)
      AND (p_bytes <= 0 OR bytes + p_bytes <= p_bytes_max);
    EXIT WHEN FOUND;
    -- Where there is room by now, somebody has just made it: once more.
    PERFORM assert_graph_has_room(p_graph_id, p_memories, p_bytes, p_memories_max, p_bytes_max);
  END LOOP;
END $$;

-- Whether a graph has so many new words that they are to be counted: `p_words`, and one for every 20 memories.
CREATE FUNCTION has_new_words(p_graph_id uuid, p_words int) RETURNS boolean LANGUAGE plpgsql STABLE
  SET enable_seqscan = off
AS $$
DECLARE
  enough int := p_words
    + coalesce((SELECT documents FROM lexicon WHERE graph_id = p_graph_id AND word = ''), 0) / 20;
BEGIN
  RETURN (SELECT count(*) FROM (
    SELECT 1 FROM lexicon WHERE graph_id = p_graph_id AND documents = 0 LIMIT enough) AS new) = enough;
END $$;

-- Counts the words of the next graph that has enough new ones. Returns null if there is nothing more to do. The notes of
-- graphs with too few are removed. No graph that gets new words faster than they are counted keeps others waiting, and
-- changes of no graph wait while another is counted.
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

-- To delete an account: its mails, its requests to the payment provider, and its earlier addresses in the audit. Each
-- deletion read all 200,000 mails that waited, and all 200,000 requests.
CREATE INDEX "mail_email_idx" ON "mail"("email");
CREATE INDEX "billing_operation_customer_by" ON "billing_operation"("actor_id") WHERE "kind" = 'customer';
CREATE INDEX "audit_entry_changed_email" ON "audit_entry"("subject") WHERE "action" = 'changeEmail';

-- To send codes, for which people wait, before other mails that are due.
CREATE INDEX "mail_due_sign_up" ON "mail"("due_at") WHERE "kind" = 'sign_up';
