-- What clients keep beside a memory's texts. `context` is text that PostgreSQL knows to be JSON: it stays as it was sent.
-- They are made again below: a table is not written anew while a function takes its rows.
DROP FUNCTION memory_bytes(memory);
DROP FUNCTION memory_bytes(memory_version);

ALTER TABLE "memory"
  ADD COLUMN "context" JSON CHECK (json_typeof("context") = 'object'),
  ADD COLUMN "confidence" DOUBLE PRECISION NOT NULL DEFAULT 0.8 CHECK ("confidence" BETWEEN 0 AND 1),
  ADD COLUMN "external_id" TEXT CHECK ("external_id" <> '');
ALTER TABLE "memory_version"
  ADD COLUMN "context" JSON,
  ADD COLUMN "confidence" DOUBLE PRECISION NOT NULL DEFAULT 0.8,
  ADD COLUMN "external_id" TEXT;

CREATE UNIQUE INDEX "memory_graph_id_external_id_key" ON "memory"("graph_id", "external_id");

-- The project is what memories can be narrowed by: a text of up to 500 characters, as a filter may have them.
ALTER TABLE "memory" ADD COLUMN "project" TEXT GENERATED ALWAYS AS (
  CASE WHEN json_typeof("context" -> 'project_path') = 'string'
        AND char_length("context" ->> 'project_path') <= 500
    THEN normalize("context" ->> 'project_path', NFC) END) STORED;
CREATE INDEX "memory_graph_id_project_id_idx" ON "memory"("graph_id", "project", "id");

CREATE FUNCTION memory_bytes(m memory) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 200 + octet_length(m.type) + octet_length(m.title) + octet_length(m.content)
    + coalesce(octet_length(m.summary), 0) + octet_length(array_to_string(m.tags, ''))
    + coalesce(octet_length(m.context::text), 0) + coalesce(octet_length(m.external_id), 0);
CREATE FUNCTION memory_bytes(m memory_version) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
  RETURN 200 + octet_length(m.type) + octet_length(m.title) + octet_length(m.content)
    + coalesce(octet_length(m.summary), 0) + octet_length(array_to_string(m.tags, ''))
    + coalesce(octet_length(m.context::text), 0) + coalesce(octet_length(m.external_id), 0);
