import { ArgsType, Field, ObjectType } from "type-graphql";
import { LIMITS } from "../../../limits.js";
import { TextLength } from "../../../operation/bounds.js";
import { networkOf } from "../../../operation/budget.js";
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

/** These only limit the load: nobody can guess a token of 256 bits. */
const { readsOfToken, readsPerNetwork } = LIMITS.invitations;

@ArgsType()
export class InvitationInput {
  @Field(() => String, { description: "The token from the mail." })
  @TextLength(1, 1_000)
  token!: string;
}

@ObjectType({ description: "An invitation, as anybody with its token may see it." })
export class ShownInvitation {
  @Field(() => String, { description: "The team's name." })
  teamName!: string;

  @Field(() => String, { description: "The inviter: name and address, or only the address." })
  invitedBy!: string;

  @Field(() => AssignableRole, { description: "The role that the invited person gets." })
  role!: Exclude<TeamRole, "owner">;

  @Field(() => InvitationStatusName, { description: "Its status." })
  status!: `${InvitationStatusName}`;

  @Field(() => Date, { description: "Until when it can be accepted." })
  expiresAt!: Date;

  @Field(() => String, { description: "The invited address, shortened to its first letter and its domain." })
  maskedEmail!: string;

  /** For the page of an invitation, which requests a code for it. Not a declared field, so no client sees it. */
  email!: string;
}

export const invitation = defineOperation({
  name: "invitation",
  effect: "reads",
  summary: "Shows an invitation to anybody who has its token.",
  input: InvitationInput,
  output: ShownInvitation,
  permission: "public",
  failures: [InvitationNotFound],
  limits: [
    {
      ...readsOfToken,
      name: "invitation",
      of: "reads of one invitation from one network",
      by: "input",
      identify: ({ clientAddress }, { token }) => `${networkOf(clientAddress)} ${token}`,
    },
    { ...readsPerNetwork, name: "invitations", of: "reads of invitations from one network", by: "network" },
  ],
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

/** The inviter, for the invited person: the name, which the inviter chose, and the address, which is verified. */
function showInviter(inviter: { readonly name: string | null; readonly email: string } | null): string {
  if (!inviter) return "somebody who has left";
  return inviter.name === null ? inviter.email : `${inviter.name} (${inviter.email})`;
}

/** Enough for the address's owner to recognise it. */
function maskAddress(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.lastIndexOf("@"))}`;
}
