-- pg_trgm finds words spelt nearly alike; btree_gin lets a graph's id lead the GIN indexes.
-- Both ship with PostgreSQL and are trusted: the database's owner may create them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Punctuation is text, never an operator: the parser of text search would read "src/app.ts" as one file name and
-- "<b>" as a tag to skip, so every ASCII mark becomes a space, in memories and in queries alike.
CREATE FUNCTION plain_words(value text) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN translate(value, '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32));

-- Title over tags over the rest: A, B, D.
CREATE FUNCTION memory_search(title text, tags text[], summary text, content text) RETURNS tsvector
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN setweight(to_tsvector('english', plain_words(title)), 'A')
      || setweight(to_tsvector('english', plain_words(array_to_string(tags, ' '))), 'B')
      || to_tsvector('english', plain_words(coalesce(summary, '') || ' ' || content));

-- What a misspelt word is compared with. 4,000 characters of content bound the index and the comparison.
CREATE FUNCTION memory_words(title text, tags text[], summary text, content text) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN title || ' ' || array_to_string(tags, ' ') || ' ' || coalesce(summary, '') || ' ' || left(content, 4000);

CREATE TYPE "plan" AS ENUM ('free', 'pro');

CREATE TABLE "user_account" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL CHECK ("email" = lower("email")),
    "name" TEXT,
    "email_verified_at" TIMESTAMPTZ(3),
    "plan" "plan" NOT NULL DEFAULT 'free',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "user_account_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "user_account_email_key" ON "user_account"("email");

CREATE TABLE "api_key" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL CHECK (length("hash") = 32),
    "scopes" TEXT[] NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "replaced_by_id" UUID,

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "api_key_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id")
      ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");
CREATE INDEX "api_key_user_id_id_idx" ON "api_key"("user_id", "id");

CREATE TABLE "graph" (
    "id" UUID NOT NULL,
    "user_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "graph_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "graph_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id")
      ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "graph_user_id_key" ON "graph"("user_id");

CREATE TABLE "memory" (
    "graph_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "summary" TEXT,
    "tags" TEXT[] NOT NULL,
    "importance" DOUBLE PRECISION NOT NULL DEFAULT 0.5 CHECK ("importance" BETWEEN 0 AND 1),
    "version" INTEGER NOT NULL DEFAULT 1 CHECK ("version" >= 1),
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" UUID NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "search" tsvector GENERATED ALWAYS AS (memory_search("title", "tags", "summary", "content")) STORED,

    CONSTRAINT "memory_pkey" PRIMARY KEY ("graph_id", "id"),
    CONSTRAINT "memory_graph_id_fkey" FOREIGN KEY ("graph_id") REFERENCES "graph"("id")
      ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "memory_search" ON "memory" USING GIN ("graph_id" uuid_ops, "search");
CREATE INDEX "memory_words" ON "memory"
  USING GIN ("graph_id" uuid_ops, memory_words("title", "tags", "summary", "content") gin_trgm_ops);

CREATE TABLE "memory_version" (
    "graph_id" UUID NOT NULL,
    "memory_id" UUID NOT NULL,
    "version" INTEGER NOT NULL CHECK ("version" >= 1),
    "type" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "summary" TEXT,
    "tags" TEXT[] NOT NULL,
    "importance" DOUBLE PRECISION NOT NULL,
    "changed_by" UUID NOT NULL,
    "changed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "memory_version_pkey" PRIMARY KEY ("graph_id", "memory_id", "version"),
    CONSTRAINT "memory_version_graph_id_memory_id_fkey" FOREIGN KEY ("graph_id", "memory_id")
      REFERENCES "memory"("graph_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "relationship" (
    "graph_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "from_id" UUID NOT NULL,
    "to_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "strength" DOUBLE PRECISION NOT NULL DEFAULT 0.5 CHECK ("strength" BETWEEN 0 AND 1),
    "confidence" DOUBLE PRECISION NOT NULL DEFAULT 0.8 CHECK ("confidence" BETWEEN 0 AND 1),
    "context" TEXT,
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "relationship_pkey" PRIMARY KEY ("graph_id", "id"),
    CONSTRAINT "relationship_joins_two_memories" CHECK ("from_id" <> "to_id"),
    CONSTRAINT "relationship_graph_id_from_id_fkey" FOREIGN KEY ("graph_id", "from_id")
      REFERENCES "memory"("graph_id", "id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "relationship_graph_id_to_id_fkey" FOREIGN KEY ("graph_id", "to_id")
      REFERENCES "memory"("graph_id", "id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "relationship_graph_id_from_id_type_to_id_key"
  ON "relationship"("graph_id", "from_id", "type", "to_id");
CREATE INDEX "relationship_graph_id_to_id_type_idx" ON "relationship"("graph_id", "to_id", "type");
