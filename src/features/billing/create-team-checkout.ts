import type Stripe from "stripe";
import { Field, InputType, ObjectType, registerEnumType } from "type-graphql";
import { MINUTE_MS } from "../../durations.js";
import { Nullable, TextLength } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { defineTeamOperation } from "../../operation/operation.js";
import type { MembersTeam } from "../../operation/standing.js";
import type { CheckoutSettings } from "../../platform/billing/billing.js";
import { PaymentsError, type Prices } from "../../platform/billing/payments.js";
import type { Database } from "../../platform/database/database.js";
import { AccountBusy, BillingNotConfigured, PaymentProviderError } from "./failures.js";
import type { Requests } from "./request-kinds.js";
import { requesterOf } from "./requester.js";
import { type BillingAccount, accountOf, isLive } from "./account.js";
import { type BillingSession, withBillingSession } from "./session.js";
import { RETURN_URL_MAX, readReturnUrl } from "./return-url.js";
import { PROVIDER_NOTE, RECORDED_WHEN_DONE } from "./team-subscription.js";

/** The period that is paid at once. */
export enum BillingInterval {
  MONTH = "month",
  YEAR = "year",
}
registerEnumType(BillingInterval, {
  name: "BillingInterval",
  description: "The period that is paid at once.",
  valuesConfig: {
    MONTH: { description: "A month." },
    YEAR: { description: "A year, if the service's operator offers that." },
  },
});

@InputType({ description: "What the owner buys, and where they continue after the payment page." })
export class CreateTeamCheckoutInput {
  @Field(() => BillingInterval, {
    defaultValue: BillingInterval.MONTH,
    description: "The period that is paid at once.",
  })
  interval!: BillingInterval;

  @Field(() => String, {
    nullable: true,
    description:
      "Where to continue after the payment, on an origin that the service's operator allows; `{CHECKOUT_SESSION_ID}` " +
      "in it is replaced. By default a page of this service that shows what was bought.",
  })
  @Nullable()
  @TextLength(1, RETURN_URL_MAX)
  successUrl?: string | null;

  @Field(() => String, { nullable: true, description: "Where to return without payment, on such an origin." })
  @Nullable()
  @TextLength(1, RETURN_URL_MAX)
  cancelUrl?: string | null;
}

@ObjectType({ description: "A payment page of the provider, on which seats are bought." })
export class TeamCheckout {
  @Field(() => String, { description: "The provider's id of the checkout." })
  sessionId!: string;

  @Field(() => String, { description: "Where the owner pays." })
  url!: string;

  @Field(() => Date, { description: "When it expires." })
  expiresAt!: Date;
}

export class AlreadySubscribed extends Failure {
  readonly kind = "conflict";
  override readonly reason = "already_subscribed";

  constructor() {
    super(
      "The team already has a subscription, which `teamSubscription` shows. `upgradeTeam` buys more seats. If it was " +
        "cancelled, `resumeTeamSubscription` takes that back. If its `plan` is null, it is not paid: pay at its " +
        "`hostedInvoiceUrl`, if that is not null, or end it with `cancelTeamSubscription` and buy seats again.",
    );
  }
}

