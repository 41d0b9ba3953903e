import type { Stripe } from "../../node_modules/stripe/esm/stripe.esm.node.js";

/** The stand-in's answers, by kind, as the `stripe` package declares them. */
export interface Answers {
  readonly customer: Stripe.Customer;
  readonly product: Stripe.Product;
  readonly price: Stripe.Price;
  readonly session: Stripe.Checkout.Session;
  readonly subscription: Stripe.Subscription;
  readonly invoice: Stripe.Invoice;
  readonly endpoint: Stripe.WebhookEndpoint;
  readonly deletedEndpoint: Stripe.DeletedWebhookEndpoint;
}
