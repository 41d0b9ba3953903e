import { forgetOldest } from "../../operation/forget-statement.js";

export const forgetAudit = forgetOldest("audit_entry", "created_at");

/** Counted from the time when an invitation expires: after that, its status no longer changes. */
export const forgetInvitations = forgetOldest("invitation", "expires_at");

/** Counts that are a day old limit nothing any more. */
export const forgetAllowances = forgetOldest("invitation_allowance", "last_sent_at");
