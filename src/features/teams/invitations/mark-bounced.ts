import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { Services } from "../../../operation/context.js";
import { queueNotice } from "../../../operation/notice.js";
import { ACCOUNT_PATH } from "../../../operation/product.js";

/** What the inviter is told of the mail to this address, by why it is given up. */
const REASONS = {
  refused: (email: string) => `The mail server of ${email} accepts no mail for this address`,
  tooLate: (email: string) => `For ${LIMITS.mails.givenUpAfterHours} hours no mail server took the mail to ${email}`,
};

/** Why the mail of an invitation is given up. */
export type Bounce = keyof typeof REASONS;

/**
 * Marks a pending invitation whose mail is given up, and tells the inviter: once, until the inviter sends it again, also
 * if it is requested by its link.
 */
export async function markBounced(
  { database, newId, publicUrl }: Pick<Services, "database" | "newId" | "publicUrl">,
  id: string,
  reason: Bounce,
): Promise<void> {
  const { models } = database;
  const [bounced] = await models.invitation.updateManyAndReturn({
    where: { id, status: "pending", bouncedAt: null },
    data: { bouncedAt: await timeOf(database) },
    select: { email: true, invitedBy: true },
  });
  const inviter = bounced && (await models.user.findUnique({ where: { id: bounced.invitedBy } }));
  if (!inviter) return;
  await queueNotice(database, {
    id: newId(),
    email: inviter.email,
    subject: `Your invitation to ${bounced.email} could not be delivered`,
    body: `${REASONS[reason](bounced.email)}, so your invitation did not arrive.

If the address is wrong, revoke the invitation and invite the right one. If it is right, send the mail again, here:

${publicUrl()}${ACCOUNT_PATH}`,
  });
}
