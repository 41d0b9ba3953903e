-- Until when a memory holds; null for one without an end.
ALTER TABLE "memory" ADD COLUMN "expires_at" TIMESTAMPTZ(3);
ALTER TABLE "memory_version" ADD COLUMN "expires_at" TIMESTAMPTZ(3);
CREATE INDEX "memory_expiry" ON "memory"("graph_id", "expires_at") WHERE "expires_at" IS NOT NULL;

-- Whether a graph has a memory that has expired by then: one look into a small index, however many there are.
CREATE FUNCTION has_expired_memory(p_graph_id uuid, p_now timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE
  SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  RETURN p_now IS NOT NULL AND EXISTS (SELECT FROM (
    SELECT m.id FROM memory m WHERE m.graph_id = p_graph_id AND m.expires_at <= p_now ORDER BY m.expires_at LIMIT 1) AS first);
END $$;
