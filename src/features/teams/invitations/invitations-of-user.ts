import type { Database } from "../../../platform/database.js";
import { readInvitations } from "./invitation.js";

/** The invitations that came to an address, the oldest first, after that of the id. */
export const receivedInvitations = (database: Database, email: string, after: string | null, limit: number) =>
  readInvitations(database, { where: { email, ...behind(after) }, order: "asc", limit });

/** The invitations that a user has sent, for any team. */
export const sentInvitations = (database: Database, userId: string, after: string | null, limit: number) =>
  readInvitations(database, { where: { invitedBy: userId, ...behind(after) }, order: "asc", limit });

const behind = (after: string | null) => (after === null ? {} : { id: { gt: after } });

/** For whoever goes for good: takes back what they have sent and deletes what came to them, its tokens and mails too. */
export async function forgetInvitationsOf(
  { models }: Pick<Database, "models">,
  { id, email }: { readonly id: string; readonly email: string },
): Promise<void> {
  await withdrawInvitationsBy({ models }, id);
  await models.invitation.deleteMany({ where: { email } });
}

/** Takes back every invitation of a user's that is pending; its mail, if it waits still, is not sent. */
export async function withdrawInvitationsBy({ models }: Pick<Database, "models">, userId: string): Promise<number> {
  const pending = { invitedBy: userId, status: "pending" } as const;
  return (await models.invitation.updateMany({ where: pending, data: { status: "revoked" } })).count;
}
