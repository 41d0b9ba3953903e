import { createHash } from "node:crypto";
import { LIMITS } from "../../../limits.js";
import { RateLimited } from "../../../operation/budget.js";
import type { Context } from "../../../operation/context.js";
import type { Statement } from "../../../platform/database.js";
import { mailboxOf } from "../../access/index.js";

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
 * Takes one from the allowance if there is any left, in a single statement, which waits for others on the same row. The
 * limit holds for any 60 minutes and any 24 hours, not only for those of the clock.
 */
const takeAllowance: Statement = {
  name: "take_invitation_allowance",
  text: `
    INSERT INTO invitation_allowance AS a (subject, sent_at, last_sent_at) VALUES ($1, ARRAY[now()], now())
    ON CONFLICT (subject) DO UPDATE SET
      sent_at = ARRAY(SELECT sent FROM unnest(a.sent_at) sent WHERE sent > now() - interval '1 day') || now(),
      last_sent_at = now()
    WHERE (SELECT count(*) FILTER (WHERE sent > now() - interval '1 hour') < $2::int AND count(*) < $3::int
      FROM unnest(a.sent_at) sent WHERE sent > now() - interval '1 day')
    RETURNING subject`,
};

const waitForAllowance: Statement = {
  name: "wait_for_invitation_allowance",
  text: `
    SELECT ceil(extract(epoch FROM greatest(
      (SELECT sent + interval '1 hour' FROM unnest(sent_at) sent ORDER BY sent DESC OFFSET $2::int - 1 LIMIT 1),
      (SELECT sent + interval '1 day' FROM unnest(sent_at) sent ORDER BY sent DESC OFFSET $3::int - 1 LIMIT 1)
    ) - now()))::int AS seconds FROM invitation_allowance WHERE subject = $1`,
};

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

async function take({ database }: Context, subject: string, { hour, day, stepSeconds }: Allowance): Promise<void> {
  const values = [createHash("sha256").update(subject).digest(), hour, day];
  if ((await database.run(takeAllowance, values)).length > 0) return;
  const [wait] = await database.run<{ seconds: number }>(waitForAllowance, values);
  // Rounded up, so that it does not tell to the second when somebody else invited this address.
  throw new TooManyInvitations(Math.max(1, Math.ceil((wait?.seconds ?? 1) / stepSeconds)) * stepSeconds);
}
