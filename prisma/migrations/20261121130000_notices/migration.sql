-- Mails whose text is known when they are queued: they contain no secret.
ALTER TABLE "mail" DROP CONSTRAINT "mail_kind_check",
  ADD CONSTRAINT "mail_kind_check" CHECK ("kind" IN ('invitation', 'notice', 'sign_up'));
ALTER TABLE "mail" ADD COLUMN "subject" TEXT, ADD COLUMN "body" TEXT,
  ADD CONSTRAINT "mail_notice_has_text" CHECK (
    CASE WHEN "kind" = 'notice' THEN "subject" IS NOT NULL AND "body" IS NOT NULL
      ELSE "subject" IS NULL AND "body" IS NULL END
  );

-- When a mail server refused the mail of an invitation for good.
ALTER TABLE "invitation" ADD COLUMN "bounced_at" TIMESTAMPTZ(3);
