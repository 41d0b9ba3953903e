import type { AuditAction } from "../../../operation/audit-action.js";
import type { Database } from "../../../platform/database/database.js";
import type { PastAddress } from "../../access/index.js";
import { AssignableRole } from "../members/update-member-role.js";

/** The actions whose audit detail begins with the invited address. */
export const ACTIONS_WITH_ADDRESS = ["inviteMember", "resendInvitation", "revokeInvitation"] satisfies AuditAction[];

/** Stands in the audit instead of an address that was forgotten, mostly of a deleted user. */
const NOBODYS_ADDRESS = "a deleted address";

/** PostgreSQL takes 65,535 values in a statement. */
const INVITATIONS_AT_ONCE = 10_000;

/** The audit detail of an invitation: the invited address and the role. */
export const invitedAs = (address: string, role: string): string => `${address}, role: ${role}`;

const justAddress = (who: string): string => who;
const DETAILS = [justAddress, ...Object.values(AssignableRole).map((role) => (who: string) => invitedAs(who, role))];

/**
 * Removes addresses from every audit entry that names one of them, up to its time, and later if the entry is about an
 * invitation of before: it may have been sent again or revoked after the person has given up the address.
 */
export async function forgetAddressesInAudit(
  { models }: Pick<Database, "models">,
  addresses: readonly PastAddress[],
): Promise<void> {
  const invitations: string[] = [];
  for (const detailOf of DETAILS) {
    const named = addresses.map(({ email, until }) => ({ detail: detailOf(email), createdAt: { lte: until } }));
    const changed = await models.auditEntry.updateManyAndReturn({
      where: { action: { in: ACTIONS_WITH_ADDRESS }, detail: { in: named.map(({ detail }) => detail) }, OR: named },
      data: { detail: detailOf(NOBODYS_ADDRESS) },
      select: { subject: true },
    });
    invitations.push(...changed.flatMap(({ subject }) => subject ?? []));
  }
  const detail = { in: addresses.map(({ email }) => email) };
  for (let at = 0; at < invitations.length; at += INVITATIONS_AT_ONCE) {
    const subject = { in: invitations.slice(at, at + INVITATIONS_AT_ONCE) };
    await models.auditEntry.updateMany({
      where: { action: { in: ACTIONS_WITH_ADDRESS }, detail, subject },
      data: { detail: NOBODYS_ADDRESS },
    });
  }
}

/**
 * Removes the invited addresses from the audit of a team that is being deleted: nobody can read it any more, and most
 * of these people may never have had an account that they could delete.
 */
export async function forgetInvitedInAudit({ models }: Pick<Database, "models">, teamId: string): Promise<void> {
  await models.auditEntry.updateMany({
    where: { teamId, action: { in: ACTIONS_WITH_ADDRESS }, detail: { not: null } },
    data: { detail: null },
  });
}
