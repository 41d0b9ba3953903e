-- When somebody was last sent invitations, or sent them: one row a person, known by a hash. It refers to nothing, so that
-- it outlives invitations and teams; one statement on the row decides, so that two at once cannot both take the last.
CREATE TABLE "invitation_allowance" (
    "subject" BYTEA NOT NULL CHECK (length("subject") = 32),
    "sent_at" TIMESTAMPTZ(3)[] NOT NULL,
    "last_sent_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "invitation_allowance_pkey" PRIMARY KEY ("subject")
);
CREATE INDEX "invitation_allowance_last_sent_at_idx" ON "invitation_allowance"("last_sent_at");

-- Asked how many a team had sent within the hour.
DROP INDEX "invitation_team_id_created_at_idx";
