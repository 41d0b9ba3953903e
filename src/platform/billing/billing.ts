import { LIMITS } from "../../limits.js";
import { type PaymentWaits, Payments } from "./payments.js";
import type { Watchers } from "./stripe-client.js";

/** What billing needs at run time. */
export interface Billing {
  /** Undefined: billing is not configured. */
  readonly payments: Payments | undefined;
  /** How many members a team may have without a paid subscription, if billing is configured. */
  readonly freeSeats: number;
  /** How many days a failed payment keeps the plan and the seats. */
  readonly graceDays: number;
  /** Which mails owners get. */
  readonly mails: ReadonlySet<BillingMail>;
  readonly checkout: CheckoutSettings;
  /** Origins to which a checkout may return, in addition to the service's own. */
  readonly returnOrigins: readonly string[];
}

/** What a payment page offers. */
export interface CheckoutSettings {
  /** Stripe computes taxes, and asks for the address and the VAT id. */
  readonly tax: boolean;
  readonly promotionCodes: boolean;
  /** How many days a team's first subscription is free; 0: none. */
  readonly trialDays: number;
}

/** A mail to the owner of a team: when a payment failed, and when the plan falls back because of it. */
export type BillingMail = "payment_failed" | "plan_suspended";

/** The settings of an operator. */
export interface BillingSettings {
  readonly stripeSecretKey: string | undefined;
  readonly stripeWebhookSecret: string | undefined;
  readonly stripePriceId: string | undefined;
  readonly stripeYearlyPriceId: string | undefined;
  readonly stripePortalId: string | undefined;
  readonly stripeApiBase: string | undefined;
  readonly freeTeamSeats: number;
  readonly billingGraceDays: number;
  readonly billingTax: boolean;
  readonly billingPromotionCodes: boolean;
  readonly billingTrialDays: number;
  readonly billingMails: readonly BillingMail[];
  readonly allowedOrigins: readonly string[];
}

/** Billing through Stripe, or without `payments` if a setting is missing. */
export function billingOf(
  settings: BillingSettings,
  waits: PaymentWaits = LIMITS.payments,
  watchers: Watchers = {},
): Billing {
  return {
    payments: paymentsOf(settings, waits, watchers),
    freeSeats: settings.freeTeamSeats,
    graceDays: settings.billingGraceDays,
    mails: new Set(settings.billingMails),
    checkout: {
      tax: settings.billingTax,
      promotionCodes: settings.billingPromotionCodes,
      trialDays: settings.billingTrialDays,
    },
    returnOrigins: settings.allowedOrigins,
  };
}

function paymentsOf(settings: BillingSettings, waits: PaymentWaits, watchers: Watchers): Payments | undefined {
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripePriceId: priceId } = settings;
  if (secretKey === undefined || webhookSecret === undefined || priceId === undefined) return undefined;
  const { stripeYearlyPriceId: yearlyPriceId, stripePortalId: portalId, stripeApiBase: apiBase } = settings;
  return new Payments({ secretKey, webhookSecret, priceId, yearlyPriceId, portalId, apiBase }, waits, watchers);
}
