import { createHash } from "node:crypto";
import { LIMITS } from "../../../limits.js";
import { RateLimited } from "../../../operation/budget.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Context } from "../../../operation/context.js";
import { mailboxOf } from "../../access/index.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const { perRecipient, perInviter, waitStepSeconds } = LIMITS.invitations;

/** Says the same whichever limit was met, so that it tells as little as it can of what others sent to the address. */
export class TooManyInvitations extends RateLimited {
  static override readonly example = new TooManyInvitations(900);
  override readonly reason = "too_many_invitations";

  constructor(retryAfterSeconds: number) {
    super(retryAfterSeconds);
    this.message =
      `A person sends at most ${perInviter.day} invitations a day, and at most ${perRecipient.hour} an hour and ` +
      `${perRecipient.day} a day go to one address, whoever sends them. Try again in ${retryAfterSeconds} s.`;
  }
}

/**
 * Counts an invitation for the sender and the recipient, in the transaction that makes it. The count stays for a day,
 * even if the invitation, the team or the sender's account is deleted.
 * @throws TooManyInvitations when either has had as many as there may be.
 */
export async function countInvitation(context: Context, email: string): Promise<void> {
  await take(context, `inviter\n${mailboxOf(context.caller.email)}`, { ...perInviter, stepSeconds: 1 });
  await take(context, `recipient\n${mailboxOf(email)}`, { ...perRecipient, stepSeconds: waitStepSeconds });
}

interface Allowance {
  readonly hour: number;
  readonly day: number;
  readonly stepSeconds: number;
}

/** The limit holds for any 60 minutes and any 24 hours, not only for those of the clock. */
async function take({ database }: Context, who: string, { hour, day, stepSeconds }: Allowance): Promise<void> {
  const subject = new Uint8Array(createHash("sha256").update(who).digest());
  const now = await timeOf(database);
  // Written before it is read: whoever counts for the same person waits here until this transaction ends.
  const { sentAt } = await database.models.invitationAllowance.upsert({
    where: { subject },
    create: { subject, sentAt: [], lastSentAt: now },
    update: { lastSentAt: now },
  });
  const newestFirst = sentAt.map((time) => time.getTime()).sort((one, other) => other - one);
  const freeFrom = (count: number, ms: number): number => (newestFirst[count - 1] ?? -Infinity) + ms;
  const waitMs = Math.max(freeFrom(hour, HOUR_MS), freeFrom(day, DAY_MS)) - now.getTime();
  if (waitMs > 0) {
    // Rounded up, so that it does not tell to the second when somebody else invited this address.
    throw new TooManyInvitations(Math.ceil(waitMs / 1_000 / stepSeconds) * stepSeconds);
  }
  const ofToday = newestFirst.filter((time) => time > now.getTime() - DAY_MS).map((time) => new Date(time));
  await database.models.invitationAllowance.update({ where: { subject }, data: { sentAt: [...ofToday, now] } });
}
