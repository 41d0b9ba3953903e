import { MINUTE_MS } from "../../durations.js";
import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import { forgetBillingHistory } from "./events.js";
import { reconcileDueAccount } from "./reconcile.js";

export const billingChores = (services: Services): Chore[] => [
  { name: "reconcile billing", intervalMs: 5_000, run: () => reconcileDueAccount(services) },
  { name: "forget billing history", intervalMs: MINUTE_MS, run: () => forgetBillingHistory(services) },
];
