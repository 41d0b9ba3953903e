import { MINUTE_MS } from "../../durations.js";
import type { Services } from "../../operation/context.js";
import { type PlainLimit, takeUseOfNetwork } from "../../operation/use-limit.js";
import { type BillingAccount, accountOf, endOf, givesPlan, isLive, isPaid, mayBeOutdated } from "./account.js";
import { isTooLateToPay } from "./live-subscription.js";
import { reconcileAccount } from "./reconcile.js";

/** How often a client may ask. Asking needs no key, and each time may cause a request to the provider. */
const LOOKS: PlainLimit = {
  name: "checkout-return",
  limit: 30,
  windowMs: MINUTE_MS,
  of: "looks at a checkout from one network",
};
const SESSION_ID = /^cs_\w{1,250}$/;

/** What a person sees after the payment page; undefined for an unknown checkout. */
export type ReturnedCheckout = ({ readonly team: string; readonly seats: number | null } & CheckoutState) | undefined;

interface CheckoutState {
  /** `failed`: a later payment has failed, but the plan stays for now. `late`: no payment brings the plan back. */
  readonly state: "paid" | "failed" | "open" | "unpaid" | "late" | "over";
  /** When what was paid ends, when the plan is lost, or until when paying helps; null if that has no end. */
  readonly until: Date | null;
}

/**
 * Refreshes the subscription copy, so that a person who has paid need not wait for the webhook.
 * @throws RateLimited when a client asks too often.
 * @throws PaymentProviderError when the provider fails, AccountBusy when others work for the team: a payment still
 * counts, as soon as the copy is refreshed.
 */
export async function refreshCheckout(
  services: Services,
  clientAddress: string,
  sessionId: string,
): Promise<ReturnedCheckout> {
  if (!SESSION_ID.test(sessionId)) return undefined;
  await takeUseOfNetwork({ ...services, clientAddress }, LOOKS);
  const team = await teamOfCheckout(services, sessionId);
  if (!team) return undefined;
  const known = await accountOf(services, team.id);
  const account = mayBeOutdated(known, services.now()) ? await reconcileAccount(services, team.id, "readMs") : known;
  return { team: team.name, seats: account.seats, ...stateOf(account, services.now()) };
}

/** A bank may take days for the first payment; its subscription may be incomplete until then. */
function stateOf(account: BillingAccount, now: Date): CheckoutState {
  if (isPaid(account)) return { state: "paid", until: endOf(account) };
  if (givesPlan(account, now)) return { state: "failed", until: account.graceUntil };
  if (account.checkoutUrl !== null || account.status === "incomplete") return { state: "open", until: null };
  if (!isLive(account)) return { state: "over", until: null };
  if (isTooLateToPay(account)) return { state: "late", until: null };
  return { state: "unpaid", until: account.status === "paused" ? null : account.periodEnd };
}

async function teamOfCheckout({ database: { models } }: Services, checkoutId: string) {
  const account = await models.billingAccount.findFirst({ where: { checkoutId }, select: { teamId: true } });
  return account && models.team.findUnique({ where: { id: account.teamId }, select: { id: true, name: true } });
}
