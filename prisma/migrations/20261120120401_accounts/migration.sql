-- Since when an operator keeps a user out; null for everybody else.
ALTER TABLE "user_account" ADD COLUMN "suspended_at" TIMESTAMPTZ(3);

-- What concerns one person is found without reading what concerns everybody: for the export of an account, and for what
-- goes with it.
CREATE INDEX "audit_entry_actor_id_id_idx" ON "audit_entry"("actor_id", "id");
CREATE INDEX "audit_entry_address" ON "audit_entry"(split_part("detail", ',', 1))
  WHERE "action" IN ('inviteMember', 'revokeInvitation');
CREATE INDEX "invitation_email_id_idx" ON "invitation"("email", "id");
CREATE INDEX "invitation_invited_by_id_idx" ON "invitation"("invited_by", "id");
