import { type Handler, Router } from "express";
import { html, isolate } from "../../platform/html.js";
import { countInWords, minuteOf } from "../../wording.js";
import { BUG_MESSAGE, noteFailure } from "../http.js";
import { scopeOf } from "../request-scope.js";
import { ACCOUNT, linkFrom } from "../navigation.js";
import { PAGE_HEADERS, page } from "./layout.js";

/** Finds the state of a checkout and the seats of its team; undefined for an unknown one. */
export type FindCheckout = (
  clientAddress: string,
  sessionId: string,
) => Promise<
  | {
      readonly team: string;
      readonly state: "paid" | "failed" | "open" | "unpaid" | "late" | "over";
      readonly seats: number | null;
      readonly until: Date | null;
    }
  | undefined
>;

/** The page that the payment provider returns people to from a checkout or the portal, if the client gave no other. */
export function billingPages(find: FindCheckout): Router {
  const router = Router({ caseSensitive: true, strict: true });
  return router.get(PATH, showReturn(find));
}

const PATH = "/billing/return";

const LINK = html`<a href="${linkFrom(PATH, ACCOUNT)}">${ACCOUNT.name}</a>`;
const SEE_ACCOUNT = html`${LINK} shows the subscription and the invoices. You can close this page.`;

const showReturn =
  (find: FindCheckout): Handler =>
  async (request, response) => {
    response.set(PAGE_HEADERS);
    const { session_id: sessionId } = request.query;
    if ("portal" in request.query) {
      response.send(
        page(
          "Back from the customer portal",
          html`<p>What you changed there counts within moments. ${SEE_ACCOUNT}</p>`,
        ),
      );
      return;
    }
    if (typeof sessionId !== "string") {
      response.send(page("Nothing was bought", html`<p>You can close this page, or pay later at ${LINK}.</p>`));
      return;
    }
    try {
      const checkout = await find(scopeOf(response).clientAddress, sessionId);
      response.status(checkout ? 200 : 404).send(showCheckout(checkout));
    } catch (error) {
      response.send(unknownResult(noteFailure(error, response)));
    }
  };

const showCheckout = (checkout: Awaited<ReturnType<FindCheckout>>): string => {
  if (!checkout)
    return page(
      "No such checkout",
      html`<p>It has expired, was replaced by a newer one, or never existed. Go back and begin again.</p>`,
    );
  const { state } = checkout;
  const team = isolate(checkout.team);
  const seats = html`<strong>${countInWords(checkout.seats ?? 0, "seat", "seats")}</strong>`;
  const until = checkout.until && minuteOf(checkout.until);
  if (state === "over")
    return page("It has ended", html`<p>${team} has no paid subscription. To buy seats, go back and begin again.</p>`);
  if (state === "open")
    return page(
      "Not paid yet",
      html`<p>
        The payment for ${team} has not arrived. If you have paid, reload this page in a minute; otherwise go back and
        pay.
      </p>`,
    );
  if (state === "failed")
    return page(
      "The last payment failed",
      html`<p>
        ${team} keeps its ${seats} until ${until}. If the invoice is not paid by then, the team loses its plan. The
        team's owner can pay it at ${LINK}.
      </p>`,
    );
  if (state === "late")
    return page(
      "Not paid",
      html`<p>
        The subscription of ${team} was not paid in time, and paying now does not bring the plan back. The team's owner
        can cancel it at ${LINK}, and buy seats again.
      </p>`,
    );
  if (state === "unpaid")
    return page(
      "Not paid",
      html`<p>
          The subscription of ${team} is not paid, or paused. The team's owner can pay its open invoice at ${LINK}, or
          cancel the subscription and buy seats again.
        </p>
        ${until && html`<p>Paying brings the plan back only before ${until}.</p>`}`,
    );
  const end = until && html`The subscription is cancelled: everything stays until ${until}.`;
  return page("Thank you", html`<p>${team} has ${seats} now. ${end} ${SEE_ACCOUNT}</p>`);
};

const unknownResult = (failure: object | undefined): string =>
  failure
    ? page("One moment", html`<p>We do not know the result of your payment yet. Reload this page in a minute.</p>`)
    : page("Something went wrong", html`<p>${BUG_MESSAGE} Your payment is safe. Reload this page later.</p>`);
