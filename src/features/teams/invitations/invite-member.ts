import { Field, InputType } from "type-graphql";
import { Marked, TextLength } from "../../../operation/bounds.js";
import { Failure } from "../../../operation/failure.js";
import { IdField } from "../../../operation/id.js";
import { defineTeamOperation } from "../../../operation/operation.js";
import { timeOf } from "../../../operation/clock-statement.js";
import { ADDRESS_MAX, emailIn } from "../../access/index.js";
import { invitedAs } from "./audited-address.js";
import { AssignableRole } from "../members/update-member-role.js";
import { SubscriptionRequired, assertMembersPaid } from "../../billing/index.js";
import { TEAM_EXAMPLE, TeamFull } from "../team.js";
import { INVITATION_LIMITS, TooManyInvitations, countInvitation } from "./invitation-allowance.js";
import { INVITATION_EXAMPLE, INVITATION_FIELDS, Invitation, LIFETIME_MS, toInvitation } from "./invitation.js";

@InputType({ description: "The person to invite to a team." })
export class InviteMemberInput {
  @IdField("The team's id.")
  teamId!: string;

  @Field(() => String, { description: "The e-mail address, in ASCII; stored in lower case." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;

  @Field(() => AssignableRole, { description: "The role that the invited person gets." })
  role!: AssignableRole;
}

export class InvitationExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "invitation_exists";

  constructor() {
    super(
      "This address has a pending invitation. Send its mail again with `resendInvitation`, or revoke it with " +
        "`revokeInvitation` before you create another one.",
    );
  }
}

export class AlreadyMember extends Failure {
  readonly kind = "conflict";
  override readonly reason = "already_member";

  constructor() {
    super("The user with this address is already in the team and needs no invitation.");
  }
}

export const inviteMember = defineTeamOperation({
  name: "inviteMember",
  effect: "transaction",
  summary: "Invites a person to a team by e-mail. The token that accepts the invitation is only in the mail.",
  notes:
    "The mail links to a page: a person who accepts there becomes a user and gets an API key; for one who declines no " +
    "account is made. The subject omits a team's name that a mail program could turn into a link.",
  input: InviteMemberInput,
  output: Invitation,
  permission: "teams:write",
  team: { which: "given", role: "admin" },
  failures: [TeamFull, SubscriptionRequired, InvitationExists, AlreadyMember, TooManyInvitations],
  limits: INVITATION_LIMITS,
  rest: { method: "POST", path: "/teams/:team_id/invitations", status: 201 },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, email: INVITATION_EXAMPLE.email, role: AssignableRole.MEMBER },
    output: INVITATION_EXAMPLE,
  },
  audit: (_context, { teamId }, { id, email, role }) => ({ teamId, subject: id, detail: invitedAs(email, role) }),
  check: (_context, { email }) => void emailIn(email),
  async handle(context, { teamId, email: address, role }, { team }) {
    const email = emailIn(address);
    const { database, newId, caller } = context;
    const { models } = database;
    const now = await timeOf(database);
    const pending = { teamId, status: "pending" } as const;
    const overdue = { ...pending, expiresAt: { lte: now } };
    await models.invitation.updateMany({ where: overdue, data: { status: "expired" } });
    if (await models.teamMember.findFirst({ where: { teamId, user: { email } } })) throw new AlreadyMember();
    if (await models.invitation.findFirst({ where: { ...pending, email } })) throw new InvitationExists();
    const seated = team.memberCount + (await models.invitation.count({ where: pending }));
    if (seated >= team.maxMembers) throw new TeamFull();
    await assertMembersPaid(context, teamId, seated + 1);
    await countInvitation(context, email);
    const expiresAt = new Date(now.getTime() + LIFETIME_MS);
    const [row] = await models.invitation.createManyAndReturn({
      data: { id: newId(), teamId, email, role, invitedBy: caller.userId, createdAt: now, expiresAt },
      select: INVITATION_FIELDS,
      skipDuplicates: true,
    });
    if (!row) throw new InvitationExists();
    await models.mail.create({ data: { id: newId(), kind: "invitation", email, invitationId: row.id } });
    return toInvitation(context, row, now);
  },
});
