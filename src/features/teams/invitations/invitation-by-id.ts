import { ArgsType } from "type-graphql";
import type { Context } from "../../../operation/context.js";
import { IdField } from "../../../operation/id.js";
import { defineOperation } from "../../../operation/operation.js";
import { INVITATION_EXAMPLE, InvitationNotFound } from "./invitation.js";
import {
  SHOWN_EXAMPLE,
  SHOWN_FIELDS,
  ShownInvitation,
  maskAddress,
  readLimits,
  showInvitation,
} from "./shown-invitation.js";

@ArgsType()
export class InvitationByIdInput {
  @IdField("The invitation's id, at the end of its link.")
  invitationId!: string;
}

export const invitationById = defineOperation({
  name: "invitationById",
  effect: "reads",
  summary: "Shows an invitation to anybody who has its link.",
  notes: "The link does not prove who opens it, so the addresses are shortened. `mailInvitation` sends the token.",
  input: InvitationByIdInput,
  output: ShownInvitation,
  permission: "public",
  failures: [InvitationNotFound],
  limits: readLimits<InvitationByIdInput>(({ invitationId }) => invitationId),
  rest: { method: "GET", path: "/teams/invitations/by-id/:invitation_id" },
  example: { input: { invitationId: INVITATION_EXAMPLE.id }, output: SHOWN_EXAMPLE },
  handle: async (context, { invitationId }) => (await findLinkedInvitation(context, invitationId)).shown,
});

/**
 * The invitation with this id, and what a person with its link may see of it.
 * @throws InvitationNotFound when there is none.
 */
export async function findLinkedInvitation(context: Context, id: string) {
  const row = await context.database.models.invitation.findUnique({ where: { id }, select: SHOWN_FIELDS });
  if (!row) throw new InvitationNotFound();
  return { row, shown: await showInvitation(context, row, maskAddress) };
}
