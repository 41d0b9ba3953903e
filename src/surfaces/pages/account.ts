import { LIMITS } from "../../limits.js";
import type { Failure } from "../../operation/failure.js";
import { PRODUCT } from "../../operation/product.js";
import { type Html, html, isolate } from "../../platform/html.js";
import { countInWords, formatMoney, minuteOf } from "../../wording.js";
import { ACCOUNT, linkFrom, navigation } from "../navigation.js";
import { ENTER_CODE, PROBLEM, codeField, describeField, emailField, problemNote } from "./forms.js";
import { page, tableOf } from "./layout.js";

/** The caller's team, as the page shows it. */
export interface ShownTeam {
  readonly id: string;
  readonly name: string;
  readonly maxMembers: number;
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

/** What a signed-in person sees. */
export interface Account {
  readonly email: string;
  /** Null for somebody without a team. */
  readonly owned: OwnedAccount | JoinedAccount | null;
  /** Undefined if this service sells nothing. */
  readonly sold: Sold | undefined;
}

interface Sold {
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

interface JoinedAccount extends TeamsAccount {
  readonly isOwner: false;
}

interface OwnedAccount extends TeamsAccount {
  readonly isOwner: true;
  /** Undefined if the payment provider does not tell them now. */
  readonly invoices: readonly ShownInvoice[] | undefined;
}

interface Place {
  /** The path of the request that the page answers: links are relative to it. */
  readonly here: string;
  /** What was wrong with the last attempt. */
  readonly problem?: Failure | undefined;
}

const show = (here: string, title: string, body: Html, event?: string): string =>
  page(title, body, { around: navigation(ACCOUNT.path, here), event });

const SIGN_IN = "Sign in";

const linkTo = (here: string, below = ""): string => linkFrom(here, { path: ACCOUNT.path + below });

/** Where somebody who is not signed in requests a code. */
export function signInPage({ here, problem }: Place, email?: string): string {
  return show(
    here,
    SIGN_IN,
    html`<p>${PRODUCT}</p>
      <p>
        See here what your team has bought, or create a team. Its owner buys seats, changes them, and finds the
        invoices.
      </p>
      ${problemNote(problem)}
      <form method="post" action="${linkTo(here, "/code")}">
        ${emailField(email, describeField("about-email", problem))}
        <p class="aside" id="about-email">
          A code is sent there, also if you are new. With it you are signed in for an hour.
        </p>
        <button class="main">Send a code</button>
      </form>
      <p class="aside"><a href="${linkTo(here)}?code">I have a code</a></p>`,
    problem && PROBLEM,
  );
}

/** Where they enter it; without an address if the browser has forgotten which one it was sent to. */
export function codePage({ here, problem }: Place, email?: string): string {
  const known = email && html`<input type="hidden" name="email" value="${email}" />`;
  const again =
    known &&
    html`<form method="post" action="${linkTo(here, "/code")}">${known}<button>Send another code</button></form>`;
  return show(
    here,
    SIGN_IN,
    html`${problemNote(problem)}
      <form method="post" action="${linkTo(here, "/sign-in")}">
        ${codeField(email || "you", problem)}${known || emailField()}
        <div><button class="main">Sign in</button></div>
      </form>
      ${again}
      <p class="aside"><a href="${linkTo(here)}">${known ? "Use another address" : "Request a code"}</a></p>`,
    problem ? PROBLEM : ENTER_CODE,
  );
}

/** The team's subscription, and for its owner all that changes it. */
export function accountPage({ email, owned, sold }: Account, { here, problem }: Place): string {
  const team = owned ? teamPart(owned, sold, here) : teamForm(sold, here);
  return show(
    here,
    ACCOUNT.name,
    html`${problemNote(problem)}${team}
      <form method="post" action="${linkTo(here, "/sign-out")}">
        <p class="aside">Signed in as ${email}.</p>
        <button>Sign out</button>
      </form>`,
    problem && PROBLEM,
  );
}

const teamForm = (sold: Sold | undefined, here: string): Html =>
  html`<p>You are in no team. You join one by the link in an invitation's mail, or create your own:</p>
    <form method="post" action="${linkTo(here, "/team")}">
      <label for="name">Name of the team</label>
      <input id="name" name="name" required autocomplete="off" />
      ${seatsField(sold?.freeSeats ?? 1)}
      <p class="aside">As many people can be in it, you included. ${sold && freeNote(sold)}</p>
      <button class="main">Create the team</button>
    </form>`;

function teamPart(account: OwnedAccount | JoinedAccount, sold: Sold | undefined, here: string): Html {
  const { team, isOwner } = account;
  return html`<h2>${isolate(team.name)}</h2>
    ${statusOf(account)}
    ${isOwner ? ownersPart(account, sold, here) : html`<p>Only the team's owner can change this.</p>`}`;
}

const seatsInWords = (seats: number | null): string => countInWords(seats ?? 0, "seat", "seats");

/** Each state of a subscription in sentences. */
function statusOf({ subscription, isLive }: TeamsAccount): Html {
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

function ownersPart(account: OwnedAccount, sold: Sold | undefined, here: string): Html {
  if (!sold) return html`<p>This service sells no seats.</p>`;
  const { team, subscription, invoices, isLive, isPaid } = account;
  const { plan, endsAt, pendingUpdate, hostedInvoiceUrl } = subscription;
  const cancel = endsAt ? TAKE_BACK : CANCEL;
  return html`${isLive && plan === null ? html`<p>${remedyOf(subscription)}</p>` : undefined}
  ${hostedInvoiceUrl && html`<p><a href="${hostedInvoiceUrl}">Pay or confirm the open invoice</a></p>`}
  ${isLive ? undefined : buyForm(team, sold, here)}
  ${isPaid && !pendingUpdate ? seatsForm(subscription, here) : undefined}
  ${isLive ? button(here, plan === null ? CANCEL_AT_ONCE : cancel) : undefined}
  ${invoices?.length === 0 && subscription.id === null ? undefined : [portalPart(sold, here), invoicesPart(invoices)]}`;
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

const button = (here: string, [below, text]: readonly [string, string]): Html =>
  html`<form method="post" action="${linkTo(here, below)}"><button>${text}</button></form>`;

const seatsField = (seats: number): Html =>
  html`<label for="seats">Seats</label>
    <input id="seats" name="seats" type="number" required min="1" max="${LIMITS.teams.members}" value="${seats}" />`;

const freeNote = ({ freeSeats }: Sold): string =>
  `Up to ${countInWords(freeSeats, "member is", "members are")} free. For more, buy a seat for each member.`;

const buyForm = ({ maxMembers }: ShownTeam, sold: Sold, here: string): Html =>
  html`<p>${freeNote(sold)}</p>
    <form method="post" action="${linkTo(here, "/buy")}">
      ${seatsField(maxMembers)}
      <p class="aside">The payment page shows the price before anything is paid.</p>
      <button class="main" name="interval" value="month">Buy by the month</button>
      ${sold.byYear ? html`<button name="interval" value="year">Buy by the year</button>` : undefined}
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

function invoicesPart(invoices: OwnedAccount["invoices"]): Html {
  if (!invoices) return html`<p class="aside">The invoices cannot be shown now. Reload this page later.</p>`;
  return html`<h2>Invoices</h2>
    ${tableOf(
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
    )}`;
}

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

/** For a failure without a form to show it at. */
export const accountProblemPage = (failure: Failure | undefined, note: Html, here: string): string =>
  show(
    here,
    "That did not work",
    html`${problemNote(failure) ?? note}
      <p><a href="${linkTo(here)}">Back</a></p>`,
  );
