-- To send codes, for which people wait, before other mails that are due.
CREATE INDEX "mail_due_sign_up" ON "mail"("due_at") WHERE "kind" = 'sign_up';
