import type { Stripe } from "../../node_modules/stripe/esm/stripe.esm.node.js";

/** The parameters of the requests that the service sends, as the `stripe` package declares them. */
export interface Requests {
  readonly "POST /v1/customers": Stripe.CustomerCreateParams;
  readonly "GET /v1/customers/:id": Stripe.CustomerRetrieveParams;
  readonly "POST /v1/customers/:id": Stripe.CustomerUpdateParams;
  readonly "POST /v1/checkout/sessions": Stripe.Checkout.SessionCreateParams;
  readonly "GET /v1/checkout/sessions": Stripe.Checkout.SessionListParams;
  readonly "GET /v1/checkout/sessions/:id": Stripe.Checkout.SessionRetrieveParams;
  readonly "POST /v1/checkout/sessions/:id/expire": Stripe.Checkout.SessionExpireParams;
  readonly "GET /v1/subscriptions": Stripe.SubscriptionListParams;
  readonly "GET /v1/subscriptions/:id": Stripe.SubscriptionRetrieveParams;
  readonly "POST /v1/subscriptions/:id": Stripe.SubscriptionUpdateParams;
  readonly "DELETE /v1/subscriptions/:id": Stripe.SubscriptionCancelParams;
  readonly "GET /v1/invoices": Stripe.InvoiceListParams;
  readonly "POST /v1/invoices/:id/void": Stripe.InvoiceVoidInvoiceParams;
  readonly "GET /v1/invoices/:id/lines": Stripe.InvoiceListLineItemsParams;
  readonly "POST /v1/invoices/create_preview": Stripe.InvoiceCreatePreviewParams;
  readonly "POST /v1/billing_portal/sessions": Stripe.BillingPortal.SessionCreateParams;
  readonly "GET /v1/billing_portal/configurations": Stripe.BillingPortal.ConfigurationListParams;
  readonly "POST /v1/billing_portal/configurations": Stripe.BillingPortal.ConfigurationCreateParams;
  readonly "GET /v1/billing_portal/configurations/:id": Stripe.BillingPortal.ConfigurationRetrieveParams;
  readonly "POST /v1/billing_portal/configurations/:id": Stripe.BillingPortal.ConfigurationUpdateParams;
  readonly "GET /v1/products/:id": Stripe.ProductRetrieveParams;
  readonly "POST /v1/products": Stripe.ProductCreateParams;
  readonly "GET /v1/prices": Stripe.PriceListParams;
  readonly "GET /v1/prices/:id": Stripe.PriceRetrieveParams;
  readonly "POST /v1/prices": Stripe.PriceCreateParams;
  readonly "GET /v1/tax/settings": Stripe.Tax.SettingsRetrieveParams;
  readonly "GET /v1/webhook_endpoints": Stripe.WebhookEndpointListParams;
  readonly "POST /v1/webhook_endpoints": Stripe.WebhookEndpointCreateParams;
  readonly "POST /v1/webhook_endpoints/:id": Stripe.WebhookEndpointUpdateParams;
}
