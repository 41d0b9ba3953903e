import { forgetStatement, isPast } from "../../operation/forget-statement.js";

export const forgetAudit = forgetStatement("audit_entry", isPast("created_at"));

/** By the day on which an invitation could last be answered: by then it is settled, whatever became of it. */
export const forgetInvitations = forgetStatement("invitation", isPast("expires_at"));

export const forgetAllowances = forgetStatement("invitation_allowance", isPast("last_sent_at"));
