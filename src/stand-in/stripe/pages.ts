import { type Html, html } from "../../platform/html.js";
import { formatMoney } from "../../wording.js";
import { amountDue } from "./invoice-object.js";
import { endOf, sessionTotal } from "./objects.js";
import {
  type InvoiceRecord,
  type PortalRecord,
  type SessionRecord,
  type Source,
  type SubscriptionRecord,
  mustFind,
} from "./state.js";

const OVER = {
  complete: "This session is paid.",
  expired: "This session has expired.",
} as const;

const SETTLED = {
  draft: "This invoice is a draft.",
  paid: "This invoice is paid.",
  void: "This invoice is void.",
} as const;

/** The checkout page. `problem` is the error of the last attempt. */
export function checkoutPage(source: Source, session: SessionRecord, problem?: string): string {
  const { id, status, cancelUrl, lines } = session;
  if (status !== "open") return page("Checkout", html`<p>${OVER[status]}</p>`);
  const rows = lines.map(({ price, quantity }) => {
    const { product, unitAmount, recurring, currency } = mustFind(source.state.prices[price]);
    return html`<li>
      ${quantity} × ${mustFind(source.state.products[product]).name}, ${formatMoney(unitAmount, currency)} each, every
      ${recurring?.intervalCount} ${recurring?.interval}
    </li>`;
  });
  const { currency } = mustFind(source.state.prices[lines[0]?.price ?? ""]);
  const code = session.takesPromotionCodes
    ? html`<p>
        <label>Promotion code, such as SAVE25 for 25 % less: <input name="code" /></label>
      </p>`
    : undefined;
  const taxId = session.collectsTaxIds
    ? html`<p>
        <label>VAT id: <input name="tax_id" /></label>
      </p>`
    : undefined;
  return page(
    "Checkout",
    html`${problemNote(problem)}
      <ul>
        ${rows}
      </ul>
      <p>Total: <strong>${formatMoney(sessionTotal(source, session), currency)}</strong></p>
      <form method="post" action="/checkout/${id}/pay">${code}${taxId}<button>Pay</button></form>
      ${button(`/checkout/${id}/decline`, "Pay with a card that is declined")}
      ${cancelUrl === null ? "" : html`<p><a href="${cancelUrl}">Back</a></p>`}`,
  );
}

/** The page to pay an invoice. */
export function invoicePage(invoice: InvoiceRecord, problem?: string): string {
  const { id, number, status, lines, currency } = invoice;
  const rows = lines.map(({ description, amount }) => html`<li>${description}: ${formatMoney(amount, currency)}</li>`);
  const content = html`<ul>
      ${rows}
    </ul>
    <p>To pay: <strong>${formatMoney(amountDue(invoice), currency)}</strong></p>`;
  if (status !== "open" && status !== "uncollectible")
    return page(
      `Invoice ${number}`,
      html`${content}
        <p>${SETTLED[status]}</p>`,
    );
  return page(
    `Invoice ${number}`,
    html`${problemNote(problem)}${content} ${button(`/invoices/${id}/pay`, "Pay")}
    ${button(`/invoices/${id}/decline`, "Pay with a card that is declined")}
    ${button(`/invoices/${id}/void`, "Void it")}`,
  );
}

/**
 * The customer portal: the customer's live subscriptions, each to cancel, to resume, or to pay by another interval, and
 * the invoices.
 */
export function portalPage(source: Source, { id, customer, returnUrl, settings }: PortalRecord): string {
  const { subscriptions, invoices, prices, portalSettings } = source.state;
  const offered = portalSettings[settings ?? ""]?.prices ?? [];
  const isLive = ({ status }: SubscriptionRecord) =>
    status === "trialing" || status === "active" || status === "past_due";
  const live = Object.values(subscriptions).filter((one) => one.customer === customer && isLive(one));
  const rows = live.map(
    (subscription) =>
      html`<li>
        ${subscription.id}, ${subscription.status}
        ${
          endOf(subscription) === null
            ? button(`/portal/${id}/cancel/${subscription.id}`, "Cancel the subscription")
            : button(`/portal/${id}/resume/${subscription.id}`, "Do not cancel the subscription")
        }
        ${offered
          .filter((price) => subscription.items.every((item) => item.price !== price))
          .map((price) =>
            button(
              `/portal/${id}/switch/${subscription.id}/${price}`,
              `Pay by the ${mustFind(prices[price]).recurring?.interval}`,
            ),
          )}
      </li>`,
  );
  const papers = Object.values(invoices)
    .filter((invoice) => invoice.customer === customer)
    .map((invoice) => html`<li><a href="/invoices/${invoice.id}">${invoice.number}</a></li>`);
  return page(
    "Customer portal",
    html`<ul>
        ${rows}
      </ul>
      <h2>Invoices</h2>
      <ul>
        ${papers}
      </ul>
      ${returnUrl === null ? "" : html`<p><a href="${returnUrl}">Back</a></p>`}`,
  );
}

export const problemPage = (problem: string): string => page("That did not work", html`<p>${problem}</p>`);

const problemNote = (problem: string | undefined): Html | undefined =>
  problem === undefined ? undefined : html`<p role="alert"><strong>${problem}</strong></p>`;

const button = (action: string, label: string): Html =>
  html`<form method="post" action="${action}"><button>${label}</button></form>`;

/** A page without scripts and styles: it is for developers, not for buyers. */
const page = (title: string, body: Html): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} &ndash; a stand-in for Stripe</title>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          <p>No money moves here: this is a stand-in for Stripe.</p>
          ${body}
        </main>
      </body>
    </html> `.text;
