import type Stripe from "stripe";
import { ArgsType, Field, Float, ObjectType } from "type-graphql";
import { InvalidInput } from "../../operation/failure.js";
import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, NOT_A_CURSOR, Paged, cursorOf, placeOf } from "../../operation/page.js";
import { ANSWERED_WITHIN_S } from "../../platform/billing/payments.js";
import { accountOf } from "./account.js";
import { PROVIDER_READS, askProvider } from "./ask-provider.js";
import { BillingNotConfigured, PaymentProviderError } from "./failures.js";
import { taxOf, timeOf } from "./provider-subscription.js";

const INVOICE_ID = /^in_\w{1,100}$/;

@ArgsType()
export class TeamInvoicesInput extends Paged("teamInvoices", NoInput, INVOICE_ID) {}

@ObjectType({ description: "An invoice of a team." })
export class TeamInvoice {
  @Field(() => String, { description: "Stripe's id of the invoice." })
  id!: string;

  @Field(() => String, { nullable: true, description: "The number on the invoice; null for a draft." })
  number!: string | null;

  @Field(() => Date, { description: "When it was made." })
  createdAt!: Date;

  @Field(() => Float, {
    description:
      "The total with tax, in Stripe's smallest unit of the currency (cents; for yen, yen); negative for a credit.",
  })
  amount!: number;

  @Field(() => Float, { description: "The tax in the amount, in the same unit." })
  tax!: number;

  @Field(() => Float, {
    description:
      "What is or was to be paid for it, in the same unit: the amount less the credit that it uses up; 0 for a credit.",
  })
  amountDue!: number;

  @Field(() => String, { description: "The currency: three letters in lower case." })
  currency!: string;

  @Field(() => String, { description: "Stripe's status: `draft`, `open`, `paid`, `uncollectible` or `void`." })
  status!: string;

  @Field(() => String, { nullable: true, description: "Where it is shown, and paid while it is open." })
  hostedInvoiceUrl!: string | null;

  @Field(() => String, { nullable: true, description: "The invoice as a PDF file." })
  pdfUrl!: string | null;
}

@ObjectType({ description: "A page of a team's invoices." })
export class InvoicePage {
  @Field(() => [TeamInvoice], { description: "The invoices, newest first." })
  invoices!: TeamInvoice[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

const EXAMPLE: TeamInvoice = {
  id: "in_1SVnJ2CZ6qsJgndJ5R8c1tXw",
  number: "3C1B07A2-0004",
  createdAt: new Date("2026-03-02T23:01:12.000Z"),
  amount: 4_000,
  tax: 0,
  amountDue: 4_000,
  currency: "usd",
  status: "paid",
  hostedInvoiceUrl: "https://invoice.stripe.com/i/acct_1/live_YWNjdF8x",
  pdfUrl: "https://pay.stripe.com/invoice/acct_1/live_YWNjdF8x/pdf",
};

const noSuchPage = () => InvalidInput.at("cursor", NOT_A_CURSOR);

export const teamInvoices = defineTeamOperation({
  name: "teamInvoices",
  effect: "reads",
  summary: "Lists the invoices of the caller's team, newest first.",
  notes:
    "They come from the payment provider each time. A team that never bought seats has none. A credit, as after a " +
    "change from year to month, is used up by the next invoices: `amountDue` is the amount less it. The answer " +
    `comes within ${ANSWERED_WITHIN_S.read} s, even if the payment provider fails.`,
  input: TeamInvoicesInput,
  output: InvoicePage,
  permission: "billing:read",
  team: { which: "own", role: "owner" },
  failures: [PaymentProviderError, BillingNotConfigured],
  limits: [PROVIDER_READS],
  rest: { method: "GET", path: "/billing/invoices" },
  example: { input: {}, output: { invoices: [EXAMPLE], nextCursor: null } },
  async handle(context, { limit, cursor, list: name }, { team: { id } }) {
    const after = placeOf(cursor);
    const { customerId: customer } = await accountOf(context, id);
    if (customer === null) return { invoices: [], nextCursor: null };
    const params = { customer, limit, ...(after !== null && { starting_after: after }) };
    const list = (stripe: Stripe, options: Stripe.RequestOptions) => stripe.invoices.list(params, options);
    const { data, has_more: hasMore } = await askProvider(
      context,
      "list",
      list,
      after === null ? undefined : noSuchPage,
    );
    const last = data.at(-1);
    return { invoices: data.map(describeInvoice), nextCursor: hasMore && last ? cursorOf(name, last.id) : null };
  },
});

const describeInvoice = (invoice: Stripe.Invoice): TeamInvoice => ({
  id: invoice.id,
  number: invoice.number ?? null,
  createdAt: timeOf(invoice.created),
  amount: invoice.total,
  tax: taxOf(invoice),
  amountDue: invoice.amount_due,
  currency: invoice.currency,
  status: invoice.status ?? "draft",
  hostedInvoiceUrl: invoice.hosted_invoice_url ?? null,
  pdfUrl: invoice.invoice_pdf ?? null,
});
