import { InputType } from "type-graphql";
import { Failure } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { TEAM_EXAMPLE, Team } from "./team.js";
import { countPending, withdrawnNote } from "./invitations/pending.js";

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

interface LeftTeam extends Team {
  /** Only for the audit. Not a declared field, so no client sees it. */
  withdrawn?: number;
}

export const leaveTeam = defineTeamOperation<LeaveTeamInput, LeftTeam>({
  name: "leaveTeam",
  effect: "transaction",
  summary:
    "Ends the caller's membership and, from the next request, access to the team's graph. Pending invitations that " +
    "the caller sent are withdrawn. What the caller stored in the team's graph stays, with their user id.",
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
    const { userId } = context.caller;
    const withdrawn = await countPending(context.database, { teamId, invitedBy: userId });
    const notOwner = { teamId, userId, role: { not: "owner" } } as const;
    const { count } = await context.database.models.teamMember.deleteMany({ where: notOwner });
    if (count === 0) throw new OwnerMustTransfer();
    return { ...team, memberCount: team.memberCount - 1, withdrawn };
  },
});
