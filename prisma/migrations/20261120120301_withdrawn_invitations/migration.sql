-- Whoever may no longer invite, for whatever reason, leaves no open invitation behind: a way in for later. A trigger, so
-- that no way out of a team, or down in it, can forget it.
CREATE FUNCTION withdraw_invitations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "invitation" SET "status" = (CASE WHEN "expires_at" > now() THEN 'revoked' ELSE 'expired' END)::"invitation_status"
    WHERE "team_id" = OLD."team_id" AND "invited_by" = OLD."user_id" AND "status" = 'pending';
  RETURN NULL;
END $$;
CREATE TRIGGER "invitations_withdrawn_on_leaving" AFTER DELETE ON "team_member"
  FOR EACH ROW WHEN (OLD."role" <> 'member') EXECUTE FUNCTION withdraw_invitations();
CREATE TRIGGER "invitations_withdrawn_on_demotion" AFTER UPDATE ON "team_member"
  FOR EACH ROW WHEN (OLD."role" <> 'member' AND (NEW."role" = 'member' OR NEW."team_id" <> OLD."team_id"))
  EXECUTE FUNCTION withdraw_invitations();

-- Those of admins who were removed or demoted before.
UPDATE "invitation" i SET "status" = 'revoked' WHERE i."status" = 'pending' AND NOT EXISTS (
  SELECT FROM "team_member" m WHERE m."team_id" = i."team_id" AND m."user_id" = i."invited_by" AND m."role" <> 'member');
