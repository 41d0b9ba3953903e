import { LIMITS } from "../../limits.js";
import { timeOf } from "../../operation/clock-statement.js";
import type { Services } from "../../operation/context.js";
import { HOURS_OF_DAY, forget } from "../../operation/retention.js";
import type { Database } from "../../platform/database.js";
import type { Mailer } from "../../platform/mailer.js";
import { CODE_MINUTES, newSignUpCode } from "../access/index.js";
import { newInvitationToken } from "../teams/index.js";
import { invitationMail } from "./invitation-mail.js";
import type { Letter } from "./letter.js";
import { type ClaimedMail, claimDueMails, forgetMails } from "./mail-statements.js";
import { signUpMail } from "./sign-up-mail.js";

/** What sending needs besides the rows. */
export interface Outbox extends Pick<Services, "database" | "log" | "publicUrl"> {
  readonly mailer: Mailer;
}

const { batch, givenUpAfterHours, retrySeconds } = LIMITS.mails;
const ERROR_MAX_LENGTH = 500;

/** Sends up to a batch of mails that are due; answers with whether there may be more. */
export async function sendDueMails(outbox: Outbox): Promise<boolean> {
  const claimed = await outbox.database.run(claimDueMails, {});
  const outcomes = await Promise.allSettled(claimed.map((mail) => deliver(outbox, mail)));
  // Only after all have ended: a server that stops waits for this, and must not close the database before.
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return claimed.length === batch;
}

async function deliver(outbox: Outbox, mail: ClaimedMail): Promise<void> {
  const { database, mailer } = outbox;
  const letter = await letterFor(outbox, mail);
  try {
    if (letter) await mailer.send({ ...letter, id: mail.id, to: mail.email });
  } catch (error) {
    return postpone(outbox, mail, error);
  }
  await database.models.mail.deleteMany({ where: { id: mail.id } });
}

/** Its secret is made now, so that it stands in the mail alone. Null for a mail that nobody needs any more. */
async function letterFor({ database, publicUrl }: Outbox, mail: ClaimedMail): Promise<Letter | null> {
  if (!mail.helps) return null;
  if (mail.invitationId !== null) {
    const invitation = await newInvitationToken(database, mail.invitationId);
    return invitation && invitationMail(invitation, publicUrl());
  }
  const code = await newSignUpCode(database, mail.email, mail.id);
  return code === null ? null : signUpMail(code);
}

/** For how long a mail is tried again: nobody waits for a code that would have ended by now. */
const PATIENCE_MS = {
  invitation: givenUpAfterHours * 3_600_000,
  sign_up: Math.min(givenUpAfterHours * 60, CODE_MINUTES) * 60_000,
} as const;

/** 5 s after the first failure and twice as long after each further one; no longer than a minute with a code. */
const waitMsOf = ({ kind, attempts }: ClaimedMail): number =>
  1_000 * Math.min(5 * 2 ** (attempts - 1), retrySeconds[kind]);

async function postpone({ database, log }: Outbox, mail: ClaimedMail, error: unknown): Promise<void> {
  const { id, kind, email, attempts } = mail;
  const reason = error instanceof Error ? error.message : String(error);
  const time = (await timeOf(database)).getTime();
  const { count: postponed } = await database.models.mail.updateMany({
    where: { id, createdAt: { gt: new Date(time - PATIENCE_MS[kind]) } },
    data: { lastError: reason.slice(0, ERROR_MAX_LENGTH), dueAt: new Date(time + waitMsOf(mail)) },
  });
  // Mail servers like to repeat the address in what they say, so the log has their codes alone.
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  const facts = { mail_id: id, kind, domain: email.slice(email.lastIndexOf("@") + 1), attempts, code, responseCode };
  if (postponed)
    return log.warn(facts, "a mail could not be sent; it is tried again (`npm run mail -- list` says why)");
  await database.models.mail.deleteMany({ where: { id } });
  log.error(facts, "a mail could not be sent for so long that it is given up");
}

/** Deletes a batch of mails that wait and need not be sent; answers with whether there may be more. */
export const forgetUselessMails = (database: Database, keptDays: number): Promise<boolean> =>
  forget(database, forgetMails, keptDays * HOURS_OF_DAY);
