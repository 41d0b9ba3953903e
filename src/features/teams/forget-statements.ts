import { forgetStatement, isPast } from "../../operation/forget-statement.js";

export const forgetAudit = forgetStatement("audit_entry", isPast("created_at"));

/** Counted from the time when an invitation expires: after that, its status no longer changes. */
export const forgetInvitations = forgetStatement("invitation", isPast("expires_at"));

/** Counts that are a day old limit nothing any more. */
export const forgetAllowances = forgetStatement("invitation_allowance", isPast("last_sent_at"));
