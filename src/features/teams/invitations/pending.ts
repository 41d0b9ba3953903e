import { timeOf } from "../../../operation/clock-statement.js";
import type { Database } from "../../../platform/database/database.js";

/** The condition for invitations that can still be answered; that one has expired may not be stored yet. */
export const pendingAt = (now: Date) => ({ status: "pending", expiresAt: { gt: now } }) as const;

/** How many invitations of a team, or of one of its members, can still be answered: each holds a seat. */
export async function countPending(
  database: Database,
  which: { readonly teamId: string; readonly invitedBy?: string },
): Promise<number> {
  return database.models.invitation.count({ where: { ...which, ...pendingAt(await timeOf(database)) } });
}
