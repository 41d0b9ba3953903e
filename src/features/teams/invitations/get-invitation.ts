import { ArgsType, Field, ObjectType } from "type-graphql";
import { TextLength } from "../../../operation/bounds.js";
import { spendAsClient } from "../../../operation/budget.js";
import type { TeamRole } from "../../../operation/context.js";
import { defineOperation } from "../../../operation/operation.js";
import type { Statement } from "../../../platform/database.js";
import { AssignableRole } from "../members/update-member-role.js";
import { TEAM_EXAMPLE } from "../team.js";
import {
  INVITATION_COLUMNS,
  INVITATION_EXAMPLE,
  InvitationNotFound,
  InvitationStatusName,
  hashToken,
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

/** How an inviter is shown to the invited: by the name they gave themselves, and by the address, which is proven. */
const INVITER = `CASE WHEN u.id IS NULL THEN 'somebody who has left' WHEN u.name IS NULL THEN u.email
  ELSE u.name || ' (' || u.email || ')' END AS "invitedBy"`;

const shownInvitation: Statement = {
  name: "shown_invitation",
  text: `
    SELECT ${INVITATION_COLUMNS}, t.name AS "teamName", ${INVITER}
    FROM invitation_token k JOIN invitation i ON i.id = k.invitation_id JOIN team t ON t.id = i.team_id
      LEFT JOIN user_account u ON u.id = i.invited_by
    WHERE k.hash = $1`,
};

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
    const [found] = await context.database.run<Omit<ShownInvitation, "maskedEmail">>(shownInvitation, [
      hashToken(token),
    ]);
    if (!found) throw new InvitationNotFound();
    return { ...found, maskedEmail: maskAddress(found.email) };
  },
});

/** Enough for its owner to know it by. */
function maskAddress(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.lastIndexOf("@"))}`;
}
