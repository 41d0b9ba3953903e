import type { Retention } from "../../config.js";
import type { Services } from "../../operation/context.js";
import { HOURS_OF_DAY, forgetChore } from "../../operation/retention.js";
import type { Chore } from "../../platform/chores.js";
import { forgetAllowances, forgetAudit, forgetInvitations } from "./forget-statements.js";

export const teamChores = ({ database }: Services, { invitationsDays, auditDays }: Retention): Chore[] => [
  forgetChore(database, "invitations", forgetInvitations, invitationsDays * HOURS_OF_DAY),
  forgetChore(database, "who was invited", forgetAllowances, HOURS_OF_DAY),
  forgetChore(database, "audit", forgetAudit, auditDays * HOURS_OF_DAY),
];
