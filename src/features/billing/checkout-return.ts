import type { Statement } from "../../platform/database.js";
import { type BillingServices, isPaid, reconcileAccount } from "../subscriptions/index.js";

const teamOfCheckout: Statement = {
  name: "team_of_checkout",
  text: `SELECT b.team_id AS "teamId", t.name FROM billing_account b JOIN team t ON t.id = b.team_id
    WHERE b.checkout_id = $1`,
};

/** What a person learns who comes back from the payment page; undefined for a checkout that nobody knows. */
export type ReturnedCheckout = { readonly team: string; readonly seats: number | null } | undefined;

/**
 * Reads anew what the team pays for, so that a person who has paid need not wait for the webhook.
 * @throws PaymentProviderError when the provider fails; what was paid counts all the same, once it is heard of.
 */
export async function checkoutReturned(services: BillingServices, sessionId: string): Promise<ReturnedCheckout> {
  const [found] = await services.database.run<{ teamId: string; name: string }>(teamOfCheckout, [sessionId]);
  if (!found) return undefined;
  const account = await reconcileAccount(services, found.teamId);
  return { team: found.name, seats: isPaid(account) ? account.seats : null };
}
