import { LIMITS } from "../../limits.js";
import { forgetStatement, isPast } from "../../operation/forget-statement.js";
import { defineStatement, oneOf } from "../../platform/statement.js";
import type { RowOf } from "../../platform/statement.js";
import { SEND_TIMEOUT_MS } from "../../platform/mailer.js";
import { CODE_MINUTES } from "../access/index.js";

/** A code that was asked for longer ago would have ended by now, so nobody waits for it. */
const STILL_HELPS = `(kind <> 'sign_up' OR created_at > now() - interval '${CODE_MINUTES} minutes')`;

/** Whoever claims a mail has this long; then it counts as lost with its server, and another may send it. */
const CLAIM_S = (3 * SEND_TIMEOUT_MS) / 1_000;

/**
 * Claims are committed before any mail is sent, so that two servers never send the same one, and no connection to the
 * database waits for a mail server. An error that stands there means: waits to be tried again. SQL, because a model
 * would wait for the rows that another server is claiming.
 */
export const claimDueMails = defineStatement({
  name: "claim_due_mails",
  values: {},
  row: {
    id: "uuid",
    kind: oneOf<"invitation" | "sign_up">(),
    email: "text",
    invitationId: "uuid?",
    attempts: "int4",
    helps: "bool",
  },
  text: `
    UPDATE mail SET due_at = now() + interval '${CLAIM_S} seconds', attempts = attempts + 1, last_error = NULL
    WHERE id IN (SELECT id FROM mail WHERE due_at <= now() ORDER BY due_at LIMIT ${LIMITS.mails.batch}
      FOR UPDATE SKIP LOCKED)
    RETURNING id, kind, email, invitation_id AS "invitationId", attempts, ${STILL_HELPS} AS helps`,
});

export type ClaimedMail = RowOf<typeof claimDueMails>;

/** Finds what can no longer help, by itself or for its age, whether a mail server is configured or not. */
export const forgetMails = forgetStatement(
  "mail",
  `${isPast("created_at")} OR NOT ${STILL_HELPS}
    OR EXISTS (SELECT FROM invitation i WHERE i.id = mail.invitation_id
      AND (i.status <> 'pending' OR i.expires_at <= now()))`,
  "useless",
);
