-- Without statistics PostgreSQL expects many codes of one address, and many invitations and requests of one team. So it
-- looked up those of the right time among all, by the index of times: 200,000 entries for two rows.
CREATE INDEX "invitation_team_id_status_expires_at_idx" ON "invitation"("team_id", "status", "expires_at");
CREATE INDEX "billing_operation_team_id_created_at_idx" ON "billing_operation"("team_id", "created_at");
-- At the end, and first the one with the stronger lock: a server beside this one that tries a code waits for no other.
DROP INDEX "sign_up_code_email_idx";
CREATE INDEX "sign_up_code_email_expires_at_idx" ON "sign_up_code"("email", "expires_at");