export const createTeamCheckout = defineTeamOperation({
  name: "createTeamCheckout",
  effect: "transaction",
  summary: "Opens a payment page on which the owner buys `maxMembers` seats, or returns the open one.",
  notes:
    "An open checkout for the same number of seats and period is returned again, even if the URLs differ. A checkout " +
    "for another number or period replaces the previous one, and one at a price that has changed is withdrawn. A " +
    "team's customer at the payment provider is only for this service: any other subscription or open checkout of it " +
    `is ended. ${PROVIDER_NOTE}`,
  input: CreateTeamCheckoutInput,
  output: TeamCheckout,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [AlreadySubscribed, PaymentProviderError, BillingNotConfigured],
  rest: { method: "POST", path: "/billing/team-checkout", status: 201 },
  example: {
    input: { successUrl: "https://app.example.com/billing?session={CHECKOUT_SESSION_ID}" },
    output: {
      sessionId: "cs_live_a1q2W3e4R5t6Y7u8I9o0",
      url: "https://checkout.stripe.com/c/pay/cs_live_a1q2W3e4R5t6Y7u8I9o0",
      expiresAt: new Date("2026-03-03T22:56:04.000Z"),
    },
  },
  audit: RECORDED_WHEN_DONE,
  check(context, input) {
    buildReturns(context, input);
    const { payments } = context.billing;
    if (payments) priceFor(payments.prices, input);
  },
  async prepare(context, input, { team: { id }, again }) {
    return withBillingSession(context, id, async (session) => {
      const { requests, prices } = session;
      await requests.resend();
      // Another request with the Idempotency-Key may have opened one for another period: its page stays.
      await requests.wasDone("checkout", requesterOf(context));
      // The lock may have taken a while: the team may have another owner or size now.
      const price = priceFor(prices, input);
      await openCheckout(context, session, { team: await again(), price, returns: buildReturns(context, input) });
      return price;
    });
  },
  async handle(context, _input, { team: { id } }, price) {
    const account = await accountOf(context, id);
    const { checkoutId, checkoutUrl, checkoutExpiresAt, checkoutPriceId } = account;
    // A moment ago it was paid, withdrawn because the team grows, or replaced by one for another period.
    if (!checkoutId || !checkoutUrl || !checkoutExpiresAt || checkoutPriceId !== price)
      throw isLive(account) ? new AlreadySubscribed() : new AccountBusy();
    return { sessionId: checkoutId, url: checkoutUrl, expiresAt: checkoutExpiresAt };
  },
});

/** Where Stripe sends the owner afterwards. */
interface Returns {
  readonly success_url: string;
  readonly cancel_url: string;
}

/** @throws InvalidInput for an address that is not allowed. */
function buildReturns(context: Context, { successUrl, cancelUrl }: CreateTeamCheckoutInput): Returns {
  const back = `${context.publicUrl()}/billing/return`;
  return {
    success_url: readReturnUrl(context, "successUrl", successUrl) ?? `${back}?session_id={CHECKOUT_SESSION_ID}`,
    cancel_url: readReturnUrl(context, "cancelUrl", cancelUrl) ?? back,
  };
}

/** @throws InvalidInput for a period that is not sold. */
function priceFor(prices: Prices, { interval }: CreateTeamCheckoutInput): string {
  const price = prices[interval];
  if (price !== undefined) return price;
  throw InvalidInput.at("interval", "must be `month`: this service sells no other periods");
}

interface Wanted {
  readonly team: MembersTeam;
  readonly price: string;
  readonly returns: Returns;
}

/** An open checkout is only returned if it is valid for at least this long. */
const USABLE_MS = 10 * MINUTE_MS;

/** Leaves exactly one checkout open, for `maxMembers` seats. */
async function openCheckout(context: Context, session: BillingSession, wanted: Wanted): Promise<void> {
  const { team, price } = wanted;
  const { checkouts, copy, requests } = session;
  const seats = String(team.maxMembers);
  const known = await session.account();
  // Another request opened the same checkout while this one waited for the lock.
  const isSameOffer = known.checkoutPriceId === price && String(known.checkoutSeats) === seats;
  if (checkouts.isNew(known) && isSameOffer) return;
  const requester = requesterOf(context);
  const customer = await ensureCustomer(context, session, team);
  // The list first, then the copy: in the other order, a checkout that is paid in between would be in neither.
  const open = await checkouts.list(customer);
  const account = await copy.refresh();
  if (isLive(account)) throw new AlreadySubscribed();
  const usableUntil = context.now().getTime() + USABLE_MS;
  const same = open.find(
    ({ metadata, expires_at: end }) =>
      metadata?.["seats"] === seats && metadata["price"] === price && end * 1_000 > usableUntil,
  );
  const others = open.filter((checkout) => checkout !== same);
  const { wasPaid } = await checkouts.withdraw(others, requester);
  // Stripe creates the subscription a moment after the payment: with a second checkout the team could pay twice.
  if (wasPaid) throw isLive(await copy.refresh()) ? new AlreadySubscribed() : new PaymentProviderError();
  if (same) return keepCheckout(session, same, team);
  const request = newCheckout(context.billing.checkout, { customer, account }, wanted);
  await requests.send("checkout", request, requester, (inner) => assertSameSize(inner, team));
}

