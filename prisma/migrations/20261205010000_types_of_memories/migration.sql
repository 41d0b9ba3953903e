-- The types of the memories that there are, after the migration that made the functions learn them, so that none stored
-- meanwhile is left out. No graph is made or deleted meanwhile: a type of a deleted one would be refused.
LOCK TABLE "graph_root" IN SHARE MODE;
INSERT INTO "lexicon" ("graph_id", "word", "documents")
SELECT "graph_id", ':' || "type", count(*) FROM "memory" WHERE length("type") < 40 GROUP BY "graph_id", "type"
ORDER BY "graph_id", "type" COLLATE "C"
ON CONFLICT DO NOTHING;
