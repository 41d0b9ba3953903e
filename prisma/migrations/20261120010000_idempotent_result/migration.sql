-- The first result of each change that was asked for under an Idempotency-Key. It is kept a day, encrypted with the
-- key itself, of which only the hash is stored here.
CREATE TABLE "idempotent_result" (
    "user_id" UUID NOT NULL,
    "key_hash" BYTEA NOT NULL,
    "part" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "result" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotent_result_pkey" PRIMARY KEY ("user_id", "key_hash", "part"),
    CONSTRAINT "idempotent_result_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id")
      ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "idempotent_result_created_at_idx" ON "idempotent_result"("created_at");
