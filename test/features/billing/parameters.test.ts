import { Ajv } from "ajv";
import { beforeAll, expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { openBillingPortal } from "../../../src/features/billing/open-billing-portal.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { stripeClient } from "../../../src/platform/payments.js";
import type { StandInRequest } from "../../../src/stand-in/stripe/index.js";
import { runTool } from "../../clients/tools.js";
import { aPayer, createBillingWorld, customerOf, subscriptionOf } from "../../support/billing.js";

let schemas: object;

beforeAll(async () => {
  schemas = JSON.parse(await runTool("stripe-schemas.mjs", "stripe-requests", "Requests")) as object;
}, 400_000);

/** The endpoint as "POST /v1/subscriptions/:id". */
const endpointOf = ({ method, path }: Pick<StandInRequest, "method" | "path">): string =>
  `${method} ${path.replace(/\/(?:cus|sub|cs_test|in)_\w+/, "/:id")}`;

/** What is wrong with a request by the SDK's types. Everything was sent as text, so that is turned into other values. */
function problemsOf(endpoint: string, params: object): unknown {
  const ajv = new Ajv({ strict: false, coerceTypes: true }).addSchema(schemas, "stripe");
  const name = encodeURIComponent("clients/stripe-requests:Requests");
  const place = encodeURIComponent(endpoint.replaceAll("~", "~0").replaceAll("/", "~1"));
  const check = ajv.getSchema(`stripe#/definitions/${name}/properties/${place}`);
  if (!check) return `The service is not known to ask ${endpoint}.`;
  return check(structuredClone(params)) ? [] : check.errors;
}

it("sends only parameters that the SDK declares, in every request of every operation", async () => {
  await using world = await createBillingWorld();
  const payer = await aPayer(world, { seats: 5 });
  const { owner, teamId } = payer;
  await owner.did(createTeamCheckout, { successUrl: "https://app.example.com/paid" });
  await owner.did(updateTeam, { teamId, maxMembers: 6 });
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  await owner.did(teamUpgradePreview, { maxMembers: 8 });
  await owner.did(upgradeTeam, { maxMembers: 8 });
  await owner.did(downgradeTeam, { maxMembers: 4 });
  await owner.did(downgradeTeam, { maxMembers: 8 });
  await owner.did(cancelTeamSubscription);
  await owner.did(resumeTeamSubscription);
  await world.stripe.cancelInPortal(await subscriptionOf(world, payer));
  await world.stripe.delivered();
  await owner.did(resumeTeamSubscription);
  await owner.did(openBillingPortal);
  await owner.did(teamInvoices, { limit: 1, cursor: (await owner.did(teamInvoices, { limit: 1 })).nextCursor });
  const items = [{ price: world.stripe.priceId }];
  const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  await subscriptions.create({ customer: await customerOf(world, payer), items });
  await world.stripe.delivered();

  // The test's own; what the service asks in the background may come before it.
  const isOwn = (request: StandInRequest) => endpointOf(request) === "POST /v1/subscriptions";
  expect(world.stripe.requests.filter(isOwn)).toHaveLength(1);
  const sent = world.stripe.requests.filter((request) => !isOwn(request));
  expect(sent.flatMap((request) => problemsOf(endpointOf(request), request.params))).toEqual([]);
  const changes = sent.filter(({ method }) => method !== "GET").map((request) => endpointOf(request));
  expect([...new Set(changes)].sort()).toEqual([
    "DELETE /v1/subscriptions/:id",
    "POST /v1/billing_portal/sessions",
    "POST /v1/checkout/sessions",
    "POST /v1/checkout/sessions/:id/expire",
    "POST /v1/customers",
    "POST /v1/invoices/create_preview",
    "POST /v1/subscriptions/:id",
  ]);
});

it("would notice a parameter that is unknown, missing or of another type", () => {
  const endpoint = "POST /v1/subscriptions/:id";
  expect(problemsOf(endpoint, { cancel_at_period_end: "true" })).toEqual([]);
  for (const wrong of [
    { cancel_at_end: "true" },
    { cancel_at_period_end: "yes" },
    { items: [{ quantity: "many" }] },
    { proration_behavior: "sometimes" },
  ]) {
    expect(problemsOf(endpoint, wrong)).not.toEqual([]);
  }
  expect(problemsOf("POST /v1/webhook_endpoints", {})).not.toEqual([]);
});
