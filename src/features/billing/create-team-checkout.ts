import { Field, InputType, ObjectType } from "type-graphql";
import { Nullable, TextLength } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { defineTeamOperation } from "../../operation/operation.js";
import type { MembersTeam } from "../../operation/standing.js";
import { PaymentsError } from "../../platform/payments.js";
import { BillingNotConfigured, PaymentProviderError } from "./failures.js";
import type { Requests } from "./request-kinds.js";
import { requesterOf } from "./requester.js";
import { type BillingAccount, accountOf, isLive } from "./account.js";
import { type BillingSession, withBillingSession } from "./session.js";
import { PROVIDER_NOTE, RECORDED_WHEN_DONE } from "./team-subscription.js";

const URL_MAX = 2_000;

@InputType({ description: "Where to go on after a checkout." })
export class CreateTeamCheckoutInput {
  @Field(() => String, {
    nullable: true,
    description:
      "Where to go once it is paid, on an origin that the service's operator allows; `{CHECKOUT_SESSION_ID}` in it is " +
      "filled in. Unless given, a page of this service says what was bought.",
  })
  @Nullable()
  @TextLength(1, URL_MAX)
  successUrl?: string | null;

  @Field(() => String, { nullable: true, description: "Where to go back to without paying, on such an origin." })
  @Nullable()
  @TextLength(1, URL_MAX)
  cancelUrl?: string | null;
}

@ObjectType({ description: "A page of the payment provider on which seats are bought." })
export class TeamCheckout {
  @Field(() => String, { description: "The provider's id of it." })
  sessionId!: string;

  @Field(() => String, { description: "Where the owner pays." })
  url!: string;

  @Field(() => Date, { description: "Until when." })
  expiresAt!: Date;
}

export class AlreadySubscribed extends Failure {
  readonly kind = "conflict";
  override readonly reason = "already_subscribed";

  constructor() {
    super("The team has a subscription already. Buy more seats with `upgradeTeam`.");
  }
}

export const createTeamCheckout = defineTeamOperation({
  name: "createTeamCheckout",
  effect: "transaction",
  summary: "Opens a page on which the owner buys as many seats as the team has room for; an open one is given again.",
  notes:
    "An open checkout for the same seats is given again, whatever addresses it is asked with. One for other " +
    "seats takes the place of the one before. A team's customer at the payment provider is for this service " +
    `alone: any other subscription or open checkout of it is ended. ${PROVIDER_NOTE}`,
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
  check: (context, input) => void returnsOf(context, input),
  async prepare(context, input, { team: { id }, again }) {
    await withBillingSession(context, id, async (session) => {
      await session.requests.resend();
      // Others may have been waited for: the team may have another owner or size by now.
      await openCheckout(context, session, { team: await again(), returns: returnsOf(context, input) });
    });
  },
  async handle(context, _input, { team: { id } }) {
    const { checkoutId, checkoutUrl, checkoutExpiresAt } = await accountOf(context, id);
    // Paid by somebody in this very moment.
    if (!checkoutId || !checkoutUrl || !checkoutExpiresAt) throw new AlreadySubscribed();
    return { sessionId: checkoutId, url: checkoutUrl, expiresAt: checkoutExpiresAt };
  },
});

/** Where Stripe sends the owner afterwards. */
interface Returns {
  readonly success_url: string;
  readonly cancel_url: string;
}

/** @throws InvalidInput for an address that is not allowed. */
function returnsOf(context: Context, { successUrl, cancelUrl }: CreateTeamCheckoutInput): Returns {
  const back = `${context.publicUrl()}/billing/return`;
  return {
    success_url: allowedUrl(context, "successUrl", successUrl) ?? `${back}?session_id={CHECKOUT_SESSION_ID}`,
    cancel_url: allowedUrl(context, "cancelUrl", cancelUrl) ?? back,
  };
}

interface Wanted {
  readonly team: MembersTeam;
  readonly returns: Returns;
}

/** A checkout that is about to expire is of no use to a person. */
const USABLE_MS = 10 * 60_000;

