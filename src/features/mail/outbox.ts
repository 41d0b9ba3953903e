import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import { forget, forgetStatement } from "../../operation/retention.js";
import type { Database, Statement } from "../../platform/database.js";
import { type Mailer, SEND_TIMEOUT_MS } from "../../platform/mailer.js";
import { CODE_MINUTES, newSignUpCode } from "../access/index.js";
import { newInvitationToken } from "../teams/index.js";
import { invitationMail } from "./invitation-mail.js";
import type { Letter } from "./letter.js";
import { signUpMail } from "./sign-up-mail.js";

/** What sending needs besides the rows. */
export interface Outbox extends Pick<Services, "database" | "log" | "publicUrl"> {
  readonly mailer: Mailer;
}

interface MailRow {
  readonly id: string;
  readonly kind: "invitation" | "sign_up";
  readonly email: string;
  readonly invitation_id: string | null;
  readonly attempts: number;
  readonly helps: boolean;
}

/** A code that was asked for longer ago would have ended by now, so nobody waits for it. */
const STILL_HELPS = `(kind <> 'sign_up' OR created_at > now() - interval '${CODE_MINUTES} minutes')`;

const { batch, givenUpAfterHours, retrySeconds } = LIMITS.mails;
/** Whoever claims a mail has this long; then it counts as lost with its server, and another may send it. */
const CLAIM_S = (3 * SEND_TIMEOUT_MS) / 1_000;
const ERROR_MAX_LENGTH = 500;

/**
 * Claims are committed before any mail is sent, so that two servers never send the same one, and no connection to the
 * database waits for a mail server. An error that stands there means: waits to be tried again.
 */
const claimDueMails: Statement = {
  name: "claim_due_mails",
  text: `
    UPDATE mail SET due_at = now() + interval '${CLAIM_S} seconds', attempts = attempts + 1, last_error = NULL
    WHERE id IN (SELECT id FROM mail WHERE due_at <= now() ORDER BY due_at LIMIT ${batch} FOR UPDATE SKIP LOCKED)
    RETURNING id, kind, email, invitation_id, attempts, ${STILL_HELPS} AS helps`,
};

const deleteMail: Statement = { name: "delete_mail", text: "DELETE FROM mail WHERE id = $1::uuid RETURNING id" };

/** Waits 5 s after the first failure and twice as long after each further one; no longer than a minute with a code. */
const postponeMail: Statement = {
  name: "postpone_mail",
  text: `
    UPDATE mail SET last_error = $2, due_at = now() + interval '1 second' * least(5 * 2 ^ (attempts - 1),
      CASE kind WHEN 'sign_up' THEN ${retrySeconds.sign_up} ELSE ${retrySeconds.invitation} END)
    WHERE id = $1::uuid AND created_at > now() - interval '${givenUpAfterHours} hours' AND ${STILL_HELPS} RETURNING id`,
};

/** Sends up to a batch of mails that are due; answers with whether there may be more. */
export async function sendDueMails(outbox: Outbox): Promise<boolean> {
  const claimed = await outbox.database.run<MailRow>(claimDueMails, []);
  const outcomes = await Promise.allSettled(claimed.map((mail) => deliver(outbox, mail)));
  // Only after all have ended: a server that stops waits for this, and must not close the database before.
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return claimed.length === batch;
}

async function deliver(outbox: Outbox, mail: MailRow): Promise<void> {
  const { database, mailer } = outbox;
  const letter = await letterFor(outbox, mail);
  try {
    if (letter) await mailer.send({ ...letter, id: mail.id, to: mail.email });
  } catch (error) {
    return postpone(outbox, mail, error);
  }
  await database.run(deleteMail, [mail.id]);
}

/** Its secret is made now, so that it stands in the mail alone. Null for a mail that nobody needs any more. */
async function letterFor({ database, publicUrl }: Outbox, mail: MailRow): Promise<Letter | null> {
  if (!mail.helps) return null;
  if (mail.invitation_id !== null) {
    const invitation = await newInvitationToken(database, mail.invitation_id);
    return invitation && invitationMail(invitation, publicUrl());
  }
  const code = await newSignUpCode(database, mail.email, mail.id);
  return code === null ? null : signUpMail(code);
}

async function postpone({ database, log }: Outbox, mail: MailRow, error: unknown): Promise<void> {
  const { id, kind, email, attempts } = mail;
  const reason = error instanceof Error ? error.message : String(error);
  const [postponed] = await database.run(postponeMail, [id, reason.slice(0, ERROR_MAX_LENGTH)]);
  // Mail servers like to repeat the address in what they say, so the log has their codes alone.
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  const facts = { mail_id: id, kind, domain: email.slice(email.lastIndexOf("@") + 1), attempts, code, responseCode };
  if (postponed)
    return log.warn(facts, "a mail could not be sent; it is tried again (`npm run mail -- list` says why)");
  await database.run(deleteMail, [id]);
  log.error(facts, "a mail could not be sent for so long that it is given up");
}

/** Tells what can no longer help, by itself or for its age, whether a mail server is configured or not. */
const forgetMails = forgetStatement(
  "mail",
  `created_at <= now() - make_interval(days => $1::int) OR NOT ${STILL_HELPS}
    OR EXISTS (SELECT FROM invitation i WHERE i.id = mail.invitation_id
      AND (i.status <> 'pending' OR i.expires_at <= now()))`,
  "useless",
);

/** Deletes a batch of mails that wait and need not be sent; answers with whether there may be more. */
export const forgetUselessMails = (database: Database, keptDays: number): Promise<boolean> =>
  forget(database, forgetMails, [keptDays]);
