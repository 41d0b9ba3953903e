import express, { type Handler, type Request, type Response, Router } from "express";
import { declineInvoice, payInvoice, voidInvoice } from "./billing.js";
import { passTime } from "./due.js";
import { ApiError, invalidRequest } from "./errors.js";
import { invoicePdf } from "./invoice-pdf.js";
import { assertOpen, cancelInPortal, paySession, resumeInPortal, switchInPortal } from "./lifecycle.js";
import { checkoutPage, invoicePage, portalPage, problemPage } from "./pages.js";
import { findNamed } from "./routes/route.js";
import type { Scene } from "./scene.js";
import type { InvoiceRecord, SessionRecord, SubscriptionRecord } from "./state.js";

const FORM_MAX_BYTES = 256 * 1_024;

type Act = (scene: Scene, request: Request, response: Response) => void;

/** The pages for buyers, and what their buttons do. */
export function pages(scene: Scene): Router {
  const router = Router();
  const readForm = express.urlencoded({ inflate: false, extended: false, limit: FORM_MAX_BYTES });
  router.get("/checkout/:id", serve(scene, showCheckout));
  router.post("/checkout/:id/pay", readForm, serve(scene, payCheckout));
  router.post("/checkout/:id/decline", serve(scene, declineCheckout));
  router.get("/invoices/:id", serve(scene, showInvoice));
  router.get("/invoices/:id/pdf", serve(scene, sendInvoicePdf));
  for (const [name, change] of Object.entries({ pay: payOnce, void: voidInvoice })) {
    router.post(`/invoices/:id/${name}`, serve(scene, changeInvoice(change)));
  }
  router.post("/invoices/:id/decline", serve(scene, declinePayment));
  router.get("/portal/:id", serve(scene, showPortal));
  for (const [name, change] of Object.entries({ cancel: cancelInPortal, resume: resumeInPortal })) {
    router.post(`/portal/:id/${name}/:subscription`, serve(scene, changeSubscription(change)));
  }
  router.post("/portal/:id/switch/:subscription/:price", serve(scene, switchPrice));
  return router;
}

/** Lets time pass until now, then acts, and saves what has changed. */
const serve =
  (scene: Scene, act: Act): Handler =>
  (request, response) => {
    try {
      passTime(scene, scene.store.nowMs());
      act(scene, request, response);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      response.status(error.status).send(problemPage(error.message));
    }
    scene.store.save();
  };

const idIn = (request: Request): string => String(request.params["id"]);
const sessionIn = ({ state }: Scene, request: Request) => findNamed(state.sessions, "checkout.session", idIn(request));
const invoiceIn = ({ state }: Scene, request: Request) => findNamed(state.invoices, "invoice", idIn(request));
const portalIn = ({ state }: Scene, request: Request) =>
  findNamed(state.portals, "billing_portal.session", idIn(request));
const subscriptionIn = ({ state }: Scene, request: Request) =>
  findNamed(state.subscriptions, "subscription", String(request.params["subscription"]));

const showCheckout: Act = (scene, request, response) =>
  void response.send(checkoutPage(scene, sessionIn(scene, request)));

const payCheckout: Act = (scene, request, response) => {
  const session = sessionIn(scene, request);
  const given = new Map(Object.entries((request.body ?? {}) as object));
  const fieldOf = (name: string) => String(given.get(name) ?? "").trim();
  // A second click does not pay again, and leads to the same page.
  if (session.status !== "complete")
    paySession(scene, session, { promotionCode: fieldOf("code"), taxId: fieldOf("tax_id") });
  response.redirect(303, buildReturnUrl(session));
};

const declineCheckout: Act = (scene, request, response) => {
  const session = sessionIn(scene, request);
  assertOpen(session);
  response.status(402).send(checkoutPage(scene, session, "Your card was declined."));
};

const showInvoice: Act = (scene, request, response) => void response.send(invoicePage(invoiceIn(scene, request)));

const sendInvoicePdf: Act = (scene, request, response) =>
  void response.type("pdf").send(invoicePdf(invoiceIn(scene, request)));

const changeInvoice =
  (change: (scene: Scene, invoice: InvoiceRecord) => void): Act =>
  (scene, request, response) => {
    const invoice = invoiceIn(scene, request);
    change(scene, invoice);
    response.send(invoicePage(invoice));
  };

const payOnce = (scene: Scene, invoice: InvoiceRecord): void => {
  if (invoice.status !== "paid") payInvoice(scene, invoice);
};

const declinePayment: Act = (scene, request, response) => {
  const invoice = invoiceIn(scene, request);
  declineInvoice(scene, invoice);
  response.status(402).send(invoicePage(invoice, "Your card was declined."));
};

const showPortal: Act = (scene, request, response) => void response.send(portalPage(scene, portalIn(scene, request)));

const changeSubscription =
  (change: (scene: Scene, subscription: SubscriptionRecord) => void): Act =>
  (scene, request, response) => {
    const portal = portalIn(scene, request);
    change(scene, subscriptionIn(scene, request));
    response.redirect(303, `/portal/${portal.id}`);
  };

const switchPrice: Act = (scene, request, response) => {
  const portal = portalIn(scene, request);
  const price = String(request.params["price"]);
  const { prices = [], anchor } = scene.state.portalSettings[portal.settings ?? ""] ?? {};
  if (!prices.includes(price)) throw invalidRequest("The portal does not offer this price.");
  // In flexible billing, no other change moves the day of the renewal:
  // https://docs.stripe.com/billing/subscriptions/billing-mode/compare
  if (anchor !== "now") throw invalidRequest("The stand-in changes prices only with `billing_cycle_anchor: now`.");
  switchInPortal(scene, subscriptionIn(scene, request), findNamed(scene.state.prices, "price", price));
  response.redirect(303, `/portal/${portal.id}`);
};

/** The URL to which a buyer returns after the payment. */
const buildReturnUrl = ({ successUrl, id }: SessionRecord): string =>
  successUrl.replaceAll("{CHECKOUT_SESSION_ID}", id);
