import { Field, ObjectType } from "type-graphql";
import { LIMITS } from "../../../limits.js";
import { networkOf } from "../../../operation/network.js";
import { timeOf } from "../../../operation/clock-statement.js";
import type { TeamRole } from "../../../operation/context.js";
import type { UseLimit } from "../../../operation/use-limit.js";
import type { Prisma } from "../../../platform/prisma/client.js";
import { AssignableRole } from "../members/update-member-role.js";
import { TEAM_EXAMPLE } from "../team.js";
import {
  INVITATION_EXAMPLE,
  INVITATION_FIELDS,
  InvitationStatusName,
  type Reading,
  toInvitation,
} from "./invitation.js";

@ObjectType({ description: "An invitation, as anybody with its token or its link may see it." })
export class ShownInvitation {
  @Field(() => String, { description: "The team's name." })
  teamName!: string;

  @Field(() => String, {
    description:
      "The inviter: name and address, or only the address, which is shortened if the token is not given; " +
      "`somebody who has left` for one who is not in the team any more.",
  })
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

/** Enough for the address's owner to recognise it. */
export function maskAddress(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.lastIndexOf("@"))}`;
}

export const SHOWN_EXAMPLE: ShownInvitation = {
  teamName: TEAM_EXAMPLE.name,
  invitedBy: "Ann (a…@example.com)",
  role: INVITATION_EXAMPLE.role,
  status: INVITATION_EXAMPLE.status,
  expiresAt: INVITATION_EXAMPLE.expiresAt,
  maskedEmail: maskAddress(INVITATION_EXAMPLE.email),
  email: INVITATION_EXAMPLE.email,
};

const { readsOfOne, readsPerNetwork } = LIMITS.invitations;

/** These only limit the load: nobody can guess a token of 256 bits, or an id with 74 random bits. */
export const readLimits = <Input extends object>(namedBy: (input: Input) => string): UseLimit<Input>[] => [
  {
    ...readsOfOne,
    name: "invitation",
    of: "reads of one invitation from one network",
    by: "input",
    identify: ({ clientAddress }, input) => `${networkOf(clientAddress)} ${namedBy(input)}`,
  },
  { ...readsPerNetwork, name: "invitations", of: "reads of invitations from one network", by: "network" },
];

export const SHOWN_FIELDS = { ...INVITATION_FIELDS, invitedBy: true, team: { select: { name: true } } } as const;

/** `showAddress` decides how much of the inviter's address is shown. */
export async function showInvitation(
  services: Reading,
  { team, invitedBy: userId, ...row }: Prisma.InvitationGetPayload<{ select: typeof SHOWN_FIELDS }>,
  showAddress: (email: string) => string,
): Promise<ShownInvitation> {
  const { database } = services;
  // Whoever has left the team speaks for it no more, and shows nobody their name and their present address.
  const inviter = await database.models.teamMember.findUnique({
    where: { userId, teamId: row.teamId },
    select: { user: { select: { name: true, email: true } } },
  });
  return {
    ...toInvitation(services, row, await timeOf(database)),
    teamName: team.name,
    invitedBy: showInviter(inviter?.user ?? null, showAddress),
    maskedEmail: maskAddress(row.email),
  };
}

/** The inviter, for the invited person: the name, which the inviter chose, and the address, which is verified. */
function showInviter(
  inviter: { readonly name: string | null; readonly email: string } | null,
  showAddress: (email: string) => string,
): string {
  if (!inviter) return "somebody who has left";
  const address = showAddress(inviter.email);
  return inviter.name === null ? address : `${inviter.name} (${address})`;
}
