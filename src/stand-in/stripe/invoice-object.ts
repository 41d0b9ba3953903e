import { Stripe } from "stripe";
import { discountAmounts, discountIds, discountOn } from "./promotion.js";
import { type InvoiceRecord, type LineRecord, type Source, mustFind } from "./state.js";

/** The sum of the lines, in the smallest unit of the currency; negative for a credit. */
const invoiceTotal = (lines: readonly { readonly amount: number }[]): number =>
  lines.reduce((sum, { amount }) => sum + amount, 0);

/** The tax on an amount, a tenth everywhere, or in an amount that includes it. */
function taxOf({ isTaxed, taxIsIncluded }: InvoiceRecord, amount: number): number {
  if (!isTaxed) return 0;
  return Math.round(amount / (taxIsIncluded ? 11 : 10));
}

/** What is taken off a line; the amount of a proration does not include it any more. */
const discountOf = (invoice: InvoiceRecord, { amount, proration }: LineRecord): number =>
  proration ? 0 : discountOn(invoice, amount);

const totalDiscount = (invoice: InvoiceRecord): number =>
  invoice.lines.reduce((sum, line) => sum + discountOf(invoice, line), 0);

/** Rounded once, as Stripe can be set to do: the taxes of the lines may make a little more or less. */
const totalTax = (invoice: InvoiceRecord): number =>
  taxOf(invoice, invoiceTotal(invoice.lines) - totalDiscount(invoice));

const totalOf = (invoice: InvoiceRecord): number =>
  invoiceTotal(invoice.lines) - totalDiscount(invoice) + (invoice.taxIsIncluded ? 0 : totalTax(invoice));

/** The total and the customer's balance before: what is left of a credit if it is negative. */
const totalWithBalance = (invoice: InvoiceRecord): number => totalOf(invoice) + (invoice.startingBalance ?? 0);

export const amountDue = (invoice: InvoiceRecord): number => Math.max(0, totalWithBalance(invoice));

/** The customer's balance after an invoice. */
export const endingBalance = (invoice: InvoiceRecord): number => Math.min(0, totalWithBalance(invoice));

const taxObject = ({ taxIsIncluded }: InvoiceRecord, amount: number, taxable: number) =>
  ({
    amount,
    tax_behavior: taxIsIncluded ? "inclusive" : "exclusive",
    tax_rate_details: { tax_rate: "txr_standin" },
    taxability_reason: "standard_rated",
    taxable_amount: taxable,
    type: "tax_rate_details",
  }) as const;

/** How many lines an invoice object holds. The URL of the lines lists all of them. */
const LINES_SHOWN = 10;

export function invoiceObject(source: Source, invoice: InvoiceRecord): Stripe.Invoice {
  const { id, created, currency, customer, status, subscription, isTaxed } = invoice;
  const known = mustFind(source.state.customers[customer]);
  const subtotal = invoiceTotal(invoice.lines);
  const total = totalOf(invoice);
  const tax = totalTax(invoice);
  const untaxed = invoice.taxIsIncluded ? total - tax : subtotal - totalDiscount(invoice);
  const due = amountDue(invoice);
  const [first] = invoice.lines;
  return {
    ...UNUSED,
    id,
    object: "invoice",
    amount_due: due,
    amount_paid: status === "paid" ? due : 0,
    amount_remaining: status === "paid" ? 0 : due,
    attempt_count: invoice.attempts,
    attempted: invoice.attempts > 0,
    billing_reason: invoice.reason,
    created,
    currency,
    customer,
    customer_email: known.email,
    customer_name: known.name,
    customer_phone: null,
    effective_at: status === "draft" ? null : created,
    starting_balance: invoice.startingBalance ?? 0,
    ending_balance: status === "draft" ? null : endingBalance(invoice),
    hosted_invoice_url: status === "draft" ? null : `${source.url}/invoices/${id}`,
    invoice_pdf: status === "draft" ? null : `${source.url}/invoices/${id}/pdf`,
    lines: {
      object: "list",
      data: invoice.lines.slice(0, LINES_SHOWN).map((line) => lineObject(source, line, invoice)),
      has_more: invoice.lines.length > LINES_SHOWN,
      url: `/v1/invoices/${id}/lines`,
    },
    number: invoice.number,
    parent: {
      quote_details: null,
      subscription_details: { metadata: { ...invoice.subscriptionMetadata }, subscription },
      type: "subscription_details",
    },
    period_end: first?.end ?? created,
    period_start: first?.start ?? created,
    status,
    status_transitions: {
      finalized_at: status === "draft" ? null : created,
      marked_uncollectible_at: invoice.uncollectibleAt ?? null,
      paid_at: invoice.paidAt,
      voided_at: invoice.voidedAt,
    },
    automatic_tax: {
      disabled_reason: null,
      enabled: isTaxed,
      liability: isTaxed ? { type: "self" } : null,
      provider: isTaxed ? "stripe" : null,
      status: isTaxed ? "complete" : null,
    },
    subtotal,
    subtotal_excluding_tax: subtotal,
    discounts: discountIds(invoice),
    total,
    total_discount_amounts: discountAmounts(totalDiscount(invoice)),
    total_excluding_tax: untaxed,
    total_taxes: isTaxed ? [taxObject(invoice, tax, untaxed)] : [],
  } satisfies Stripe.Invoice;
}

