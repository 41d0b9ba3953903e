import { timeOf } from "../../../operation/clock-statement.js";
import type { Database } from "../../../platform/database/database.js";
import type { Prisma } from "../../../platform/prisma/client.js";
import { type PastAddress, cameTo } from "../../access/index.js";
import { forgetAddressesInAudit } from "./audited-address.js";
import { pendingAt } from "./pending.js";

/**
 * For a user who is being deleted: deletes the invitations to their addresses, with tokens and mails, and removes the
 * addresses from the audit.
 */
export async function forgetInvitationsTo(
  { models }: Pick<Database, "models">,
  addresses: readonly PastAddress[],
): Promise<void> {
  await models.invitation.deleteMany({ where: cameTo(addresses) });
  await forgetAddressesInAudit({ models }, addresses);
}

/** For a member whose address has changed: revokes the team's pending invitation to it. */
export async function withdrawInvitationTo(
  database: Database,
  { teamId, email }: { readonly teamId: string; readonly email: string },
): Promise<void> {
  await revokePending(database, { teamId, email });
}

/** Revokes a user's pending invitations; mails that still wait are not sent. */
export async function withdrawInvitationsBy(database: Database, userId: string): Promise<void> {
  await revokePending(database, { invitedBy: userId });
}

/** One that has expired stays as it is, even if that is not stored yet. */
async function revokePending(database: Database, which: Prisma.InvitationWhereInput): Promise<void> {
  const where = { ...which, ...pendingAt(await timeOf(database)) };
  await database.models.invitation.updateMany({ where, data: { status: "revoked" } });
}
