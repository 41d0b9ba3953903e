import { LIMITS } from "../../limits.js";
import { forgetStatement, isPast } from "../../operation/forget-statement.js";
import { defineStatement, oneOf, type RowOf } from "../../platform/database/statement.js";

/** Whether somebody still waits for the mail. A code that was requested longer ago would have expired. */
const STILL_HELPS = `(kind <> 'sign_up' OR created_at > now() - interval '${LIMITS.signUp.codeMinutes} minutes')`;

const { batch, codesOfBatch, sendMs, retrySeconds } = LIMITS.mails;
/** The kinds that this version can send. The mails of a newer one, which shares the database, are left to it. */
type Kind = keyof typeof retrySeconds;
const IS_OTHER = `kind IN (${Object.keys(retrySeconds)
  .filter((kind) => kind !== "sign_up")
  .map((kind) => `'${kind}'`)
  .join(", ")})`;

/** How long a process may take to send a claimed mail; after that, another process may claim it. */
export const CLAIM_MS = 2 * sendMs;
/** No mail waits longer, unless it was put off while the database's clock was ahead. */
const LONGEST_WAIT_MS = Math.max(CLAIM_MS, ...Object.values(retrySeconds).map((s) => s * 1_000)) + LIMITS.clock.aheadMs;
const IS_PUT_OFF_TOO_FAR = `due_at > now() + interval '${LONGEST_WAIT_MS} ms'`;

/** Selects the mails that are due first, of some. By this order PostgreSQL uses the index, also without statistics. */
const firstOf = (condition: string, limit: string): string =>
  `SELECT id FROM mail WHERE ${condition} ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`;

/** A time is stored in milliseconds, so it may have been rounded up. */
const IS_DUE = "due_at < now() + interval '1 ms'";

/** A mail to a team's owner is addressed when it is claimed: since it was queued, the owner may have changed. */
const ADDRESS = `coalesce((SELECT u.email FROM team t JOIN user_account u ON u.id = t.owner_id
        WHERE t.id = mail.team_id), mail.email)`;

/**
 * Claims the mails to send now. Claims are committed before any mail is sent, so that two processes never send the same
 * one, and no connection to the database waits for a mail server. Codes come first, up to `codesOfBatch`: people wait
 * for them, and after an outage of the mail server many other mails are due. A mail that was put off too far becomes
 * due in `CLAIM_MS`, when a process that may be sending it has ended.
 *
 * SQL for `SKIP LOCKED`: a model would wait for rows that another process is claiming. `ANY` makes PostgreSQL look up
 * the mails by their ids: without statistics it joined all waiting ones.
 */
export const claimDueMails = defineStatement({
  name: "claim_due_mails",
  values: {},
  row: {
    id: "uuid",
    kind: oneOf<Kind>(),
    email: "text",
    invitationId: "uuid?",
    attempts: "int4",
    // When the claim ends. It tells this claim from any later one.
    dueAt: "timestamptz",
    helps: "bool",
    subject: "text?",
    body: "text?",
  },
  text: `
    WITH codes AS (${firstOf(`kind = 'sign_up' AND ${IS_DUE}`, `${codesOfBatch}`)}),
      others AS (${firstOf(`${IS_OTHER} AND ${IS_DUE}`, `${batch} - (SELECT count(*) FROM codes)`)}),
      astray AS (UPDATE mail SET due_at = now() + interval '${CLAIM_MS} ms'
        WHERE id = ANY(ARRAY(${firstOf(IS_PUT_OFF_TOO_FAR, `${batch}`)})))
    UPDATE mail SET due_at = now() + interval '${CLAIM_MS} ms', attempts = attempts + 1, last_error = NULL,
      email = ${ADDRESS}
    WHERE id = ANY(ARRAY(SELECT id FROM codes UNION ALL SELECT id FROM others))
    RETURNING id, kind, email, invitation_id AS "invitationId", attempts, due_at AS "dueAt", subject, body,
      ${STILL_HELPS} AS helps`,
});

export type ClaimedMail = RowOf<typeof claimDueMails>;

/** Deletes mails that are too old, or whose code or invitation is no longer valid, with or without a mail server. */
export const forgetMails = forgetStatement(
  "useless",
  "mail",
  `${isPast("created_at")} OR NOT ${STILL_HELPS}
    OR EXISTS (SELECT FROM invitation i WHERE i.id = mail.invitation_id
      AND (i.status <> 'pending' OR i.expires_at <= now()))`,
);
