import type { Services } from "../../operation/context.js";
import { HOURS_OF_DAY, forgetChore } from "../../operation/retention.js";
import type { Chore } from "../../platform/chores.js";
import { forgetAccounts, forgetEvents, forgetRequests } from "./forget-statements.js";
import { reconcileDueAccount } from "./reconcile.js";

/** Longer than Stripe retries an event, which is three days. */
const EVENTS_KEPT_HOURS = 30 * HOURS_OF_DAY;
/** Closed requests, and accounts of deleted teams, are kept for a while, for investigations. */
const KEPT_HOURS = 90 * HOURS_OF_DAY;

export const billingChores = (services: Services): Chore[] => [
  { name: "reconcile billing", intervalMs: 5_000, run: () => reconcileDueAccount(services) },
  forgetChore(services.database, "payment events", forgetEvents, EVENTS_KEPT_HOURS),
  forgetChore(services.database, "billing requests", forgetRequests, KEPT_HOURS),
  forgetChore(services.database, "billing accounts", forgetAccounts, KEPT_HOURS),
];
