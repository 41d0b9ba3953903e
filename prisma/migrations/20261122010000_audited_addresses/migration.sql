-- A whole detail is looked for, also of invitations that were sent again.
DROP INDEX "audit_entry_address";
CREATE INDEX "audit_entry_address" ON "audit_entry" ("detail")
  WHERE "action" IN ('inviteMember', 'resendInvitation', 'revokeInvitation');