/** Leaves exactly one checkout open, for as many seats as the team has room for. */
async function openCheckout(context: Context, session: BillingSession, { team, returns }: Wanted): Promise<void> {
  const { checkouts, copy, requests } = session;
  const seats = String(team.maxMembers);
  const known = await session.account();
  // Whoever was waited for has just left one.
  if (checkouts.isNew(known) && String(known.checkoutSeats) === seats) return;
  const requester = requesterOf(context);
  const customer = await customerOf(context, session, team);
  // In this order: a checkout that is paid in between is missing here, and there a subscription.
  const open = await checkouts.list(customer);
  if (isLive(await copy.refresh())) throw new AlreadySubscribed();
  const usableUntil = Date.now() + USABLE_MS;
  const same = open.find(({ metadata, expires_at: end }) => metadata?.["seats"] === seats && end * 1_000 > usableUntil);
  const others = open.filter((checkout) => checkout !== same);
  const { wasPaid } = await checkouts.withdraw(others, requester);
  // Stripe makes the subscription a moment after the payment: a second checkout beside it would be paid twice.
  if (wasPaid) throw isLive(await copy.refresh()) ? new AlreadySubscribed() : new PaymentProviderError();
  if (same) await checkouts.keep(same);
  else await requests.send("checkout", newCheckout(session.priceId, customer, { team, returns }), requester);
}

/** The team's customer at the provider, who is made when there is none. */
async function customerOf(context: Context, session: BillingSession, team: MembersTeam): Promise<string> {
  const account = await session.account();
  if (account.customerId !== null && (await isKnown(session, account, account.customerId))) return account.customerId;
  return (await session.requests.send("customer", newCustomer(context, team), requesterOf(context))).id;
}

/**
 * Whether the provider knows the customer: not if somebody has deleted it there, or the key is another account's. A
 * team whose subscription lives there would be charged twice if it had another one.
 */
async function isKnown(session: BillingSession, account: BillingAccount, customer: string): Promise<boolean> {
  try {
    const known = await session.ask("customer", (stripe, options) => stripe.customers.retrieve(customer, {}, options));
    if (!("deleted" in known)) return true;
  } catch (error) {
    const isMissing = error instanceof PaymentsError && error.isMissing && !isLive(account);
    if (!isMissing) throw error;
  }
  const facts = { alert: "customerIsGone", team_id: account.teamId, customer };
  session.services.log.error(facts, "the provider knows a team's customer no more: another one is made");
  return false;
}

const newCustomer = ({ caller }: Context, { id, name }: MembersTeam): Requests["customer"] => ({
  params: { name, email: caller.email, metadata: { team_id: id } },
});

function newCheckout(price: string, customer: string, { team, returns }: Wanted): Requests["checkout"] {
  const metadata = { team_id: team.id, seats: String(team.maxMembers) };
  return {
    params: {
      mode: "subscription",
      customer,
      client_reference_id: team.id,
      line_items: [{ price, quantity: team.maxMembers }],
      metadata,
      subscription_data: { metadata: { team_id: team.id } },
      ...returns,
    },
  };
}

/** Stripe fills the id of the session into its place, which must not be escaped. */
const TEMPLATE = "{CHECKOUT_SESSION_ID}";

/** @throws InvalidInput for an address outside of the service and the origins that its operator has named. */
function allowedUrl(
  { billing, publicUrl }: Context,
  path: string,
  text: string | null | undefined,
): string | undefined {
  if (text == null) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const origins = [...billing.returnOrigins, new URL(publicUrl()).origin];
  const isPlain = url && /^https?:$/.test(url.protocol) && !/[\s\\\p{C}]/u.test(text);
  if (!isPlain || !origins.includes(url.origin) || url.username || url.password) {
    throw new InvalidInput([{ path, message: `must be an address on one of these origins: ${origins.join(", ")}` }]);
  }
  return url.href.replaceAll(encodeURI(TEMPLATE), TEMPLATE);
}
