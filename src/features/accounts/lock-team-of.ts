import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database/database.js";

/** Locks the row of the user's team, and returns its id; undefined for a user without a team. */
export async function lockTeamOf(database: Database, userId: string): Promise<string | undefined> {
  const membership = await database.models.teamMember.findUnique({ where: { userId }, select: { teamId: true } });
  if (membership) await lockRow(database, "team", { id: membership.teamId });
  return membership?.teamId;
}
