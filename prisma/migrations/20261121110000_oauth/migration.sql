-- A program that people connect by OAuth acts as a key of theirs, of which nobody has the secret; this says whose host.
ALTER TABLE "api_key" ADD COLUMN "client" TEXT;

-- What the authorization server remembers. Ids of codes and tokens stand here as hashes, like keys.
CREATE TABLE "oauth_record" (
    "kind" TEXT NOT NULL,
    "hash" BYTEA NOT NULL CHECK (length("hash") = 32),
    "payload" JSON NOT NULL CHECK (json_typeof("payload") = 'object'),
    "key_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "consumed_at" TIMESTAMPTZ(3),

    CONSTRAINT "oauth_record_pkey" PRIMARY KEY ("kind", "hash"),
    CONSTRAINT "oauth_record_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id")
      ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "oauth_record_expires_at_idx" ON "oauth_record"("expires_at");
CREATE INDEX "oauth_record_kind_expires_at_idx" ON "oauth_record"("kind", "expires_at");
CREATE INDEX "oauth_record_key_id_kind_created_at_idx" ON "oauth_record"("key_id", "kind", "created_at");
