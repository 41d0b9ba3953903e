import { InputType } from "type-graphql";
import { LIMITS } from "../../../limits.js";
import { timeOf } from "../../../operation/clock-statement.js";
import { IdField } from "../../../operation/id.js";
import { lockRow } from "../../../operation/lock-row-statement.js";
import { defineOperation } from "../../../operation/operation.js";
import { LINK_LIMITS, TooManyMails, countMailByLink } from "./invitation-allowance.js";
import { INVITATION_EXAMPLE, InvitationNotFound, InvitationNotPending } from "./invitation.js";
import { findLinkedInvitation } from "./invitation-by-id.js";
import { mailAgain } from "./mail-again.js";
import { SHOWN_EXAMPLE, ShownInvitation } from "./shown-invitation.js";

@InputType({ description: "The invitation to mail." })
export class MailInvitationInput {
  @IdField("The invitation's id, at the end of its link.")
  invitationId!: string;
}

export const mailInvitation = defineOperation({
  name: "mailInvitation",
  effect: "transaction",
  summary: "Sends the mail of a pending invitation again, for anybody who has its link.",
  notes:
    "It goes to the invited address only, with a new token; earlier tokens keep working. Unlike `resendInvitation` it " +
    "does not change until when the invitation can be answered.",
  input: MailInvitationInput,
  output: ShownInvitation,
  permission: "public",
  failures: [InvitationNotFound, InvitationNotPending, TooManyMails],
  limits: [
    {
      ...LIMITS.invitations.mailsPerNetwork,
      name: "mailed-invitations",
      of: "mails of invitations for one network",
      by: "network",
    },
    ...LINK_LIMITS,
  ],
  rest: { method: "POST", path: "/teams/invitations/by-id/:invitation_id/mail", status: 202 },
  example: { input: { invitationId: INVITATION_EXAMPLE.id }, output: SHOWN_EXAMPLE },
  audit: { none: "Nobody is known to have done it, and the invitation stays as it was." },
  async handle(context, { invitationId }) {
    const { row, shown } = await findLinkedInvitation(context, invitationId);
    if (shown.status !== "pending") throw new InvitationNotPending(shown.status);
    await countMailByLink(context, row);
    // It may have been deleted since it was read: the mail would refer to nothing. If it was revoked, none is sent.
    const exists = await lockRow(context.database, "invitation", { id: row.id }, { strength: "KEY SHARE" });
    if (!exists) throw new InvitationNotFound();
    await mailAgain(context, row, await timeOf(context.database));
    return shown;
  },
});