/** The fields with the same value in every invoice. */
const UNUSED = {
  account_country: "US",
  account_name: "Stand-in",
  account_tax_ids: null,
  amount_overpaid: 0,
  amount_paid_off_stripe: 0,
  amount_shipping: 0,
  application: null,
  auto_advance: false,
  automatically_finalizes_at: null,
  collection_method: "charge_automatically",
  custom_fields: null,
  customer_account: null,
  customer_address: null,
  customer_shipping: null,
  customer_tax_exempt: "none",
  customer_tax_ids: [],
  default_payment_method: null,
  default_source: null,
  default_tax_rates: [],
  description: null,
  due_date: null,
  footer: null,
  from_invoice: null,
  issuer: { type: "self" },
  last_finalization_error: null,
  latest_revision: null,
  livemode: false,
  metadata: {},
  next_payment_attempt: null,
  on_behalf_of: null,
  payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
  post_payment_credit_notes_amount: 0,
  pre_payment_credit_notes_amount: 0,
  receipt_number: null,
  rendering: null,
  shipping_cost: null,
  shipping_details: null,
  statement_descriptor: null,
  test_clock: null,
  total_pretax_credit_amounts: [],
  webhooks_delivered_at: null,
} satisfies Partial<Stripe.Invoice>;

export function lineObject({ state }: Source, line: LineRecord, invoice: InvoiceRecord): Stripe.InvoiceLineItem {
  const price = mustFind(state.prices[line.price]);
  const discount = discountOf(invoice, line);
  const net = line.amount - discount;
  return {
    id: line.id,
    object: "line_item",
    amount: line.amount,
    currency: price.currency,
    description: line.description,
    discount_amounts: discountAmounts(discount),
    discountable: !line.proration,
    discounts: line.proration ? [] : discountIds(invoice),
    invoice: invoice.id,
    livemode: false,
    metadata: { ...invoice.subscriptionMetadata },
    parent: {
      invoice_item_details: null,
      subscription_item_details: {
        invoice_item: null,
        proration: line.proration,
        proration_details: { credited_items: null },
        subscription: invoice.subscription,
        subscription_item: line.item,
      },
      type: "subscription_item_details",
    },
    period: { end: line.end, start: line.start },
    pretax_credit_amounts: [],
    pricing: {
      price_details: { price: price.id, product: price.product },
      type: "price_details",
      unit_amount_decimal: Stripe.Decimal.from(price.unitAmount),
    },
    quantity: line.quantity,
    quantity_decimal: Stripe.Decimal.from(line.quantity),
    subscription: invoice.subscription,
    subtotal: line.amount,
    taxes: invoice.isTaxed ? [taxObject(invoice, taxOf(invoice, net), net)] : [],
  } satisfies Stripe.InvoiceLineItem;
}
