import { Field, InputType } from "type-graphql";
import { LIMITS } from "../../../limits.js";
import { Marked, TextLength } from "../../../operation/bounds.js";
import { Failure } from "../../../operation/failure.js";
import { IdField } from "../../../operation/id.js";
import { defineTeamOperation } from "../../../operation/operation.js";
import type { Statement } from "../../../platform/database.js";
import { ADDRESS_MAX, emailIn } from "../../access/index.js";
import { AssignableRole } from "../members/update-member-role.js";
import { SubscriptionRequired, assertMembersPaid } from "../../billing/index.js";
import { TEAM_EXAMPLE, TeamFull } from "../team.js";
import { TooManyInvitations, countInvitation } from "./invitation-allowance.js";
import { INVITATION_COLUMNS, INVITATION_EXAMPLE, Invitation, LIFETIME_DAYS } from "./invitation.js";

const { perInviter, perRecipient } = LIMITS.invitations;

@InputType({ description: "Whom to invite to a team." })
export class InviteMemberInput {
  @IdField("The team's id.")
  teamId!: string;

  @Field(() => String, { description: "The e-mail address, in ASCII; stored in lower case." })
  @Marked("asSent")
  @TextLength(0, ADDRESS_MAX)
  email!: string;

  @Field(() => AssignableRole, { description: "What the invited person will be." })
  role!: AssignableRole;
}

export class InvitationExists extends Failure {
  readonly kind = "conflict";
  override readonly reason = "invitation_exists";

  constructor() {
    super("An invitation for this address is pending. Revoke it with `revokeInvitation` to send another.");
  }
}

export class AlreadyMember extends Failure {
  readonly kind = "conflict";
  override readonly reason = "already_member";

  constructor() {
    super("The person with this address is in the team already and needs no invitation.");
  }
}

/** All that speaks against an invitation, read while the team is locked. */
const obstacles: Statement = {
  name: "invitation_obstacles",
  text: `
    SELECT
      (SELECT count(*) FROM invitation WHERE team_id = $1::uuid AND status = 'pending')::int AS pending,
      EXISTS (SELECT FROM team_member m JOIN user_account u ON u.id = m.user_id
        WHERE m.team_id = $1::uuid AND u.email = $2) AS is_member,
      EXISTS (SELECT FROM invitation WHERE team_id = $1::uuid AND email = $2 AND status = 'pending') AS is_invited`,
};

const expireInvitations: Statement = {
  name: "expire_invitations",
  text: `UPDATE invitation SET status = 'expired'
    WHERE team_id = $1::uuid AND status = 'pending' AND expires_at <= now()`,
};

const insertInvitation: Statement = {
  name: "insert_invitation",
  text: `INSERT INTO invitation AS i (id, team_id, email, role, invited_by, expires_at)
    VALUES ($1::uuid, $2::uuid, $3, $4::team_role, $5::uuid, now() + interval '${LIFETIME_DAYS} days')
    ON CONFLICT (team_id, email) WHERE status = 'pending' DO NOTHING
    RETURNING ${INVITATION_COLUMNS}`,
};

const queueMail: Statement = {
  name: "queue_invitation_mail",
  text: "INSERT INTO mail (id, kind, email, invitation_id) VALUES ($1::uuid, 'invitation', $2, $3::uuid)",
};

export const inviteMember = defineTeamOperation({
  name: "inviteMember",
  effect: "transaction",
  summary: "Invites a person to a team by e-mail; the token to accept with stands in the mail alone.",
  notes:
    `A person sends at most ${perInviter.day} a day, and an address gets at most ${perRecipient.hour} an hour ` +
    `and ${perRecipient.day} a day. The mail links to a page: whoever accepts there is shown an API key, and ` +
    "whoever declines becomes a user without one. A team's name that a mail program could turn into a link is " +
    "left out of the subject.",
  input: InviteMemberInput,
  output: Invitation,
  permission: "teams:write",
  team: { which: "given", role: "admin" },
  failures: [TeamFull, SubscriptionRequired, InvitationExists, AlreadyMember, TooManyInvitations],
  rest: { method: "POST", path: "/teams/:team_id/invitations", status: 201 },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, email: INVITATION_EXAMPLE.email, role: AssignableRole.MEMBER },
    output: INVITATION_EXAMPLE,
  },
  audit: (_context, { teamId }, { id, email, role }) => ({ teamId, subject: id, detail: `${email}, role: ${role}` }),
  check: (_context, { email }) => void emailIn(email),
  async handle(context, { teamId, email: address, role }, { team }) {
    const email = emailIn(address);
    const { database, newId, caller } = context;
    await database.run(expireInvitations, [teamId]);
    interface Obstacles {
      readonly pending: number;
      readonly is_member: boolean;
      readonly is_invited: boolean;
    }
    const [found] = await database.run<Obstacles>(obstacles, [teamId, email]);
    if (found?.is_member) throw new AlreadyMember();
    if (found?.is_invited) throw new InvitationExists();
    const seated = team.memberCount + (found?.pending ?? 0);
    if (seated >= team.maxMembers) throw new TeamFull();
    await assertMembersPaid(context, teamId, seated + 1);
    await countInvitation(context, email);
    const values = [newId(), teamId, email, role, caller.userId];
    const [invitation] = await database.run<Invitation>(insertInvitation, values);
    if (!invitation) throw new InvitationExists();
    await database.run(queueMail, [newId(), email, invitation.id]);
    return invitation;
  },
});
