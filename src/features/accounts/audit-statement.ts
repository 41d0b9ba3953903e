import { defineStatement } from "../../platform/statement.js";

/** Replaces an address in the audit. */
const NOBODYS_ADDRESS = "a deleted user";

/**
 * Two operations have details that begin with the invited address, alone or before a comma. SQL, because no model can
 * replace a part of a text, or find it by this index.
 */
export const forgetAddressInAudit = defineStatement({
  name: "forget_address_in_audit",
  values: { address: "text" },
  row: {},
  text: `
    UPDATE audit_entry SET detail = '${NOBODYS_ADDRESS}' || substr(detail, length(:address) + 1)
    WHERE split_part(detail, ',', 1) = :address AND action IN ('inviteMember', 'revokeInvitation')`,
});
