-- What others did with a user is in the user's export. The index also finds the addresses that a user has given up.
CREATE INDEX "audit_entry_subject_id_idx" ON "audit_entry"("subject", "id");
DROP INDEX "audit_entry_changed_email";
