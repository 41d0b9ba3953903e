import { forgetStatement } from "../../operation/forget-statement.js";

export const forgetAudit = forgetStatement("audit_entry", "created_at <= now() - make_interval(days => $1::int)");

/** By the day on which an invitation could last be answered: by then it is settled, whatever became of it. */
export const forgetInvitations = forgetStatement("invitation", "expires_at <= now() - make_interval(days => $1::int)");

export const forgetAllowances = forgetStatement("invitation_allowance", "last_sent_at <= now() - interval '1 day'");
