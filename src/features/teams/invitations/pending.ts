import { timeOf } from "../../../operation/clock-statement.js";
import type { Database } from "../../../platform/database/database.js";

/** The condition for invitations that can still be answered. Expired ones may still have the status `pending`. */
export const pendingAt = (now: Date) => ({ status: "pending", expiresAt: { gt: now } }) as const;

/**
 * How many invitations of a team, or of one of its members, can still be answered: each holds a seat. When a member may
 * no longer invite, the database withdraws those of the member in the same transaction: they are counted before, while
 * the team is locked.
 */
export async function countPending(
  database: Database,
  which: { readonly teamId: string; readonly invitedBy?: string },
): Promise<number> {
  return database.models.invitation.count({ where: { ...which, ...pendingAt(await timeOf(database)) } });
}

/** The audit's detail on the invitations that a change withdrew; undefined for none. */
export const withdrawnNote = (count: number | undefined): string | undefined =>
  count ? `invitations withdrawn: ${count}` : undefined;
