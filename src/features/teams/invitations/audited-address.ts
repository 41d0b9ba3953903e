import type { AuditAction } from "../../../operation/audit-action.js";
import type { Database } from "../../../platform/database/database.js";
import type { PastAddress } from "../../access/index.js";
import { AssignableRole } from "../members/update-member-role.js";

/** The actions whose audit detail begins with the invited address. */
const ACTIONS = ["inviteMember", "resendInvitation", "revokeInvitation"] satisfies AuditAction[];

/** Stands in the audit instead of the address of a deleted user. */
const NOBODYS_ADDRESS = "a deleted user";

/** The audit detail of an invitation: the invited address and the role. */
export const invitedAs = (address: string, role: string): string => `${address}, role: ${role}`;

/** Removes addresses from every audit entry that names one of them, up to its time. */
export async function forgetAddressesInAudit(
  { models }: Pick<Database, "models">,
  addresses: readonly PastAddress[],
): Promise<void> {
  const details = Object.values(AssignableRole).map((role) => (who: string) => invitedAs(who, role));
  for (const detailOf of [(who: string) => who, ...details]) {
    const named = addresses.map(({ email, until }) => ({ detail: detailOf(email), createdAt: { lte: until } }));
    await models.auditEntry.updateMany({
      where: { action: { in: ACTIONS }, detail: { in: named.map(({ detail }) => detail) }, OR: named },
      data: { detail: detailOf(NOBODYS_ADDRESS) },
    });
  }
}
