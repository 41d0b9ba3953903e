import type { Database, Statement } from "../../../platform/database.js";
import { INVITATION_COLUMNS, type Invitation } from "./invitation.js";

const pageWhere = (column: "email" | "invited_by"): string =>
  `SELECT ${INVITATION_COLUMNS} FROM invitation i
    WHERE i.${column} = $1 AND i.id > coalesce($2, '00000000-0000-0000-0000-000000000000')::uuid
    ORDER BY i.id LIMIT $3`;

const invitationsToAddress: Statement = { name: "invitations_to_address", text: pageWhere("email") };
const invitationsByUser: Statement = { name: "invitations_by_user", text: pageWhere("invited_by") };

/** The invitations that came to an address, the oldest first, after that of the id. */
export const receivedInvitations = (database: Database, email: string, after: string | null, limit: number) =>
  database.run<Invitation>(invitationsToAddress, [email, after, limit]);

/** The invitations that a user has sent, for any team. */
export const sentInvitations = (database: Database, userId: string, after: string | null, limit: number) =>
  database.run<Invitation>(invitationsByUser, [userId, after, limit]);

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
