-- A subscription can be cancelled for a time of its own, without the flag that it ends with its period.
ALTER TABLE "billing_account" ADD COLUMN "cancel_at" TIMESTAMPTZ(3);
-- A cancellation can be taken back.
ALTER TABLE "billing_operation" DROP CONSTRAINT "billing_operation_kind_check";
ALTER TABLE "billing_operation" ADD CONSTRAINT "billing_operation_kind_check"
  CHECK ("kind" IN ('customer', 'checkout', 'expire', 'upgrade', 'cancel', 'resume'));
-- A copy without the new column may say "renews" of a subscription that ends: read them again.
UPDATE "billing_account" SET "mirrored_at" = NULL WHERE "customer_id" IS NOT NULL
  AND "status" NOT IN ('none', 'canceled', 'incomplete_expired');
