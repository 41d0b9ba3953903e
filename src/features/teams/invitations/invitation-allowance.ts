import { createHash } from "node:crypto";
import { LIMITS } from "../../../limits.js";
import { RateLimited } from "../../../operation/budget.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Context } from "../../../operation/context.js";
import { type Allowance, type UseLimit, describeLimits, secondsUntilAllowed } from "../../../operation/use-limit.js";
import { mailboxOf } from "../../access/index.js";

const DAY_MS = 86_400_000;
const { perRecipient, perInviter, waitStepSeconds } = LIMITS.invitations;

/** Counted in the transaction that creates the invitation. */
export const INVITATION_LIMITS: readonly UseLimit[] = [
  ...perInviter.map((one) => ({ ...one, name: "inviter", of: "invitations of one user", by: "handler" as const })),
  ...perRecipient.map((one) => ({
    ...one,
    name: "invited",
    of: "invitations to one address from all users",
    by: "handler" as const,
  })),
];

/** The message is the same for every limit, so it reveals little about invitations of others to the address. */
export class TooManyInvitations extends RateLimited {
  static override readonly example = new TooManyInvitations(900);
  override readonly reason = "too_many_invitations";

  constructor(retryAfterSeconds: number) {
    super(retryAfterSeconds, describeLimits(INVITATION_LIMITS));
  }
}

/**
 * Counts an invitation for the sender and the recipient, in the transaction that creates it. The count stays for a day,
 * even if the invitation, the team or the sender's account is deleted.
 * @throws TooManyInvitations when either has reached a limit.
 */
export async function countInvitation(context: Context, email: string): Promise<void> {
  await countFor(context, `inviter\n${mailboxOf(context.caller.email)}`, perInviter, 1);
  await countFor(context, `recipient\n${mailboxOf(email)}`, perRecipient, waitStepSeconds);
}

/** Rounds waits up to steps, so that they do not reveal exactly when somebody else invited this address. */
async function countFor(
  { database }: Context,
  who: string,
  allowances: readonly Allowance[],
  stepSeconds: number,
): Promise<void> {
  const subject = new Uint8Array(createHash("sha256").update(who).digest());
  const now = await timeOf(database);
  // Writes before it reads: another transaction that counts for the same person waits here until this one ends.
  const { sentAt } = await database.models.invitationAllowance.upsert({
    where: { subject },
    create: { subject, sentAt: [], lastSentAt: now },
    update: { lastSentAt: now },
  });
  const ages = sentAt.map((time) => now.getTime() - time.getTime());
  const waits = await Promise.all(allowances.map((allowance) => secondsUntilAllowed(allowance, async () => ages)));
  const seconds = Math.max(...waits);
  if (seconds > 0) throw new TooManyInvitations(Math.ceil(seconds / stepSeconds) * stepSeconds);
  const ofToday = sentAt.filter((time) => now.getTime() - time.getTime() < DAY_MS);
  await database.models.invitationAllowance.update({ where: { subject }, data: { sentAt: [...ofToday, now] } });
}
