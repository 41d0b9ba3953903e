-- How often the subscription is charged, in Stripe's word: month or year. Filled in when the copy is next refreshed.
ALTER TABLE "billing_account" ADD COLUMN "interval" TEXT;
