import { forget, forgetStatement } from "../../../operation/retention.js";
import type { Database } from "../../../platform/database.js";

/** By the day on which an invitation could last be answered: by then it is settled, whatever became of it. */
const forgetInvitations = forgetStatement("invitation", "expires_at <= now() - make_interval(days => $1::int)");

/** Deletes a batch of invitations that ended longer ago; answers with whether there may be more. */
export const forgetOldInvitations = (database: Database, keptDays: number): Promise<boolean> =>
  forget(database, forgetInvitations, [keptDays]);

const forgetAllowances = forgetStatement("invitation_allowance", "last_sent_at <= now() - interval '1 day'");

/** Deletes a batch of counts that count nothing any more; answers with whether there may be more. */
export const forgetOldAllowances = (database: Database): Promise<boolean> => forget(database, forgetAllowances);
