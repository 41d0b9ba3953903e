import type Stripe from "stripe";
import { expect, it } from "vitest";
import {
  type BillingAccount,
  NO_CHECKOUT,
  NO_GRACE,
  NO_SUBSCRIPTION,
  mayBeOutdated,
} from "../../../src/features/billing/account.js";
import { rankSubscriptions } from "../../../src/features/billing/provider-subscription.js";

const NEW: BillingAccount = {
  teamId: "team",
  customerId: null,
  copiedAt: null,
  checkoutSeenAt: null,
  hasOpenRequest: false,
  ...NO_SUBSCRIPTION,
  ...NO_CHECKOUT,
  ...NO_GRACE,
};

it("counts what is paid, then what may still be, whichever is older or known: the others are ended", () => {
  const ranked = ["active", "past_due", "incomplete", "canceled"];
  const subscriptions = ranked.map(
    (status, place) => ({ id: status, status, created: 9 - place }) as Stripe.Subscription,
  );

  for (const known of [null, ...ranked]) {
    expect(rankSubscriptions(subscriptions.toReversed(), known).map(({ id }) => id)).toEqual(ranked);
  }
});

it("may be outdated while a request is open, also if that makes the customer", () => {
  const now = new Date();
  expect(mayBeOutdated(NEW, now)).toBe(false);
  expect(mayBeOutdated({ ...NEW, hasOpenRequest: true }, now)).toBe(true);
});
