import { forgetOldest, forgetStatement, isPast } from "../../operation/forget-statement.js";
import { ENDED_SQL } from "./account.js";

export const forgetEvents = forgetOldest("payment_event", "received_at");

/** Requests with an outcome. */
export const forgetRequests = forgetStatement(
  "closed",
  "billing_operation",
  `outcome IS NOT NULL AND ${isPast("created_at")} ORDER BY created_at`,
);

/**
 * Accounts of deleted teams. One stays while requests are stored, a subscription is live, somebody holds its lock, or
 * it was read from the provider lately: events of its customer could still tell of a payment.
 */
export const forgetAccounts = forgetStatement(
  "abandoned",
  "billing_account",
  `status IN (${ENDED_SQL}) AND (customer_id IS NULL OR ${isPast("mirrored_at")})
          AND (locked_until IS NULL OR locked_until < now())
          AND NOT EXISTS (SELECT FROM team WHERE team.id = billing_account.team_id)
          AND NOT EXISTS (SELECT FROM billing_operation o WHERE o.team_id = billing_account.team_id)`,
);
