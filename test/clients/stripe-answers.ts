import type { Stripe } from "../../node_modules/stripe/esm/stripe.esm.node.js";

/** The stand-in's answers, by kind, as the `stripe` package declares them. */
export interface Answers {
  readonly customer: Stripe.Customer;
  readonly deletedCustomer: Stripe.DeletedCustomer;
  readonly product: Stripe.Product;
  readonly price: Stripe.Price;
  readonly session: Stripe.Checkout.Session;
  readonly subscription: Stripe.Subscription;
  readonly invoice: Stripe.Invoice;
  readonly portal: Stripe.BillingPortal.Session;
  readonly portalSettings: Stripe.BillingPortal.Configuration;
  readonly taxSettings: Stripe.Tax.Settings;
  readonly endpoint: Stripe.WebhookEndpoint;
  readonly deletedEndpoint: Stripe.DeletedWebhookEndpoint;
}
