import { MINUTE_MS } from "../../durations.js";
import type { Services } from "../../operation/context.js";
import { type PlainLimit, takeUseOfNetwork } from "../../operation/use-limit.js";
import { type BillingAccount, accountOf, givesPlan, isLive, mayBeOutdated } from "./account.js";
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
export type ReturnedCheckout =
  | { readonly team: string; readonly state: "paid" | "open" | "unpaid" | "over"; readonly seats: number | null }
  | undefined;

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
  return { team: team.name, state: stateOf(account, services.now()), seats: account.seats };
}

/** A bank may take days for the first payment; its subscription may be incomplete until then. */
function stateOf(account: BillingAccount, now: Date): NonNullable<ReturnedCheckout>["state"] {
  if (givesPlan(account, now)) return "paid";
  if (account.checkoutUrl !== null || account.status === "incomplete") return "open";
  return isLive(account) ? "unpaid" : "over";
}

async function teamOfCheckout({ database: { models } }: Services, checkoutId: string) {
  const account = await models.billingAccount.findFirst({ where: { checkoutId }, select: { teamId: true } });
  return account && models.team.findUnique({ where: { id: account.teamId }, select: { id: true, name: true } });
}
