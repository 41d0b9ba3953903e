import { defineStatement } from "../../platform/statement.js";

/** Stands in the audit where an address stood. */
const NOBODYS_ADDRESS = "a deleted user";

/**
 * The two operations whose note begins with an address: whom a team invited, before a comma or alone. SQL, because no
 * model changes a part of a text, or finds it by this index.
 */
export const forgetAddressInAudit = defineStatement({
  name: "forget_address_in_audit",
  values: { address: "text" },
  row: {},
  text: `
    UPDATE audit_entry SET detail = '${NOBODYS_ADDRESS}' || substr(detail, length(:address) + 1)
    WHERE split_part(detail, ',', 1) = :address AND action IN ('inviteMember', 'revokeInvitation')`,
});
