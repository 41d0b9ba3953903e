-- A mail to the owner of a team goes to whoever owns it when the mail is sent.
ALTER TABLE "mail" ADD COLUMN "team_id" UUID;
ALTER TABLE "mail" ADD CONSTRAINT "mail_team_id_fkey"
  FOREIGN KEY ("team_id") REFERENCES "team"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE INDEX "mail_team_id_idx" ON "mail"("team_id");
