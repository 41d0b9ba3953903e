import { timeOf } from "../../operation/clock-statement.js";
import type { Database } from "../../platform/database/database.js";

/** How many seats the members and the pending invitations of a team take. */
export async function countSeatsInUse(database: Database, teamId: string): Promise<number> {
  const { team, invitation } = database.models;
  const { memberCount } = await team.findUniqueOrThrow({ where: { id: teamId }, select: { memberCount: true } });
  const expiresAt = { gt: await timeOf(database) };
  return memberCount + (await invitation.count({ where: { teamId, status: "pending", expiresAt } }));
}
