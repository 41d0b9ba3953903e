-- What the payment provider says of a team: a copy that is written by one function alone. It outlives its team and so
-- refers to none by key: what the provider still says of a deleted team must be understood.
CREATE TABLE "billing_account" (
    "team_id" UUID NOT NULL,
    "customer_id" TEXT,
    "locked_by" UUID,
    "locked_until" TIMESTAMPTZ(3),
    "checked_at" TIMESTAMPTZ(3),
    "mirrored_at" TIMESTAMPTZ(3),
    "subscription_id" TEXT,
    "item_id" TEXT,
    "status" TEXT NOT NULL DEFAULT 'none',
    "seats" INTEGER,
    "period_start" TIMESTAMPTZ(3),
    "period_end" TIMESTAMPTZ(3),
    "cancel_at_period_end" BOOLEAN NOT NULL DEFAULT false,
    "pending_seats" INTEGER,
    "pending_until" TIMESTAMPTZ(3),
    "hosted_invoice_url" TEXT,
    "checkout_id" TEXT,
    "checkout_url" TEXT,
    "checkout_seats" INTEGER,
    "checkout_expires_at" TIMESTAMPTZ(3),
    "checkout_seen_at" TIMESTAMPTZ(3),

    CONSTRAINT "billing_account_pkey" PRIMARY KEY ("team_id"),
    CONSTRAINT "billing_account_subscribed" CHECK (("subscription_id" IS NULL) = ("status" = 'none'))
);
CREATE UNIQUE INDEX "billing_account_customer_id_key" ON "billing_account"("customer_id");
CREATE INDEX "billing_account_checkout_id_idx" ON "billing_account"("checkout_id");

-- What is asked of the payment provider is written here before, with the key under which it may be asked again: nobody
-- may know what became of it. "request" is JSON, not JSONB: it has to be repeated as it was.
CREATE TABLE "billing_operation" (
    "id" UUID NOT NULL,
    "team_id" UUID NOT NULL,
    "kind" TEXT NOT NULL CHECK ("kind" IN ('customer', 'checkout', 'expire', 'upgrade', 'cancel')),
    "idempotency_key" UUID NOT NULL DEFAULT gen_random_uuid(),
    "request" JSON NOT NULL,
    "actor_id" UUID,
    "key_id" UUID,
    "door" TEXT NOT NULL,
    "asked_under" BYTEA CHECK (length("asked_under") = 32),
    "asked_for" BYTEA CHECK (length("asked_for") = 32),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "outcome" TEXT CHECK ("outcome" IN ('done', 'refused', 'abandoned')),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "billing_operation_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "billing_operation_team_id_fkey" FOREIGN KEY ("team_id") REFERENCES "billing_account"("team_id")
      ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "billing_operation_asked" CHECK (("asked_under" IS NULL) = ("asked_for" IS NULL)),
    CONSTRAINT "billing_operation_ended" CHECK (("outcome" IS NULL) = ("ended_at" IS NULL))
);
-- One at a time: before another is begun, it is known what became of the last.
CREATE UNIQUE INDEX "billing_operation_one_open" ON "billing_operation"("team_id") WHERE "outcome" IS NULL;
CREATE INDEX "billing_operation_team_id_id_idx" ON "billing_operation"("team_id", "id");
CREATE INDEX "billing_operation_created_at_idx" ON "billing_operation"("created_at");

-- What the payment provider has told, each once, and whether it has been acted upon.
CREATE TABLE "payment_event" (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "customer_id" TEXT,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "processed_at" TIMESTAMPTZ(3),

    CONSTRAINT "payment_event_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "payment_event_received_at_idx" ON "payment_event"("received_at");
CREATE INDEX "payment_event_unprocessed" ON "payment_event"("customer_id") WHERE "processed_at" IS NULL;

-- What the service does by itself, such as ending a second subscription, was done by nobody.
ALTER TABLE "audit_entry" ALTER COLUMN "actor_id" DROP NOT NULL;
