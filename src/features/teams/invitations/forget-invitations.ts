import { HOURS_OF_DAY, forget } from "../../../operation/retention.js";
import type { Database } from "../../../platform/database/database.js";
import { forgetAllowances, forgetInvitations } from "../forget-statements.js";

/** Deletes a batch of old invitations; returns whether there may be more. */
export const forgetOldInvitations = (database: Database, keptDays: number): Promise<boolean> =>
  forget(database, forgetInvitations, keptDays * HOURS_OF_DAY);

/** Deletes a batch of counts that limit nothing any more; returns whether there may be more. */
export const forgetOldAllowances = (database: Database): Promise<boolean> =>
  forget(database, forgetAllowances, HOURS_OF_DAY);