/**
 * The team's row is locked: from then on, a team that grows withdraws the checkout.
 * @throws AccountBusy when the team's size has changed since it was read.
 */
async function assertSameSize({ models }: Database, { id, maxMembers }: MembersTeam): Promise<void> {
  if ((await models.team.count({ where: { id, maxMembers } })) === 0) throw new AccountBusy();
}

/** Stores a checkout that is open at the provider; the service may not know it, if the answer to its request was lost. */
async function keepCheckout(
  { services: { database }, checkouts }: BillingSession,
  checkout: Stripe.Checkout.Session,
  team: MembersTeam,
): Promise<void> {
  await database.transaction(async (inner) => {
    await lockRow(inner, "team", { id: team.id });
    await assertSameSize(inner, team);
    await checkouts.keep(checkout, inner);
  });
}

/** The team's customer at the provider, created if there is none. */
async function ensureCustomer(context: Context, session: BillingSession, team: MembersTeam): Promise<string> {
  const account = await session.account();
  if (account.customerId !== null && (await isKnownCustomer(session, account, account.customerId)))
    return account.customerId;
  return (await session.requests.send("customer", newCustomer(context, team), requesterOf(context))).id;
}

/**
 * Whether the provider still knows the customer: false if it was deleted there, or if the secret key belongs to another
 * account. Throws if the team's subscription is live, since with another customer the team could be charged twice.
 */
async function isKnownCustomer(session: BillingSession, account: BillingAccount, customer: string): Promise<boolean> {
  try {
    const known = await session.ask("customer", (stripe, options) => stripe.customers.retrieve(customer, {}, options));
    if (!("deleted" in known)) return true;
  } catch (error) {
    const isMissing = error instanceof PaymentsError && error.facts.isMissing && !isLive(account);
    if (!isMissing) throw error;
  }
  const facts = { alert: "customerIsGone", team_id: account.teamId, customer };
  session.services.log.error(facts, "the provider does not know a team's customer any more: a new one is created");
  return false;
}

const newCustomer = ({ caller }: Context, { id, name }: MembersTeam): Requests["customer"] => ({
  params: { name, email: caller.email, metadata: { team_id: id } },
});

function newCheckout(
  { tax, promotionCodes, trialDays }: CheckoutSettings,
  { customer, account }: { readonly customer: string; readonly account: BillingAccount },
  { team, price, returns }: Wanted,
): Requests["checkout"] {
  const metadata = { team_id: team.id, seats: String(team.maxMembers), price };
  return {
    params: {
      mode: "subscription",
      customer,
      client_reference_id: team.id,
      line_items: [{ price, quantity: team.maxMembers }],
      metadata,
      subscription_data: {
        metadata: { team_id: team.id },
        // Only a team's first subscription has a trial: otherwise a team could take one after another and never pay.
        ...(trialDays > 0 && account.status === "none" && { trial_period_days: trialDays }),
      },
      // Stripe asks for address and name, and stores them with the customer: it needs them for the renewals.
      ...(tax && {
        automatic_tax: { enabled: true },
        tax_id_collection: { enabled: true },
        customer_update: { address: "auto", name: "auto" },
      }),
      ...(promotionCodes && { allow_promotion_codes: true }),
      ...returns,
    },
  };
}
