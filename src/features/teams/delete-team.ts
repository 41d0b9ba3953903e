import { InputType } from "type-graphql";
import type { Services } from "../../operation/context.js";
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

/** How many memories are deleted at once: a batch must not hold locks or the pool for long. */
const BATCH = 1_000;

const emptyAbandonedGraph: Statement = {
  name: "empty_abandoned_graph",
  text: `
    WITH abandoned AS (
      SELECT id FROM graph WHERE user_id IS NULL AND team_id IS NULL ORDER BY id LIMIT 1
    ), gone AS (
      DELETE FROM memory USING (
        SELECT m.graph_id, m.id FROM abandoned JOIN memory m ON m.graph_id = abandoned.id LIMIT ${BATCH}
      ) batch WHERE memory.graph_id = batch.graph_id AND memory.id = batch.id RETURNING 1
    )
    SELECT abandoned.id, (SELECT count(*) FROM gone)::int AS deleted FROM abandoned`,
};

const removeEmptyGraph: Statement = {
  name: "remove_empty_graph",
  text: `DELETE FROM graph WHERE id = $1::uuid AND user_id IS NULL AND team_id IS NULL
    AND NOT EXISTS (SELECT FROM memory WHERE graph_id = $1::uuid) RETURNING id`,
};

/**
 * Deletes the next batch of what a deleted team left behind; answers with whether there may be more. What is left to do
 * is read off the database each time, so it goes on after a restart and on any instance.
 */
export async function forgetAbandonedGraph({ database }: Pick<Services, "database">): Promise<boolean> {
  const [graph] = await database.run<{ id: string; deleted: number }>(emptyAbandonedGraph, []);
  if (!graph) return false;
  if (graph.deleted < BATCH) await database.run(removeEmptyGraph, [graph.id]);
  return true;
}
