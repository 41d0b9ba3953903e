import { HOUR_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import { timeOf } from "../../operation/clock-statement.js";
import type { Services } from "../../operation/context.js";
import type { Database } from "../../platform/database/database.js";
import type { Mailer } from "../../platform/mailer.js";
import { measureOutgoing } from "../../platform/telemetry/meter.js";
import { isWarningDue, warnSeldom } from "../../platform/telemetry/warn-seldom.js";
import { newSignUpCode } from "../access/index.js";
import { type Bounce, markBounced, newInvitationToken } from "../teams/index.js";
import { invitationMail } from "./invitation-mail.js";
import type { Letter } from "./letter.js";
import { CLAIM_MS, type ClaimedMail, claimDueMails } from "./mail-statements.js";
import { noticeMail } from "./notice-mail.js";
import { signUpMail } from "./sign-up-mail.js";

/** The services that sending needs. */
export interface Outbox extends Pick<Services, "database" | "log" | "meter" | "newId" | "publicUrl"> {
  readonly mailer: Mailer;
}

const { codesOfBatch, givenUpAfterHours, retrySeconds } = LIMITS.mails;
const ERROR_MAX_LENGTH = 500;

/** Sends a batch of due mails; returns whether there may be more. */
export async function sendDueMails(outbox: Outbox): Promise<boolean> {
  const claimed = await outbox.database.run(claimDueMails, {});
  const outcomes = await Promise.allSettled(claimed.map((mail) => deliver(outbox, mail)));
  // Throws only after all have ended: a stopping server waits for this function before it closes the database.
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return claimed.length >= codesOfBatch;
}

async function deliver(outbox: Outbox, claimed: ClaimedMail): Promise<void> {
  const { database, log, mailer, meter } = outbox;
  const letter = await writeLetter(outbox, claimed);
  const mail = letter ? await renewClaim(database, claimed) : claimed;
  if (!mail) return;
  const { id, kind, email, attempts } = mail;
  try {
    if (letter) {
      await measureOutgoing(meter, "mail", () => mailer.send({ ...letter, id, to: email }));
      meter?.mail("sent");
      log.info({ mail_id: id, kind, domain: domainOf(email), attempts }, "a mail was sent");
    }
  } catch (error) {
    return isRefusedForGood(error) ? giveUpRefused(outbox, mail) : postpone(outbox, mail, error);
  }
  await database.models.mail.deleteMany({ where: { id } });
}

/**
 * Extends a claim right before its mail is sent. Null if it was lost: another process has sent the mail, or is about
 * to, since this one was paused for longer than a claim lasts, or the mail was withdrawn or requested again.
 */
async function renewClaim(database: Database, mail: ClaimedMail): Promise<ClaimedMail | null> {
  const dueAt = new Date((await timeOf(database)).getTime() + CLAIM_MS);
  const { count } = await database.models.mail.updateMany({ where: claimOf(mail), data: { dueAt } });
  return count > 0 ? { ...mail, dueAt } : null;
}

/** Selects the mail while it is claimed by this process. */
const claimOf = ({ id, dueAt }: Pick<ClaimedMail, "id" | "dueAt">) => ({ id, dueAt });

/** The statuses that are about the address: RFC 5321, 4.2.3, RFC 7504, and 554, which servers send instead of 550. */
const ADDRESS_REFUSED: readonly unknown[] = [521, 550, 551, 552, 553, 554, 556];
const ENHANCED_STATUS = /(?<![\d.])5\.\d{1,3}\.\d{1,3}(?![\d.])/;
/**
 * RFC 3463: the address of the sender, congestion, a loop, and security or policy, such as a refusal to relay. Gmail
 * says 5.4.5, Zoho and Titan 5.4.6, and Microsoft 365 5.1.90 where an account has sent too much.
 */
const OF_SENDER = /^5\.(?:1\.(?:[78]|90)$|4\.[56]$|7\.)/;
/** So Yandex answers with 5.7.1, and Postfix because of its "relay recipient table"; of a sender, servers call it so. */
const NOBODY_THERE = /no such (?:user|recipient|mailbox)|unknown user|user unknown/i;
/**
 * What is about the sender without such a status, as of Exim's "relay not permitted". Postfix says 5.1.0 of a sender whom
 * it does not know, and IONOS that a mailbox is not available, and to try again later, where an account has sent too much.
 * Not what is said of a full mailbox.
 */
const WORDS_OF_SENDER = [
  /relay|sender|authenticat|spam|policy|reputation|bl(?:ack|ock) ?list/i,
  /(?:sending|mails?|messages?) (?:limit|quota|rate)\b|per (?:minute|hour|day)\b|hourly|daily|try again later/i,
];

/** Whether the mail server refused the address itself, permanently. */
function isRefusedForGood(error: unknown): boolean {
  const { command, responseCode, response } = error as Readonly<Record<string, unknown>>;
  return command === "RCPT TO" && ADDRESS_REFUSED.includes(responseCode) && !isBecauseOfSender(String(response));
}

/** Many servers check the sender only when they know the recipient. The operator can correct what is wrong with it. */
function isBecauseOfSender(response: string): boolean {
  const status = ENHANCED_STATUS.exec(response)?.[0] ?? "";
  // Without addresses of people and pages, which may have such words, too.
  const isWord = (text: string) => !/@|https?:/i.test(text);
  const words = response.split(/\s+/).filter(isWord).join(" ");
  if (NOBODY_THERE.test(words) && !/sender/i.test(words)) return false;
  return OF_SENDER.test(status) || WORDS_OF_SENDER.some((pattern) => pattern.test(words));
}

async function giveUpRefused(outbox: Outbox, mail: ClaimedMail): Promise<void> {
  const { log, meter } = outbox;
  const { id, kind, email } = mail;
  log.warn({ mail_id: id, kind, domain: domainOf(email) }, "a mail server refused an address permanently");
  meter?.mail("refused");
  await deleteGivenUp(outbox, mail, "refused");
}

/**
 * Deletes the mail, unless it was withdrawn meanwhile, or requested again. Marks its invitation, and tells the person
 * who invited. Returns whether it was deleted.
 */
async function deleteGivenUp(outbox: Outbox, mail: ClaimedMail, reason: Bounce): Promise<boolean> {
  return await outbox.database.transaction(async (inner) => {
    const { count } = await inner.models.mail.deleteMany({ where: claimOf(mail) });
    if (count > 0 && mail.invitationId !== null) {
      await markBounced({ ...outbox, database: inner }, mail.invitationId, reason);
    }
    return count > 0;
  });
}

/** Creates the mail's code or token only now, so that it exists only in the mail. Null for a mail that nobody needs. */
async function writeLetter(outbox: Outbox, mail: ClaimedMail): Promise<Letter | null> {
  const { database, publicUrl } = outbox;
  if (!mail.helps) return null;
  switch (mail.kind) {
    case "invitation": {
      const { invitationId } = mail;
      const invitation = invitationId === null ? null : await newInvitationToken(outbox, invitationId);
      return invitation && invitationMail(invitation, publicUrl());
    }
    case "notice":
      return noticeMail({ subject: mail.subject ?? "", body: mail.body ?? "" }, publicUrl());
    case "sign_up": {
      const code = await newSignUpCode(database, mail);
      return code && signUpMail(code);
    }
  }
}

/** 5 s after the first failure, twice as long after each further one, up to the limit for its kind. */
const waitMsOf = ({ kind, attempts }: Pick<ClaimedMail, "kind" | "attempts">): number =>
  1_000 * Math.min(5 * 2 ** (attempts - 1), retrySeconds[kind]);

/**
 * Whether a mail was retried for long enough, by its waits. Its age says nothing: it may have waited for a process that
 * sends, or somebody has just requested it again. A code that would have expired is not sent at all.
 */
function wasRetriedEnough({ kind, attempts }: ClaimedMail): boolean {
  let retriedMs = 0;
  for (let attempt = 1; attempt < attempts; attempt++) retriedMs += waitMsOf({ kind, attempts: attempt });
  return retriedMs >= givenUpAfterHours * HOUR_MS;
}

async function postpone(outbox: Outbox, mail: ClaimedMail, error: unknown): Promise<void> {
  const { database, log, meter } = outbox;
  const { id, kind, email, attempts } = mail;
  const reason = error instanceof Error ? error.message : String(error);
  // PostgreSQL stores no NUL, and a mail server may say anything.
  const lastError = reason.replaceAll("\0", "\uFFFD").slice(0, ERROR_MAX_LENGTH);
  const dueAt = new Date((await timeOf(database)).getTime() + waitMsOf(mail));
  const isGivenUp = wasRetriedEnough(mail);
  // Unless it was withdrawn meanwhile, or requested again: then it is due already, or another process sends it.
  const isStillOurs = isGivenUp
    ? await deleteGivenUp(outbox, mail, "tooLate")
    : (await database.models.mail.updateMany({ where: claimOf(mail), data: { lastError, dueAt } })).count > 0;
  if (!isStillOurs) return;
  // Mail servers often repeat the address in their messages, so only their codes are logged.
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  const facts = { mail_id: id, kind, domain: domainOf(email), attempts, code, responseCode };
  meter?.mail(isGivenUp ? "given_up" : "retried");
  if (!isGivenUp) return warnOfFailure(outbox, facts);
  log.error(facts, "a mail could not be sent for too long and was deleted");
}

/**
 * Logs a failed attempt; each kind of failure at most once a minute as a warning, with how many mails wait: while a mail
 * server is down, every attempt fails in the same way.
 */
async function warnOfFailure({ database, log }: Outbox, facts: MailFacts): Promise<void> {
  const kind = `mail ${String(facts.code)} ${String(facts.responseCode)}`;
  const message = "a mail could not be sent and will be retried (`npm run mail -- list` shows why)";
  const fields = isWarningDue(log, kind) ? { ...facts, waiting: await database.models.mail.count() } : facts;
  if (!warnSeldom(log, kind, fields, message)) log.info(facts, message);
}

interface MailFacts {
  readonly code: unknown;
  readonly responseCode: unknown;
}

const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1);
