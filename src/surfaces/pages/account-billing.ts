import { LIMITS } from "../../limits.js";
import { type Html, html } from "../../platform/html.js";
import { countInWords, formatMoney, minuteOf } from "../../wording.js";
import { button, linkTo, show } from "./account-frame.js";
import { tableOf } from "./layout.js";

/** The caller's team, as the page shows it. */
export interface ShownTeam {
  readonly id: string;
  readonly name: string;
  readonly maxMembers: number;
  readonly memberCount: number;
}

/** The output of the operation `teamSubscription`. */
export interface ShownSubscription {
  readonly id: string | null;
  readonly status: string;
  readonly plan: string | null;
  readonly seats: number | null;
  readonly nextSeats: number | null;
  readonly memberCount: number;
  readonly interval: string | null;
  readonly graceUntil: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly endsAt: Date | null;
  readonly pendingUpdate: { readonly seats: number; readonly expiresAt: Date } | null;
  readonly hostedInvoiceUrl: string | null;
  readonly stale: boolean;
}

export interface ShownInvoice {
  readonly number: string | null;
  readonly createdAt: Date;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly hostedInvoiceUrl: string | null;
  readonly pdfUrl: string | null;
}

/** The output of the operation `teamUpgradePreview`. */
export interface ShownPreview {
  readonly seats: number;
  readonly seatsInUse: number;
  readonly currency: string;
  readonly proration: number;
  readonly tax: number;
  readonly credit: number;
  readonly nextInvoice: { readonly chargedAt: Date; readonly amount: number; readonly tax: number } | null;
}

export interface Sold {
  readonly freeSeats: number;
  readonly byYear: boolean;
}

interface TeamsAccount {
  readonly team: ShownTeam;
  readonly subscription: ShownSubscription;
  /** Whether the subscription has not ended, and whether all that is due is paid. */
  readonly isLive: boolean;
  readonly isPaid: boolean;
}

export interface JoinedAccount extends TeamsAccount {
  readonly isOwner: false;
}

export interface OwnedAccount extends TeamsAccount {
  readonly isOwner: true;
  /** Undefined if the payment provider does not tell them now. */
  readonly invoices: readonly ShownInvoice[] | undefined;
}

const seatsInWords = (seats: number | null): string => countInWords(seats ?? 0, "seat", "seats");

/** Each state of a subscription in sentences. */
export function statusOf({ subscription, isLive }: TeamsAccount): Html {
  const { seats, nextSeats, memberCount, interval, currentPeriodEnd: end, endsAt, graceUntil } = subscription;
  const { status, plan, pendingUpdate, stale } = subscription;
  const members = countInWords(memberCount, "member", "members");
  if (!isLive) return html`<p>No subscription. ${members}.</p>`;
  const isTrial = status === "trialing";
  const paid = html`<strong>${seatsInWords(seats)}</strong>, ${isTrial ? "on trial" : `paid by the ${interval}`};
    ${members}.`;
  const renewal = endsAt
    ? html`The subscription is cancelled: everything stays until ${minuteOf(endsAt)}.`
    : end &&
      html`${isTrial ? `The first ${interval} is charged` : "It is renewed"} on
      ${minuteOf(end)}${nextSeats === null ? "" : `, with ${seatsInWords(nextSeats)}`}.`;
  const unpaid = `The subscription is ${status === "paused" ? "paused" : "not paid"}`;
  const grace = graceUntil && html`<p>The last payment failed. Plan and seats stay until ${minuteOf(graceUntil)}.</p>`;
  return html`<p>${plan === null ? html`${unpaid}. ${members}.` : html`${paid} ${renewal}`}</p>
    ${plan === null ? undefined : grace}
    ${
      pendingUpdate &&
      html`<p>
        More seats, ${pendingUpdate.seats} in all, wait for their payment until ${minuteOf(pendingUpdate.expiresAt)}.
      </p>`
    }
    ${stale ? html`<p class="aside">This may be outdated: the payment provider does not answer now.</p>` : undefined}`;
}

export function ownersPart(account: OwnedAccount, sold: Sold | undefined, here: string): Html {
  const { team, subscription, isLive, isPaid } = account;
  if (!sold)
    return html`<p>This service sells no seats.</p>
      ${sizeForm(team, here)}`;
  const { plan, endsAt, pendingUpdate, hostedInvoiceUrl } = subscription;
  const cancel = endsAt ? TAKE_BACK : CANCEL;
  return html`${isLive && plan === null ? html`<p>${remedyOf(subscription)}</p>` : undefined}
  ${hostedInvoiceUrl && html`<p><a href="${hostedInvoiceUrl}">Pay or confirm the open invoice</a></p>`}
  ${isLive ? undefined : buyForm(team, sold, here)}
  ${isPaid && !pendingUpdate ? seatsForm(subscription, here) : undefined}
  ${isLive ? button(here, plan === null ? CANCEL_AT_ONCE : cancel) : undefined}`;
}

const CANCEL = ["/cancel", "Cancel at the end of the period"] as const;
const CANCEL_AT_ONCE = ["/cancel", "Cancel the subscription at once"] as const;
const TAKE_BACK = ["/resume", "Take the cancellation back"] as const;

/** What to do about a live subscription that gives no plan. */
function remedyOf({ status, hostedInvoiceUrl, currentPeriodEnd: end }: ShownSubscription): string {
  const again = "cancel the subscription, and buy seats again";
  if (hostedInvoiceUrl === null) return `To get the plan back, ${again}.`;
  const isInTime = end !== null && (status === "unpaid" || status === "past_due");
  return isInTime
    ? `If the open invoice is paid before ${minuteOf(end)}, the plan is back at once. Do not pay it later: then ${again}.`
    : `Pay the open invoice. If the plan is not back then, ${again}.`;
}

