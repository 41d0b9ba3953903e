-- The customer at the payment provider gets the address of the team's owner, if it still has that of a former one. Here
-- are hashes of the addresses that owners had since the customer was last compared; empty if it need not be.
ALTER TABLE "billing_account" ADD COLUMN "former_payers" TEXT[] NOT NULL DEFAULT '{}';
ALTER TABLE "billing_operation" DROP CONSTRAINT "billing_operation_kind_check";
ALTER TABLE "billing_operation" ADD CONSTRAINT "billing_operation_kind_check"
  CHECK ("kind" IN ('customer', 'checkout', 'expire', 'upgrade', 'downgrade', 'cancel', 'resume', 'payer'));

-- Until now no customer was told of a new owner, or of an owner's new address: these are known by the audit.
WITH past_owner AS (
  SELECT t."id" AS "team_id", t."owner_id" AS "user_id" FROM "team" t
  UNION
  SELECT "team_id", "actor_id" FROM "audit_entry" WHERE "action" = 'transferTeam'
), past_address AS (
  SELECT o."team_id", u."email" FROM past_owner o JOIN "user_account" u ON u."id" = o."user_id"
  UNION
  SELECT o."team_id", a."detail" FROM past_owner o JOIN "audit_entry" a
    ON a."action" = 'changeEmail' AND a."subject" = o."user_id"::text AND a."detail" IS NOT NULL
), hashed AS (
  SELECT "team_id", array_agg(encode(sha256(convert_to("email", 'UTF8')), 'hex')) AS "hashes"
  FROM past_address GROUP BY "team_id" HAVING count(*) > 1
)
UPDATE "billing_account" b SET "former_payers" = h."hashes"
FROM hashed h WHERE h."team_id" = b."team_id" AND b."customer_id" IS NOT NULL;
