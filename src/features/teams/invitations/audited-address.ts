import type { AuditAction } from "../../../operation/audit-action.js";
import type { Database } from "../../../platform/database.js";
import { AssignableRole } from "../members/update-member-role.js";

/** The actions whose audit detail begins with the invited address. */
const ACTIONS = ["inviteMember", "resendInvitation", "revokeInvitation"] satisfies AuditAction[];

/** Stands in the audit instead of the address of a deleted user. */
const NOBODYS_ADDRESS = "a deleted user";

/** The audit detail of an invitation: the invited address and the role. */
export const invitedAs = (address: string, role: string): string => `${address}, role: ${role}`;

/** Removes an address from every audit entry up to a time that names it. */
export async function forgetAddressInAudit(
  { models }: Pick<Database, "models">,
  { email, until }: { readonly email: string; readonly until: Date },
): Promise<void> {
  const details = Object.values(AssignableRole).map((role) => (who: string) => invitedAs(who, role));
  for (const detailOf of [(who: string) => who, ...details]) {
    await models.auditEntry.updateMany({
      where: { action: { in: ACTIONS }, detail: detailOf(email), createdAt: { lte: until } },
      data: { detail: detailOf(NOBODYS_ADDRESS) },
    });
  }
}
