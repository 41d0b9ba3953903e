import type { Retention } from "../../config.js";
import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import { forgetOldAllowances, forgetOldInvitations } from "./invitations/forget-invitations.js";
import { forgetOldAudit } from "./list-audit.js";

export const teamChores = ({ database }: Services, { invitationsDays, auditDays }: Retention): Chore[] => [
  { name: "forget invitations", intervalMs: 60_000, run: () => forgetOldInvitations(database, invitationsDays) },
  { name: "forget who was invited", intervalMs: 60_000, run: () => forgetOldAllowances(database) },
  { name: "forget audit", intervalMs: 60_000, run: () => forgetOldAudit(database, auditDays) },
];
