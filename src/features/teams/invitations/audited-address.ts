import type { AuditAction } from "../../../operation/audit-action.js";
import type { Database } from "../../../platform/database.js";
import { AssignableRole } from "../members/update-member-role.js";

/** What the audit says of them begins with the invited address. */
const ACTIONS = ["inviteMember", "resendInvitation", "revokeInvitation"] satisfies AuditAction[];

/** Replaces an address in the audit. */
const NOBODYS_ADDRESS = "a deleted user";

/** What the audit says of an invitation: who was invited, as what. */
export const invitedAs = (address: string, role: string): string => `${address}, role: ${role}`;

/** Forgets an address wherever the audit names it. */
export async function forgetAddressInAudit({ models }: Pick<Database, "models">, address: string): Promise<void> {
  const details = Object.values(AssignableRole).map((role) => (who: string) => invitedAs(who, role));
  for (const detailOf of [(who: string) => who, ...details]) {
    await models.auditEntry.updateMany({
      where: { action: { in: ACTIONS }, detail: detailOf(address) },
      data: { detail: detailOf(NOBODYS_ADDRESS) },
    });
  }
}
