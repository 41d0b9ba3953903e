import { defineStatement } from "../../platform/database/statement.js";
import { LIMITS } from "../../limits.js";
import { ENDED_SQL, REFUSED } from "./account.js";
import { LEASE_MS } from "./lock.js";

/** A later time is of a clock that was ahead, and counts as nothing: otherwise an account would wait for it. */
const AHEAD = `now() + interval '${LIMITS.clock.aheadMs} ms'`;
const LEASE = `interval '${LEASE_MS} ms'`;

/**
 * Claims the account that was checked longest ago, of those that are due: a request has no outcome, a time has passed
 * at which the subscription changes or its grace period ends, the team has another owner, an event could not be
 * processed, or a checkout may be paid without an event. The period of a paused subscription never ends. Stores the time
 * of the check first, so that an account that fails does not block the others. SQL, because it claims a row with SKIP
 * LOCKED, and joins tables without foreign keys.
 */
export const claimDueAccount = defineStatement({
  name: "claim_due_billing_account",
  values: {},
  // `now` is by the database's clock.
  row: { teamId: "uuid", customerId: "text?", now: "timestamptz" },
  text: `
    UPDATE billing_account SET checked_at = now() WHERE team_id = (
      SELECT b.team_id FROM billing_account b
      CROSS JOIN LATERAL (SELECT b.status NOT IN (${ENDED_SQL}) AS is_live,
        CASE WHEN b.checked_at <= ${AHEAD} THEN b.checked_at END AS checked_at) s
      CROSS JOIN LATERAL (SELECT CASE
        WHEN b.customer_id IS NOT NULL AND b.mirrored_at IS NULL THEN interval '15 seconds'
        WHEN EXISTS (SELECT FROM billing_operation o WHERE o.team_id = b.team_id AND o.outcome IS NULL
          AND o.created_at NOT BETWEEN now() - interval '15 seconds' AND ${AHEAD}) THEN interval '15 seconds'
        WHEN s.is_live AND b.status <> 'paused'
          AND least(b.period_end, b.pending_until, b.cancel_at) <= now() THEN interval '1 minute'
        WHEN b.grace_until <= now() AND NOT b.grace_is_over THEN interval '1 minute'
        WHEN b.former_payers <> '{}' AND '${REFUSED}' <> ALL (b.former_payers) THEN interval '1 minute'
        WHEN s.is_live AND NOT EXISTS (SELECT FROM team t WHERE t.id = b.team_id) THEN interval '1 minute'
        WHEN EXISTS (SELECT FROM payment_event e WHERE e.customer_id = b.customer_id AND e.processed_at IS NULL
          AND e.received_at NOT BETWEEN now() - interval '15 seconds' AND ${AHEAD}) THEN interval '30 seconds'
        WHEN b.checkout_url IS NOT NULL THEN interval '5 minutes'
        WHEN s.is_live THEN interval '1 day'
      END AS every) due
      WHERE coalesce(s.checked_at, '-infinity') < now() - due.every
        AND (b.locked_until IS NULL OR b.locked_until NOT BETWEEN now() AND ${AHEAD} + ${LEASE})
      ORDER BY s.checked_at NULLS FIRST LIMIT 1 FOR UPDATE OF b SKIP LOCKED
    ) RETURNING team_id AS "teamId", customer_id AS "customerId", clock_timestamp() AS now`,
});
