-- To list a graph's relationships of a type, newest first: without it a rare type is looked for in the whole graph.
CREATE INDEX "relationship_graph_id_type_id_idx" ON "relationship"("graph_id", "type", "id");
