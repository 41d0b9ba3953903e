-- How many seats are bought from the next period on, where these are fewer than the paid ones.
ALTER TABLE "billing_account" ADD COLUMN "next_seats" INTEGER;
ALTER TABLE "billing_operation" DROP CONSTRAINT "billing_operation_kind_check";
ALTER TABLE "billing_operation" ADD CONSTRAINT "billing_operation_kind_check"
  CHECK ("kind" IN ('customer', 'checkout', 'expire', 'upgrade', 'downgrade', 'cancel', 'resume'));
