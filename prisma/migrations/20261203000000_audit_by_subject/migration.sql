-- What others did with a user is in the user's export.
CREATE INDEX "audit_entry_subject_id_idx" ON "audit_entry"("subject", "id");
-- The addresses of people who were invited to teams that were deleted before: now the deletion removes them.
UPDATE "audit_entry" SET "detail" = NULL
WHERE "action" IN ('inviteMember', 'resendInvitation', 'revokeInvitation') AND "detail" IS NOT NULL
  AND "team_id" IS NOT NULL AND NOT EXISTS (SELECT FROM "team" WHERE "team"."id" = "audit_entry"."team_id");
