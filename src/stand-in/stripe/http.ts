import express, { type Express, type Handler, type Request, type Response, Router } from "express";
import type { Api, Outgoing } from "./api.js";
import { control } from "./control.js";
import { passTime } from "./due.js";
import { ApiError, invalidRequest } from "./errors.js";
import { invoicePdf } from "./invoice-pdf.js";
import type { StandInStripe } from "./stand-in-stripe.js";
import { declineInvoice, payInvoice, voidInvoice } from "./billing.js";
import { assertOpen, cancelInPortal, paySession, resumeInPortal, switchInPortal } from "./lifecycle.js";
import { checkoutPage, invoicePage, portalPage, problemPage } from "./pages.js";
import { atAddress } from "./routes/route.js";
import type { Scene } from "./scene.js";
import type { SessionRecord } from "./state.js";

const BODY_MAX_BYTES = 256 * 1_024;

/** The HTTP application of the stand-in: the API, its pages, and its control. */
export function application(scene: Scene, api: Api, standIn: StandInStripe): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use("/_stand-in", control(standIn));
  app.use("/v1", express.text({ type: () => true, limit: BODY_MAX_BYTES }), serveApi(api));
  app.use(pages(scene));
  return app;
}

const serveApi =
  (api: Api): Handler =>
  async (request, response) => {
    const { originalUrl, method, headers } = request;
    const [path = "", query = ""] = originalUrl.split("?");
    const body: unknown = request.body;
    const encoded = [query, typeof body === "string" ? body : ""].filter((part) => part !== "").join("&");
    write(await api.answer({ method, path, encoded, headers }), response);
  };

function write(outgoing: Outgoing, response: Response): void {
  if (outgoing.kind === "silence") return;
  if (outgoing.kind === "cut") response.socket?.destroy();
  else response.writeHead(outgoing.status, outgoing.headers).end(outgoing.body);
}

function pages(scene: Scene): Router {
  const router = Router();
  const sessionIn = (request: Request) => atAddress(scene.state.sessions, "checkout.session", idIn(request));
  const invoiceIn = (request: Request) => atAddress(scene.state.invoices, "invoice", idIn(request));
  const portalIn = (request: Request) => atAddress(scene.state.portals, "billing_portal.session", idIn(request));
  const act = (handle: (request: Request, response: Response) => void): Handler => {
    return (request, response) => {
      try {
        passTime(scene, scene.store.nowMs());
        handle(request, response);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        response.status(error.status).send(problemPage(error.message));
      }
      scene.store.save();
    };
  };
  router.get(
    "/checkout/:id",
    act((request, response) => void response.send(checkoutPage(scene, sessionIn(request)))),
  );
  router.post(
    "/checkout/:id/pay",
    express.urlencoded({ extended: false, limit: BODY_MAX_BYTES }),
    act((request, response) => {
      const session = sessionIn(request);
      const given = new Map(Object.entries((request.body ?? {}) as object));
      const fieldOf = (name: string) => String(given.get(name) ?? "").trim();
      // A second click does not pay again, and leads to the same page.
      if (session.status !== "complete")
        paySession(scene, session, { promotionCode: fieldOf("code"), taxId: fieldOf("tax_id") });
      response.redirect(303, buildReturnUrl(session));
    }),
  );
  router.post(
    "/checkout/:id/decline",
    act((request, response) => {
      const session = sessionIn(request);
      assertOpen(session);
      response.status(402).send(checkoutPage(scene, session, "Your card was declined."));
    }),
  );
  router.get(
    "/invoices/:id",
    act((request, response) => void response.send(invoicePage(invoiceIn(request)))),
  );
  router.get(
    "/invoices/:id/pdf",
    act((request, response) => void response.type("pdf").send(invoicePdf(invoiceIn(request)))),
  );
  router.post(
    "/invoices/:id/pay",
    act((request, response) => {
      const invoice = invoiceIn(request);
      if (invoice.status !== "paid") payInvoice(scene, invoice);
      response.send(invoicePage(invoice));
    }),
  );
  router.post(
    "/invoices/:id/decline",
    act((request, response) => {
      const invoice = invoiceIn(request);
      declineInvoice(scene, invoice);
      response.status(402).send(invoicePage(invoice, "Your card was declined."));
    }),
  );
  router.post(
    "/invoices/:id/void",
    act((request, response) => {
      const invoice = invoiceIn(request);
      voidInvoice(scene, invoice);
      response.send(invoicePage(invoice));
    }),
  );
  router.get(
    "/portal/:id",
    act((request, response) => void response.send(portalPage(scene, portalIn(request)))),
  );
  for (const [name, change] of Object.entries({ cancel: cancelInPortal, resume: resumeInPortal })) {
    router.post(
      `/portal/:id/${name}/:subscription`,
      act((request, response) => {
        const portal = portalIn(request);
        const id = String(request.params["subscription"]);
        change(scene, atAddress(scene.state.subscriptions, "subscription", id));
        response.redirect(303, `/portal/${portal.id}`);
      }),
    );
  }
  router.post(
    "/portal/:id/switch/:subscription/:price",
    act((request, response) => {
      const portal = portalIn(request);
      const { subscription, price } = request.params;
      const prices = scene.state.portalSettings[portal.settings ?? ""]?.prices ?? [];
      if (!prices.includes(String(price))) throw invalidRequest("The portal does not offer this price.");
      const changed = atAddress(scene.state.subscriptions, "subscription", String(subscription));
      switchInPortal(scene, changed, atAddress(scene.state.prices, "price", String(price)));
      response.redirect(303, `/portal/${portal.id}`);
    }),
  );
  return router;
}

const idIn = (request: Request): string => String(request.params["id"]);

/** The URL to which a buyer returns after the payment. */
const buildReturnUrl = ({ successUrl, id }: SessionRecord): string =>
  successUrl.replaceAll("{CHECKOUT_SESSION_ID}", id);
