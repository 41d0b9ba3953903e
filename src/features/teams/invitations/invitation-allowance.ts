import { DAY_MS } from "../../../durations.js";
import { LIMITS } from "../../../limits.js";
import { RateLimited } from "../../../operation/budget.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Context } from "../../../operation/context.js";
import { mailboxOf } from "../../../operation/mailbox.js";
import { sha256 } from "../../../operation/sha256.js";
import {
  type Allowance,
  type UseLimit,
  describeLimits,
  isAgeOfUse,
  secondsUntilAllowed,
} from "../../../operation/use-limit.js";

const { perRecipient, perInviter, mailsByLink, waitStepSeconds } = LIMITS.invitations;

const counted = (allowances: readonly Allowance[], name: string, of: string): UseLimit[] =>
  allowances.map((one) => ({ ...one, name, of, by: "handler" }));

const TO_ONE_ADDRESS = counted(perRecipient, "invited", "invitations to one address from all users");

/** Counted in the transaction that creates the invitation. */
export const INVITATION_LIMITS: readonly UseLimit[] = [
  ...counted(perInviter, "inviter", "invitations of one user"),
  ...TO_ONE_ADDRESS,
];

/** Counted in the transaction that queues the mail. The inviter's own invitations are not charged for it. */
export const LINK_LIMITS: readonly UseLimit[] = [
  ...counted(mailsByLink, "link", "mails of one invitation by its link"),
  ...counted(perInviter, "inviter-links", "mails by the links of one user's invitations"),
  ...TO_ONE_ADDRESS,
];

/** The message is the same for every limit, so it reveals little about invitations of others to the address. */
export class TooManyInvitations extends RateLimited {
  static override readonly example = new TooManyInvitations(900);
  override readonly reason = "too_many_invitations";

  constructor(retryAfterSeconds: number) {
    super(retryAfterSeconds, describeLimits(INVITATION_LIMITS));
  }
}

/** The same for mails that are requested by the link of an invitation. */
export class TooManyMails extends RateLimited {
  static override readonly example = new TooManyMails(900);
  override readonly reason = "too_many_mails";

  constructor(retryAfterSeconds: number) {
    super(retryAfterSeconds, describeLimits(LINK_LIMITS));
  }
}

/**
 * Counts an invitation for the sender and the recipient, in the transaction that creates it. The count stays for a day,
 * even if the invitation, the team or the sender's account is deleted.
 * @throws TooManyInvitations when either has reached a limit.
 */
export async function countInvitation(context: Context, email: string): Promise<void> {
  const inviter = { who: `inviter\n${mailboxOf(context.caller.email)}`, allowances: perInviter };
  await countFor(context, TooManyInvitations, [inviter, recipient(email)]);
}

/**
 * Counts a mail that somebody requests by an invitation's link: for the invitation, for all links of its inviter, and
 * for the recipient. The inviter may still invite as many.
 * @throws TooManyMails when one of them has reached a limit.
 */
export async function countMailByLink(
  context: Context,
  { id, email, invitedBy }: { readonly id: string; readonly email: string; readonly invitedBy: string },
): Promise<void> {
  const link = { who: `link\n${id}`, allowances: mailsByLink, stepSeconds: waitStepSeconds };
  const links = { who: `links\n${invitedBy}`, allowances: perInviter, stepSeconds: waitStepSeconds };
  await countFor(context, TooManyMails, [link, links, recipient(email)]);
}

/** Last among those that are counted together, so that two transactions cannot wait for each other. */
const recipient = (email: string): Counted => ({
  who: `recipient\n${mailboxOf(email)}`,
  allowances: perRecipient,
  stepSeconds: waitStepSeconds,
});

interface Counted {
  readonly who: string;
  readonly allowances: readonly Allowance[];
  /** Waits are rounded up to this, so that they do not reveal exactly what other people did; 1 unless given. */
  readonly stepSeconds?: number;
}

async function countFor(
  { database }: Context,
  Refusal: typeof TooManyInvitations | typeof TooManyMails,
  subjects: readonly Counted[],
): Promise<void> {
  const now = await timeOf(database);
  for (const { who, allowances, stepSeconds = 1 } of subjects) {
    const subject = sha256(who);
    // Writes before it reads: another transaction that counts for the same person waits here until this one ends.
    const { sentAt } = await database.models.invitationAllowance.upsert({
      where: { subject },
      create: { subject, sentAt: [], lastSentAt: now },
      update: { lastSentAt: now },
    });
    const ages = sentAt.map((time) => now.getTime() - time.getTime());
    const waits = await Promise.all(allowances.map((allowance) => secondsUntilAllowed(allowance, async () => ages)));
    const seconds = Math.max(...waits);
    if (seconds > 0) throw new Refusal(Math.ceil(seconds / stepSeconds) * stepSeconds);
    const ofToday = sentAt.filter((time) => isOfToday(now.getTime() - time.getTime()));
    await database.models.invitationAllowance.update({ where: { subject }, data: { sentAt: [...ofToday, now] } });
  }
}

const isOfToday = (ageMs: number): boolean => ageMs < DAY_MS && isAgeOfUse(ageMs);
