import type Stripe from "stripe";
import { ArgsType, Field, Float, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { ANSWERED_WITHIN_S, PaymentsError } from "../../platform/billing/payments.js";
import { type BillingAccount, accountOf, endOf, mayBeOutdated } from "./account.js";
import { PROVIDER_READS } from "./ask-provider.js";
import {
  BillingNotConfigured,
  DecreasePending,
  PaymentProviderError,
  SubscriptionRequired,
  SubscriptionUnpaid,
  UpgradePending,
} from "./failures.js";
import { type ResizableAccount, assertResizable, withoutEnd } from "./live-subscription.js";
import { taxOf } from "./provider-subscription.js";
import { countSeatsInUse } from "./seats-in-use.js";
import { type BillingSession, withBillingSession } from "./session.js";

@ArgsType()
export class TeamUpgradePreviewInput {
  @Field(() => Int, { description: `The number of seats to show the price of, up to ${LIMITS.teams.members}.` })
  @Between(1, LIMITS.teams.members)
  maxMembers!: number;
}

@ObjectType({ description: "The next regular invoice of a subscription." })
export class NextInvoice {
  @Field(() => Date, { description: "When it is charged: at the end of the present period." })
  chargedAt!: Date;

  @Field(() => Float, {
    description: "The total with tax, in Stripe's smallest unit of the currency (cents; for yen, yen).",
  })
  amount!: number;

  @Field(() => Float, { description: "The tax in the amount, in the same unit." })
  tax!: number;
}

@ObjectType({ description: "What another number of seats costs." })
export class TeamUpgradePreview {
  @Field(() => Int, { description: "The number of seats that was asked for." })
  seats!: number;

  @Field(() => Int, {
    description:
      "How many seats members and pending invitations take now. As long as that is more than `seats`, a decrease to " +
      "`seats` is refused.",
  })
  seatsInUse!: number;

  @Field(() => String, { description: "The currency: three letters in lower case." })
  currency!: string;

  @Field(() => Float, {
    description:
      "What is charged at once for the rest of the period, with tax, in Stripe's smallest unit of the currency (cents; " +
      "for yen, yen); 0 for no more seats than now.",
  })
  proration!: number;

  @Field(() => Float, { description: "The tax in the proration, in the same unit." })
  tax!: number;

  @Field(() => Float, {
    description:
      "The credit that the team has at the payment provider, in the same unit: taken off what is charged at once, and " +
      "then off the next invoices. Negative for an amount too small to be charged alone, which is added to them.",
  })
  credit!: number;

  @Field(() => NextInvoice, {
    nullable: true,
    description: "The next invoice; null for a subscription that ends with its period.",
  })
  nextInvoice!: NextInvoice | null;
}

export const teamUpgradePreview = defineTeamOperation({
  name: "teamUpgradePreview",
  effect: "reads",
  summary:
    "Shows what another number of seats costs: now by `upgradeTeam`, and at the next invoice. It changes nothing.",
  notes:
    "It is for more seats, and by `downgradeTeam` for fewer, and for the present number, which takes a decrease back. " +
    "It shows the price of fewer seats than are in use, too, so that a team can see what removing members would save. " +
    "The payment provider computes the prices of this moment; the price for the rest of the period falls by the " +
    "second. The amounts are before the `credit` that the team has there, as after a change from year to month. The " +
    "answer comes within " +
    `${ANSWERED_WITHIN_S.read} s, even if the payment provider fails.`,
  input: TeamUpgradePreviewInput,
  output: TeamUpgradePreview,
  permission: "billing:read",
  team: { which: "own", role: "owner" },
  failures: [
    SubscriptionRequired,
    SubscriptionUnpaid,
    UpgradePending,
    DecreasePending,
    PaymentProviderError,
    BillingNotConfigured,
  ],
  limits: [PROVIDER_READS],
  rest: { method: "GET", path: "/billing/team-upgrade-preview" },
  example: {
    input: { maxMembers: 8 },
    output: {
      seats: 8,
      seatsInUse: 5,
      currency: "usd",
      proration: 1_520,
      tax: 0,
      credit: 0,
      nextInvoice: { chargedAt: new Date("2026-04-02T23:01:12.000Z"), amount: 6_400, tax: 0 },
    },
  },
  async handle(context, { maxMembers }, { team: { id } }) {
    const known = await accountOf(context, id);
    if (known.customerId === null && context.billing.payments) throw new SubscriptionRequired();
    const isStale = mayBeOutdated(known, context.now());
    const preview = (session: BillingSession) => previewInvoice(session, maxMembers, isStale);
    const { invoice, lines, account, isMore } = await withBillingSession(context, id, preview, "readMs");
    // Without more seats nothing is charged now, not even for changes that the provider's operator made before.
    const isNow = (line: Stripe.InvoiceLineItem) => isMore && isProration(line);
    const [now, later] = [lines.filter(isNow), lines.filter((line) => !isNow(line))];
    // As the provider says with the prices: the copy may be older, if an event was lost.
    const chargedAt = beginningOf(lines.filter(isRegular));
    const end = endOf(account);
    const isRenewed = chargedAt !== null && (end === null || end > chargedAt);
    return {
      seats: maxMembers,
      seatsInUse: await countSeatsInUse(context.database, id),
      currency: invoice.currency,
      proration: sum(now, totalOf),
      tax: sum(now, taxOfLine),
      credit: 0 - invoice.starting_balance,
      nextInvoice: isRenewed ? { chargedAt, ...sumsOf(invoice, later, now.length === 0) } : null,
    };
  },
});

interface Preview {
  readonly invoice: Stripe.Invoice;
  readonly lines: readonly Stripe.InvoiceLineItem[];
  readonly account: BillingAccount;
  readonly isMore: boolean;
}

async function previewInvoice(session: BillingSession, maxMembers: number, isStale: boolean): Promise<Preview> {
  if (isStale) await session.requests.resend();
  const account = isStale ? await session.copy.refresh() : await session.account();
  assertResizable(account);
  const { seats, nextSeats } = account;
  const isMore = seats !== null && maxMembers > seats;
  if (isMore && nextSeats !== null) throw new DecreasePending(seats);
  const params = buildPreview(account, maxMembers, isMore);
  const asked = session.ask("invoice", (stripe, options) => stripe.invoices.createPreview(params, options));
  const invoice = await asked.catch((error: unknown) => {
    if (isStale || !(error instanceof PaymentsError && error.facts.isNothingDue)) throw error;
  });
  if (!invoice) {
    // It was cancelled a moment ago, as in the portal: perhaps after another session has read it.
    session.touch();
    return previewInvoice(session, maxMembers, true);
  }
  return { invoice, lines: await listLines(session, invoice), account, isMore };
}

/** All lines: Stripe puts only the first ten into an invoice. */
async function listLines(session: BillingSession, { id, lines }: Stripe.Invoice): Promise<Stripe.InvoiceLineItem[]> {
  if (!lines.has_more) return lines.data;
  const all = await session.ask("list", (stripe, options) =>
    stripe.invoices.listLineItems(id, { limit: 100 }, options),
  );
  // An incomplete price is worse than none.
  if (all.has_more) throw new PaymentProviderError();
  return all.data;
}

/**
 * A preview holds the next invoice, with the prorations that `always_invoice` would charge at once. Stripe refuses it
 * when nothing will be invoiced: so without prorations, a subscription is previewed as if it were not cancelled. In a
 * trial they cost nothing.
 */
const buildPreview = (
  account: ResizableAccount,
  quantity: number,
  isMore: boolean,
): Stripe.InvoiceCreatePreviewParams => {
  const { subscriptionId: subscription, itemId: id, periodEnd, status } = account;
  const end = endOf(account);
  const isLast = end !== null && periodEnd !== null && end <= periodEnd;
  return {
    subscription,
    subscription_details: {
      items: [{ id, quantity }],
      proration_behavior: isMore ? "create_prorations" : "none",
      ...(isLast && (!isMore || status === "trialing") && withoutEnd(account)),
    },
  };
};

/** The price of a period, and no item that was added to the invoice. */
const isRegular = (line: Stripe.InvoiceLineItem): boolean =>
  !isProration(line) && line.parent?.type === "subscription_item_details";

/** When the last of these periods begins. */
const beginningOf = (lines: readonly Stripe.InvoiceLineItem[]): Date | null =>
  lines.length === 0 ? null : new Date(Math.max(...lines.map(({ period }) => period.start)) * 1_000);

const isProration = ({ parent }: Stripe.InvoiceLineItem): boolean =>
  (parent?.subscription_item_details ?? parent?.invoice_item_details)?.proration === true;

/** The price of a line after discounts, with the taxes that its amount does not include. */
const totalOf = (line: Stripe.InvoiceLineItem): number => {
  const added = (line.taxes ?? []).filter(({ tax_behavior: behavior }) => behavior === "exclusive");
  return line.amount + sum(added, amountOf) - sum(line.discount_amounts ?? [], amountOf);
};

const taxOfLine = ({ taxes }: Stripe.InvoiceLineItem): number => sum(taxes ?? [], amountOf);
const amountOf = ({ amount }: { readonly amount: number }): number => amount;

/**
 * The provider's own sums of an invoice of these lines alone, since it may round the tax once, and not that of each
 * line. Its sums with other lines are no help: their tax would be rounded together.
 */
const sumsOf = (invoice: Stripe.Invoice, lines: readonly Stripe.InvoiceLineItem[], areAll: boolean) =>
  areAll ? { amount: invoice.total, tax: taxOf(invoice) } : { amount: sum(lines, totalOf), tax: sum(lines, taxOfLine) };

const sum = <Item>(items: readonly Item[], valueOf: (item: Item) => number): number =>
  items.reduce((total, item) => total + valueOf(item), 0);
