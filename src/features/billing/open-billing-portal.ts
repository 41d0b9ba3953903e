import { Field, InputType, ObjectType } from "type-graphql";
import { Nullable, TextLength } from "../../operation/bounds.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { ANSWERED_WITHIN_S } from "../../platform/billing/payments.js";
import { accountOf } from "./account.js";
import { PROVIDER_READS, askProvider } from "./ask-provider.js";
import { BillingNotConfigured, PaymentProviderError, SubscriptionRequired } from "./failures.js";
import { RETURN_URL_MAX, readReturnUrl } from "./return-url.js";

@InputType({ description: "Where the owner continues after the customer portal." })
export class OpenBillingPortalInput {
  @Field(() => String, {
    nullable: true,
    description:
      "Where the portal's link back leads, on an origin that the service's operator allows. By default a page of this " +
      "service.",
  })
  @Nullable()
  @TextLength(1, RETURN_URL_MAX)
  returnUrl?: string | null;
}

@ObjectType({ description: "A link to the payment provider's customer portal." })
export class BillingPortal {
  @Field(() => String, {
    description: "The link. It works for a few minutes, and whoever has it acts as the team's payer: keep it secret.",
  })
  url!: string;
}

export const openBillingPortal = defineTeamOperation({
  name: "openBillingPortal",
  effect: "transaction",
  summary:
    "Makes a link to the customer portal: there the owner changes card and address, finds invoices, and cancels.",
  notes:
    "Each call makes a new link. A team that has never opened a checkout has no portal. Where the operator " +
    "offers it, the portal changes between month and year, too. What is changed there is shown here within moments. " +
    `The answer comes within ${ANSWERED_WITHIN_S.read} s, even if the payment provider fails.`,
  input: OpenBillingPortalInput,
  output: BillingPortal,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [SubscriptionRequired, PaymentProviderError, BillingNotConfigured],
  limits: [PROVIDER_READS],
  rest: { method: "POST", path: "/billing/portal", status: 201 },
  example: {
    input: { returnUrl: "https://app.example.com/billing" },
    output: { url: "https://billing.stripe.com/p/session/live_YWNjdF8xU1ZuSjJDWjZxc0pnbmRK" },
  },
  check: (context, { returnUrl: wanted }) => void readReturnUrl(context, "returnUrl", wanted),
  async prepare(context, input, { team: { id } }) {
    const { customerId: customer } = await accountOf(context, id);
    const { payments } = context.billing;
    if (!payments) throw new BillingNotConfigured();
    if (customer === null) throw new SubscriptionRequired();
    const back = readReturnUrl(context, "returnUrl", input.returnUrl) ?? `${context.publicUrl()}/billing/return?portal`;
    const { portalId } = payments;
    const wanted = { customer, return_url: back, ...(portalId !== undefined && { configuration: portalId }) };
    const { url } = await askProvider(context, "billing_portal.session", (stripe, options) =>
      stripe.billingPortal.sessions.create(wanted, options),
    );
    return { url };
  },
  handle: async (_context, _input, _standing, portal) => portal,
  audit: (_context, _input, _output, { team }) => ({ teamId: team.id, subject: null }),
});
