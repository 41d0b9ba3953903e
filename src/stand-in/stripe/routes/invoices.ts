import { giveInvoiceUp, previewInvoice, voidInvoice } from "../billing.js";
import { invoiceObject, lineObject } from "../invoice-object.js";
import { endOf } from "../objects.js";
import { COMMON, PAGING, boolean, fields, oneOf, optional, text } from "../params.js";
import { CHANGED_ITEMS, changedItems } from "./items.js";
import { type Route, exclusive, listOf, route, findCustomer, findNamed } from "./route.js";
import { endOrNone } from "./subscriptions.js";

const LIST = fields({
  ...PAGING,
  customer: optional(text()),
  subscription: optional(text()),
  status: optional(oneOf("draft", "open", "paid", "uncollectible", "void")),
});

const PREVIEW = fields({
  ...COMMON,
  subscription: text(),
  subscription_details: optional(
    fields({
      cancel_at: optional(endOrNone),
      cancel_at_period_end: optional(boolean),
      items: optional(CHANGED_ITEMS),
      proration_behavior: optional(oneOf("always_invoice", "create_prorations", "none")),
    }),
  ),
});

export const invoiceRoutes: readonly Route[] = [
  route("GET", "/v1/invoices", LIST, (scene, params) => {
    if (params.customer !== undefined) findCustomer(scene, params.customer);
    const { customer, subscription, status } = params;
    const matching = Object.values(scene.state.invoices).filter(
      (invoice) =>
        (customer === undefined || invoice.customer === customer) &&
        (subscription === undefined || invoice.subscription === subscription) &&
        (status === undefined || invoice.status === status),
    );
    return listOf("/v1/invoices", matching, params, (invoice) => invoiceObject(scene, invoice));
  }),
  route("POST", "/v1/invoices/create_preview", PREVIEW, (scene, params) => {
    const subscription = findNamed(scene.state.subscriptions, "subscription", params.subscription, "subscription");
    const {
      items: given,
      proration_behavior: behavior,
      cancel_at: at,
      cancel_at_period_end: isLast,
    } = params.subscription_details ?? {};
    exclusive({ cancel_at: at, cancel_at_period_end: isLast });
    const isTakenBack = at === null || isLast === false;
    const end = isTakenBack ? null : endOf(subscription);
    const preview = previewInvoice(scene, subscription, {
      items: given ? changedItems(scene, subscription, given) : subscription.items,
      prorates: behavior !== "none",
      isRenewed: end === null || end > subscription.periodEnd,
    });
    scene.previews.set(subscription.id, preview);
    return invoiceObject(scene, preview);
  }),
  route("GET", "/v1/invoices/:id/lines", fields(PAGING), (scene, params, id) => {
    const preview = [...scene.previews.values()].find((each) => each.id === id);
    const invoice = preview ?? findNamed(scene.state.invoices, "invoice", id);
    // Lines are listed from the first on; `listOf` lists the newest first.
    const lines = invoice.lines.toReversed();
    return listOf(`/v1/invoices/${id}/lines`, lines, params, (line) => lineObject(scene, line, invoice));
  }),
  route("GET", "/v1/invoices/:id", fields(COMMON), (scene, _params, id) =>
    invoiceObject(scene, findNamed(scene.state.invoices, "invoice", id)),
  ),
  route("POST", "/v1/invoices/:id/void", fields(COMMON), (scene, _params, id) => {
    const invoice = findNamed(scene.state.invoices, "invoice", id);
    voidInvoice(scene, invoice);
    return invoiceObject(scene, invoice);
  }),
  route("POST", "/v1/invoices/:id/mark_uncollectible", fields(COMMON), (scene, _params, id) => {
    const invoice = findNamed(scene.state.invoices, "invoice", id);
    giveInvoiceUp(scene, invoice);
    return invoiceObject(scene, invoice);
  }),
];
