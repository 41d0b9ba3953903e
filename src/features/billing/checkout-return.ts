import { spendAsClient } from "../../operation/budget.js";
import type { Services } from "../../operation/context.js";
import { accountOf, isPaid, isUnsure } from "./account.js";
import { reconcileAccount } from "./reconcile.js";

/** How often a client may look: each look may ask the provider, and nobody needs a key for it. */
const LOOKS = { limit: 30, windowMs: 60_000 } as const;
const SESSION_ID = /^cs_\w{1,250}$/;

/** What a person learns who comes back from the payment page; undefined for a checkout that nobody knows. */
export type ReturnedCheckout =
  | { readonly team: string; readonly state: "paid" | "open" | "over"; readonly seats: number | null }
  | undefined;

/**
 * Reads anew what the team pays for, so that a person who has paid need not wait for the webhook.
 * @throws RateLimited when a client looks too often.
 * @throws PaymentProviderError when the provider fails; what was paid counts all the same, once it is heard of.
 */
export async function checkoutReturned(
  services: Services,
  clientAddress: string,
  sessionId: string,
): Promise<ReturnedCheckout> {
  if (!SESSION_ID.test(sessionId)) return undefined;
  await spendAsClient({ budgets: services.budgets, clientAddress }, "checkout-return", LOOKS);
  const team = await teamOfCheckout(services, sessionId);
  if (!team) return undefined;
  const known = await accountOf(services, team.id);
  const account = isUnsure(known, services.now()) ? await reconcileAccount(services, team.id, "readMs") : known;
  const state = isPaid(account) ? "paid" : account.checkoutUrl === null ? "over" : "open";
  return { team: team.name, state, seats: account.seats };
}

async function teamOfCheckout({ database: { models } }: Services, checkoutId: string) {
  const account = await models.billingAccount.findFirst({ where: { checkoutId }, select: { teamId: true } });
  return account && models.team.findUnique({ where: { id: account.teamId }, select: { id: true, name: true } });
}
