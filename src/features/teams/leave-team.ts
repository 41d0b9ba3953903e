import { InputType } from "type-graphql";
import { Failure } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineTeamOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { TEAM_EXAMPLE, Team } from "./team.js";
import { openInvitationsBy, withdrawnNote } from "./withdrawn-invitations.js";

@InputType({ description: "Which team to leave." })
export class LeaveTeamInput {
  @IdField("The team's id.")
  teamId!: string;
}

export class OwnerMustTransfer extends Failure {
  readonly kind = "conflict";
  override readonly reason = "owner_must_transfer";

  constructor() {
    super("A team must have an owner. Transfer it with `transferTeam`, or delete it with `deleteTeam`.");
  }
}

const leave: Statement = {
  name: "leave_team",
  text: "DELETE FROM team_member WHERE team_id = $1::uuid AND user_id = $2::uuid AND role <> 'owner' RETURNING user_id",
};

/** The team that was left. */
class LeftTeam extends Team {
  /** Undeclared, so it never leaves: for the audit alone. */
  withdrawn?: number;
}

export const leaveTeam = defineTeamOperation<LeaveTeamInput, LeftTeam>({
  name: "leaveTeam",
  effect: "transaction",
  summary:
    "Ends the caller's membership; access to the team's graph ends with the next request. Invitations that the caller sent and nobody answered are withdrawn.",
  input: LeaveTeamInput,
  output: Team,
  permission: "teams:write",
  team: { which: "given", role: "member" },
  failures: [OwnerMustTransfer],
  rest: { method: "POST", path: "/teams/:team_id/leave", status: 204 },
  example: { input: { teamId: TEAM_EXAMPLE.id }, output: TEAM_EXAMPLE },
  audit: ({ caller }, { teamId }, { withdrawn }) => ({
    teamId,
    subject: caller.userId,
    detail: withdrawnNote(withdrawn),
  }),
  async handle(context, { teamId }, { team: { role: _role, ...team } }) {
    const withdrawn = await openInvitationsBy(context, teamId, context.caller.userId);
    const [left] = await context.database.run(leave, [teamId, context.caller.userId]);
    if (!left) throw new OwnerMustTransfer();
    return { ...team, memberCount: team.memberCount - 1, withdrawn };
  },
});
