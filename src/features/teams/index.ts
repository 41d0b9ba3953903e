import { createTeam } from "./create-team.js";
import { deleteTeam } from "./delete-team.js";
import { myTeam, team } from "./get-team.js";
import { leaveTeam } from "./leave-team.js";
import { teamAudit } from "./list-audit.js";
import { ViewerTeam } from "./team-relations.js";
import { transferTeam } from "./transfer-team.js";
import { updateTeam } from "./update-team.js";

export { AuditEntry, forgetOldAudit } from "./list-audit.js";
export { OwnerMustTransfer } from "./leave-team.js";
export { MemberNotFound } from "./member-not-found.js";
export { AlreadyInTeam, TEAM_EXAMPLE, Team, TeamFull, TeamRoleName } from "./team.js";
export { openInvitationsBy, withdrawnNote } from "./withdrawn-invitations.js";

export const teamOperations = [
  createTeam,
  myTeam,
  team,
  updateTeam,
  deleteTeam,
  leaveTeam,
  transferTeam,
  teamAudit,
] as const;

export const teamRelations = [ViewerTeam] as const;
