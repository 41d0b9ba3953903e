-- What changed last, and what a whole graph holds: both are counted from this index alone.
CREATE INDEX "memory_changed" ON "memory" ("graph_id", "updated_at", "id")
  INCLUDE ("type", "importance", "confidence", "project");
