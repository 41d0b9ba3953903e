-- Until when an unpaid renewal keeps the plan, and whether the plan has fallen back since. Teams that are unpaid already
-- have lost their plan: for them it stays so.
ALTER TABLE "billing_account" ADD COLUMN "grace_until" TIMESTAMPTZ(3), ADD COLUMN "grace_is_over" BOOLEAN NOT NULL DEFAULT false;
UPDATE "billing_account" SET "grace_until" = now(), "grace_is_over" = true WHERE "status" = 'past_due';
-- The price of the open checkout; null for one of an earlier release.
ALTER TABLE "billing_account" ADD COLUMN "checkout_price_id" TEXT;