export const seatsField = (seats: number): Html =>
  html`<label for="seats">Seats</label>
    <input id="seats" name="seats" type="number" required min="1" max="${LIMITS.teams.members}" value="${seats}" />`;

export const freeNote = ({ freeSeats }: Sold): string =>
  `Up to ${countInWords(freeSeats, "member is", "members are")} free. For more, buy a seat for each member.`;

/** An old page resizes no other team. */
const teamField = (id: string): Html => html`<input type="hidden" name="team" value="${id}" />`;

/** Where seats cost nothing. */
const sizeForm = ({ id, maxMembers }: ShownTeam, here: string): Html =>
  html`<form method="post" action="${linkTo(here, "/size")}">
    ${teamField(id)}${seatsField(maxMembers)}
    <button class="main">Change the number</button>
  </form>`;

/** Seats that are free need no payment, so their number can be changed alone. */
const buyForm = ({ id, maxMembers }: ShownTeam, sold: Sold, here: string): Html =>
  html`<p>${freeNote(sold)}</p>
    <form method="post" action="${linkTo(here, "/buy")}">
      ${teamField(id)}${seatsField(maxMembers)}
      <p class="aside">The payment page shows the price before anything is paid.</p>
      <button class="main" name="interval" value="month">Buy by the month</button>
      ${sold.byYear ? html`<button name="interval" value="year">Buy by the year</button>` : undefined}
      <button formaction="${linkTo(here, "/size")}">Change the number without buying</button>
    </form>`;

const seatsForm = ({ seats, nextSeats }: ShownSubscription, here: string): Html =>
  html`<form method="post" action="${linkTo(here, "/preview")}">
    ${seatsField(nextSeats ?? seats ?? 1)}
    <p class="aside">
      More count at once, fewer from the next period on. The price is shown before anything is changed.
    </p>
    <button class="main">Show the price</button>
  </form>`;

const portalPart = ({ byYear }: Sold, here: string): Html =>
  html`${button(here, ["/portal", "Open the customer portal"])}
    <p class="aside">
      There you change your card, address or tax id${byYear ? ", or between month and year" : ""}, and find older
      invoices.
    </p>`;

/** What the team has paid, and where its owner changes how; nothing before a first purchase. */
export function invoicesPart({ subscription, invoices }: OwnedAccount, sold: Sold, here: string): Html | undefined {
  if (invoices?.length === 0 && subscription.id === null) return undefined;
  const unknown = html`<p class="aside">The invoices cannot be shown now. Reload this page later.</p>`;
  return html`<h2>Invoices</h2>
    ${invoices ? invoicesTable(invoices) : unknown}${portalPart(sold, here)}`;
}

const invoicesTable = (invoices: readonly ShownInvoice[]): Html =>
  tableOf(
    ["Date", "Number", "Total", "State", "Links"],
    invoices.map(({ createdAt, number, amount, currency, status, hostedInvoiceUrl, pdfUrl }) => ({
      cells: [
        minuteOf(createdAt),
        number ?? "draft",
        formatMoney(amount, currency),
        status,
        html`${hostedInvoiceUrl && html`<a href="${hostedInvoiceUrl}">Open</a>`}
        ${pdfUrl && html`<a href="${pdfUrl}">PDF</a>`}`,
      ],
    })),
  );

/** What a price depends on. If it has changed when the seats are ordered, the price shown before is another one. */
export const pricedFor = ({ seats, interval, currentPeriodEnd: end }: ShownSubscription): string =>
  [seats, interval, end?.getTime()].join();

/** What another number of seats costs, and the button that orders it. */
export function previewPage(preview: ShownPreview, subscription: ShownSubscription, here: string): string {
  const { seats, seatsInUse, currency, proration, tax, credit, nextInvoice } = preview;
  const { seats: present } = subscription;
  const money = (amount: number): string => formatMoney(amount, currency);
  const withTax = (amount: number, part: number): string =>
    part === 0 ? money(amount) : `${money(amount)}, of which ${money(part)} tax`;
  const isMore = seats > (present ?? 0);
  const order = seats === present ? `Keep ${seatsInWords(seats)}` : "Change from the next period on";
  const terms = [["Now", isMore ? withTax(proration, tax) : "Nothing is charged or paid back."]];
  if (nextInvoice) terms.push([`On ${minuteOf(nextInvoice.chargedAt)}`, withTax(nextInvoice.amount, nextInvoice.tax)]);
  if (credit > 0) terms.push(["Credit", `${money(credit)}, taken off what is charged.`]);
  if (credit < 0) terms.push(["Still to be paid", `${money(-credit)}, added to what is charged.`]);
  return show(
    here,
    seatsInWords(seats),
    html`<dl>
        ${terms.map(
          ([name, amount]) =>
            html`<dt>${name}</dt>
              <dd>${amount}</dd> `,
        )}
      </dl>
      ${
        seatsInUse > seats
          ? html`<p>
              Members and pending invitations take ${seatsInWords(seatsInUse)}: so many are needed. Remove some first.
            </p>`
          : html`<form method="post" action="${linkTo(here, "/seats")}">
              <input type="hidden" name="seats" value="${seats}" />
              <input type="hidden" name="priced-for" value="${pricedFor(subscription)}" />
              <button class="main">${isMore ? "Buy now" : order}</button>
            </form>`
      }
      <p><a href="${linkTo(here)}">Back, without a change</a></p>`,
  );
}

/** A link to a page of the payment provider: the policy of these pages forbids a redirect there. */
export const leadPage = (title: string, url: string, here: string): string =>
  show(
    here,
    title,
    html`<p><a href="${url}">Continue to the payment provider</a></p>
      <p class="aside"><a href="${linkTo(here)}">Back</a></p>`,
  );
