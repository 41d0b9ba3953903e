import { ArgsType, Field, ObjectType } from "type-graphql";
import { TextLength } from "../../../operation/bounds.js";
import { spendAsClient } from "../../../operation/budget.js";
import type { TeamRole } from "../../../operation/context.js";
import { defineOperation } from "../../../operation/operation.js";
import { timeOf } from "../../../operation/clock-statement.js";
import { AssignableRole } from "../members/update-member-role.js";
import { TEAM_EXAMPLE } from "../team.js";
import {
  INVITATION_EXAMPLE,
  INVITATION_FIELDS,
  InvitationNotFound,
  InvitationStatusName,
  hashToken,
  toInvitation,
} from "./invitation.js";

/** A minute is enough to read one many times, and nobody guesses a token of 256 bits. */
const READS_OF_CLIENT = { limit: 30, windowMs: 60_000 };

@ArgsType()
export class InvitationInput {
  @Field(() => String, { description: "The token from the mail." })
  @TextLength(1, 1_000)
  token!: string;
}

@ObjectType({ description: "An invitation, as whoever holds its token may see it." })
export class ShownInvitation {
  @Field(() => String, { description: "What the team is called." })
  teamName!: string;

  @Field(() => String, { description: "Who invites: a name and an address, or the address alone." })
  invitedBy!: string;

  @Field(() => AssignableRole, { description: "What the invited person will be." })
  role!: Exclude<TeamRole, "owner">;

  @Field(() => InvitationStatusName, { description: "What became of it." })
  status!: `${InvitationStatusName}`;

  @Field(() => Date, { description: "Until when it can be accepted." })
  expiresAt!: Date;

  @Field(() => String, { description: "The address that was invited, with most of it left out." })
  maskedEmail!: string;

  /** Undeclared, so it leaves by no door; the page of an invitation asks for a code in its name. */
  email!: string;
}

export const invitation = defineOperation({
  name: "invitation",
  effect: "reads",
  summary: "What an invitation is about, for whoever holds its token.",
  input: InvitationInput,
  output: ShownInvitation,
  permission: "public",
  failures: [InvitationNotFound],
  rest: { method: "GET", path: "/teams/invitations/:token" },
  example: {
    input: { token: "q7Jx0pM3vK9sT2wYbR5nL8eHcZ1aD4fGuVi6oXkPmQA" },
    output: {
      teamName: TEAM_EXAMPLE.name,
      invitedBy: "Ann (ann@example.com)",
      role: INVITATION_EXAMPLE.role,
      status: INVITATION_EXAMPLE.status,
      expiresAt: INVITATION_EXAMPLE.expiresAt,
      maskedEmail: maskAddress(INVITATION_EXAMPLE.email),
      email: INVITATION_EXAMPLE.email,
    },
  },
  async handle(context, { token }) {
    await spendAsClient(context, "invitation", READS_OF_CLIENT);
    const { database } = context;
    const found = await database.models.invitationToken.findUnique({
      where: { hash: hashToken(token) },
      select: { invitation: { select: { ...INVITATION_FIELDS, invitedBy: true, team: { select: { name: true } } } } },
    });
    if (!found) throw new InvitationNotFound();
    const { team, invitedBy, ...row } = found.invitation;
    const inviter = await database.models.user.findUnique({ where: { id: invitedBy } });
    return {
      ...toInvitation(row, await timeOf(database)),
      teamName: team.name,
      invitedBy: showInviter(inviter),
      maskedEmail: maskAddress(row.email),
    };
  },
});

/** How an inviter is shown to the invited: by the name they gave themselves, and by the address, which is proven. */
function showInviter(inviter: { readonly name: string | null; readonly email: string } | null): string {
  if (!inviter) return "somebody who has left";
  return inviter.name === null ? inviter.email : `${inviter.name} (${inviter.email})`;
}

/** Enough for its owner to know it by. */
function maskAddress(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.lastIndexOf("@"))}`;
}
