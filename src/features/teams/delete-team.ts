import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { Deletion, defineTeamOperation } from "../../operation/operation.js";
import {
  BillingNotConfigured,
  PaymentProviderError,
  SubscriptionActive,
  assertBillingEnded,
  endBilling,
} from "../billing/index.js";
import { forgetInvitedInAudit } from "./invitations/audited-address.js";
import { TEAM_EXAMPLE } from "./team.js";

@InputType({ description: "Which team to delete." })
export class DeleteTeamInput {
  @IdField("The team's id.")
  teamId!: string;
}

export const deleteTeam = defineTeamOperation({
  name: "deleteTeam",
  effect: "transaction",
  summary: "Deletes a team permanently, with its invitations and its graph; its members keep their own graphs.",
  notes:
    "What members stored in its graph is deleted within minutes. The service's operator keeps its audit for a while, " +
    "without the invited addresses. " +
    "A team whose subscription may charge again cannot be deleted (`subscription_active`); the service asks the " +
    "payment provider first. A team that never had a subscription, or whose subscription has ended, is deleted " +
    "without asking. If the service no longer has a payment provider, a team whose subscription may be live " +
    "cannot be deleted.",
  input: DeleteTeamInput,
  output: Deletion,
  permission: "teams:write",
  team: { which: "given", role: "owner" },
  failures: [SubscriptionActive, PaymentProviderError, BillingNotConfigured],
  rest: { method: "DELETE", path: "/teams/:team_id", status: 204 },
  example: { input: { teamId: TEAM_EXAMPLE.id }, output: { id: TEAM_EXAMPLE.id } },
  audit: (_context, { teamId }) => ({ teamId, subject: teamId }),
  prepare: (context, { teamId }) => endBilling(context, teamId),
  async handle(context, { teamId }) {
    await assertBillingEnded(context, teamId);
    await context.database.models.team.deleteMany({ where: { id: teamId } });
    await forgetInvitedInAudit(context.database, teamId);
    return { id: teamId };
  },
});
