CREATE TYPE "team_role" AS ENUM ('owner', 'admin', 'member');
CREATE TYPE "invitation_status" AS ENUM ('pending', 'accepted', 'declined', 'revoked', 'expired');

CREATE TABLE "team" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "owner_id" UUID NOT NULL,
    "max_members" INTEGER NOT NULL CHECK ("max_members" BETWEEN 1 AND 1000),
    "member_count" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "team_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "team_seats" CHECK ("member_count" BETWEEN 0 AND "max_members")
);

-- One team a user: the user is the key.
CREATE TABLE "team_member" (
    "user_id" UUID NOT NULL,
    "team_id" UUID NOT NULL,
    "role" "team_role" NOT NULL,
    "joined_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "team_member_pkey" PRIMARY KEY ("user_id"),
    CONSTRAINT "team_member_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user_account"("id")
      ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "team_member_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id")
      ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "team_member_team_id_user_id_key" ON "team_member"("team_id", "user_id");
CREATE UNIQUE INDEX "team_member_one_owner" ON "team_member"("team_id") WHERE "role" = 'owner';

-- The owner is a member. Checked at the end of a transaction, since a team and its owner are made together.
ALTER TABLE "team" ADD CONSTRAINT "team_id_owner_id_fkey" FOREIGN KEY ("id", "owner_id")
  REFERENCES "team_member"("team_id", "user_id") ON DELETE RESTRICT ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED;

-- Counted by the database in the row that holds the limit, so seats cannot be oversold: the update waits for others
-- and then meets the check "team_seats".
CREATE FUNCTION count_team_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE "team" SET "member_count" = "member_count" + 1 WHERE "id" = NEW."team_id";
  ELSE
    UPDATE "team" SET "member_count" = "member_count" - 1 WHERE "id" = OLD."team_id";
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "team_member_counted" AFTER INSERT OR DELETE ON "team_member"
  FOR EACH ROW EXECUTE FUNCTION count_team_members();

-- A graph without a user and a team belonged to a team that is gone: it is emptied in the background.
ALTER TABLE "graph" ADD COLUMN "team_id" UUID;
ALTER TABLE "graph" ADD CONSTRAINT "graph_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id")
  ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "graph" ADD CONSTRAINT "graph_has_one_owner" CHECK ("user_id" IS NULL OR "team_id" IS NULL);
CREATE UNIQUE INDEX "graph_team_id_key" ON "graph"("team_id");
CREATE INDEX "graph_abandoned" ON "graph"("id") WHERE "user_id" IS NULL AND "team_id" IS NULL;

CREATE TABLE "invitation" (
    "id" UUID NOT NULL,
    "team_id" UUID NOT NULL,
    "email" TEXT NOT NULL CHECK ("email" = lower("email")),
    "role" "team_role" NOT NULL CHECK ("role" <> 'owner'),
    "status" "invitation_status" NOT NULL DEFAULT 'pending',
    "invited_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "invitation_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "invitation_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "team"("id")
      ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "invitation_ends_later" CHECK ("expires_at" > "created_at")
);
CREATE UNIQUE INDEX "invitation_one_pending" ON "invitation"("team_id", "email") WHERE "status" = 'pending';
CREATE INDEX "invitation_team_id_id_idx" ON "invitation"("team_id", "id");
CREATE INDEX "invitation_team_id_created_at_idx" ON "invitation"("team_id", "created_at");

-- Tokens are made when a mail is sent, so that they stand in the mail and nowhere else. A mail that had to be sent again
-- has another one; each is as good as the other.
CREATE TABLE "invitation_token" (
    "hash" BYTEA NOT NULL CHECK (length("hash") = 32),
    "invitation_id" UUID NOT NULL,

    CONSTRAINT "invitation_token_pkey" PRIMARY KEY ("hash"),
    CONSTRAINT "invitation_token_invitation_id_fkey" FOREIGN KEY ("invitation_id") REFERENCES "invitation"("id")
      ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "invitation_token_invitation_id_idx" ON "invitation_token"("invitation_id");

-- The code that verifies an address: made, like a token, when its mail is sent.
CREATE TABLE "sign_up_code" (
    "email" TEXT NOT NULL CHECK ("email" = lower("email")),
    "hash" BYTEA NOT NULL CHECK (length("hash") = 32),
    "tries_left" INTEGER NOT NULL CHECK ("tries_left" >= 0),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_up_code_pkey" PRIMARY KEY ("email")
);

-- Mails to be sent, written in the transaction that wants them. A mail that was sent is deleted.
CREATE TABLE "mail" (
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL CHECK ("kind" IN ('invitation', 'sign_up')),
    "email" TEXT NOT NULL,
    "invitation_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,

    CONSTRAINT "mail_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "mail_invitation_id_fkey" FOREIGN KEY ("invitation_id") REFERENCES "invitation"("id")
      ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "mail_says_what_it_is_about" CHECK (("kind" = 'invitation') = ("invitation_id" IS NOT NULL))
);
CREATE INDEX "mail_due_at_idx" ON "mail"("due_at");

-- Who did what to whom, written with the change. It outlives what it tells of, so it refers to nothing by key.
CREATE TABLE "audit_entry" (
    "id" UUID NOT NULL,
    "team_id" UUID,
    "actor_id" UUID NOT NULL,
    "key_id" UUID,
    "door" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject" TEXT,
    "detail" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "audit_entry_team_id_id_idx" ON "audit_entry"("team_id", "id");
