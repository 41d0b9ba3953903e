-- Codes side by side: one that a stranger asks for takes nothing from another. A code belongs to its mail, and has a
-- second, long form, which nobody can guess. Who asked and who tried stand there as hashes of their networks.
DROP TABLE "sign_up_code";
CREATE TABLE "sign_up_code" (
    "mail_id" UUID NOT NULL,
    "email" TEXT NOT NULL CHECK ("email" = lower("email")),
    "hash" BYTEA NOT NULL CHECK (length("hash") = 32),
    "long_hash" BYTEA NOT NULL CHECK (length("long_hash") = 32),
    "asked_by" TEXT,
    "tried_by" TEXT[] NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_up_code_pkey" PRIMARY KEY ("mail_id")
);
CREATE INDEX "sign_up_code_email_idx" ON "sign_up_code"("email");
CREATE INDEX "sign_up_code_expires_at_idx" ON "sign_up_code"("expires_at");

-- At most one mail with a code waits for an address; it is made the latest when it is sent.
ALTER TABLE "mail" ADD COLUMN "asked_by" TEXT;
DELETE FROM "mail" m USING "mail" later WHERE m."kind" = 'sign_up' AND later."kind" = 'sign_up'
  AND m."email" = later."email" AND m."id" < later."id";
CREATE UNIQUE INDEX "mail_one_sign_up" ON "mail"("email") WHERE "kind" = 'sign_up';
CREATE INDEX "mail_created_at_idx" ON "mail"("created_at");
CREATE INDEX "mail_invitation_id_idx" ON "mail"("invitation_id");
