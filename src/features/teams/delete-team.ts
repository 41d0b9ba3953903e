import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import {
  BillingNotConfigured,
  PaymentProviderError,
  SubscriptionActive,
  assertBillingEnded,
  endBilling,
} from "../subscriptions/index.js";
import { RoleTooSmall, TEAM_EXAMPLE, TeamNotFound, lockTeam, teamNow } from "./team.js";

@InputType({ description: "Which team to delete." })
export class DeleteTeamInput {
  @IdField("The team's id.")
  teamId!: string;
}

const removeTeam: Statement = { name: "remove_team", text: "DELETE FROM team WHERE id = $1::uuid RETURNING id" };

export const deleteTeam = defineOperation({
  name: "deleteTeam",
  kind: "mutation",
  summary: "Deletes a team for good, with its invitations and its graph; its members keep their own graphs.",
  input: DeleteTeamInput,
  output: Deletion,
  permission: "teams:write",
  failures: [TeamNotFound, RoleTooSmall, SubscriptionActive, PaymentProviderError, BillingNotConfigured],
  rest: { method: "DELETE", path: "/teams/:team_id", status: 204 },
  example: { input: { teamId: TEAM_EXAMPLE.id }, output: { id: TEAM_EXAMPLE.id } },
  audit: (_context, { teamId }) => ({ teamId, subject: teamId }),
  async prepare(context, { teamId }) {
    await teamNow(context, teamId, "owner");
    await endBilling(context, teamId);
  },
  async handle(context, { teamId }) {
    await lockTeam(context, teamId, "owner");
    await assertBillingEnded(context, teamId);
    const [removed] = await context.database.run<Deletion>(removeTeam, [teamId]);
    if (!removed) throw new TeamNotFound();
    return removed;
  },
});
