-- For the chores that delete what is kept no longer: each finds the oldest rows without reading the others.
CREATE INDEX "api_key_ended" ON "api_key"(least("revoked_at", "expires_at"));
CREATE INDEX "invitation_expires_at_idx" ON "invitation"("expires_at");
CREATE INDEX "audit_entry_created_at_idx" ON "audit_entry"("created_at");
