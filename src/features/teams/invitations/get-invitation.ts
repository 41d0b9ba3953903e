import { ArgsType, Field } from "type-graphql";
import { TextLength } from "../../../operation/bounds.js";
import { defineOperation } from "../../../operation/operation.js";
import { sha256 } from "../../../operation/sha256.js";
import { InvitationNotFound, TOKEN_EXAMPLE } from "./invitation.js";
import { SHOWN_EXAMPLE, SHOWN_FIELDS, ShownInvitation, readLimits, showInvitation } from "./shown-invitation.js";

@ArgsType()
export class InvitationInput {
  @Field(() => String, { description: "The token from the mail." })
  @TextLength(1, 1_000)
  token!: string;
}

export const invitation = defineOperation({
  name: "invitation",
  effect: "reads",
  summary: "Shows an invitation to anybody who has its token.",
  input: InvitationInput,
  output: ShownInvitation,
  permission: "public",
  failures: [InvitationNotFound],
  limits: readLimits<InvitationInput>(({ token }) => token),
  rest: { method: "GET", path: "/teams/invitations/:token" },
  example: {
    input: { token: TOKEN_EXAMPLE },
    output: { ...SHOWN_EXAMPLE, invitedBy: "Ann (ann@example.com)" },
  },
  async handle(context, { token }) {
    const found = await context.database.models.invitationToken.findUnique({
      where: { hash: sha256(token) },
      select: { invitation: { select: SHOWN_FIELDS } },
    });
    if (!found) throw new InvitationNotFound();
    return showInvitation(context, found.invitation, (email) => email);
  },
});
