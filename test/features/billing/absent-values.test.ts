import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { openBillingPortal } from "../../../src/features/billing/open-billing-portal.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { setUpAccount } from "../../../src/features/billing/set-up-account.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { type StandInStripe, startStandInStripe } from "../../../src/stand-in/stripe/index.js";
import { aPayer } from "../../support/billing.js";
import { examine } from "../../support/doctor.js";
import { createWorld } from "../../support/world.js";

interface Terse extends AsyncDisposable {
  readonly stripe: StandInStripe;
  readonly url: string;
}

/** A draft of an invoice has none of these. */
const NOT_OF_DRAFTS = ["number", "hosted_invoice_url", "invoice_pdf"];

/**
 * A stand-in behind a proxy that leaves out every field without a value. Stripe itself sends null, but its OpenAPI
 * document requires no field that may be null. Its invoices look like drafts.
 */
async function startTerseStripe(): Promise<Terse> {
  const stripe = await startStandInStripe();
  const proxy = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => void parts.push(part));
    request.on("end", async () => {
      const { url = "", method = "" } = request;
      const {
        connection: _connection,
        "content-length": _length,
        ...headers
      } = request.headers as Record<string, string>;
      const body = parts.length > 0 && { body: Buffer.concat(parts) };
      const answer = await fetch(stripe.url + url, { method, headers, ...body });
      const keep = (name: string, value: unknown) => (NOT_OF_DRAFTS.includes(name) ? undefined : (value ?? undefined));
      const values = JSON.parse(await answer.text(), keep) as unknown;
      response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(values));
    });
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    stripe,
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.close();
      proxy.closeAllConnections();
      await stripe[Symbol.asyncDispose]();
    },
  };
}

it("sells, changes and ends seats by answers without empty fields", async () => {
  await using terse = await startTerseStripe();
  const { stripe, url } = terse;
  await using world = await createWorld({
    stripe: { url, secretKey: stripe.secretKey, webhookSecret: stripe.webhookSecret, priceId: stripe.priceId },
  });
  const { owner } = await aPayer(world, { seats: 5 });

  const { sessionId } = await owner.did(createTeamCheckout);
  await stripe.pay(sessionId);
  const nothingPending = { pendingUpdate: null, hostedInvoiceUrl: null };
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", seats: 5, ...nothingPending });
  expect(await owner.did(teamUpgradePreview, { maxMembers: 8 })).toMatchObject({ seats: 8, tax: 0 });
  expect(await owner.did(upgradeTeam, { maxMembers: 8 })).toMatchObject({ seats: 8, ...nothingPending });
  expect(await owner.did(downgradeTeam, { maxMembers: 4 })).toMatchObject({ seats: 8, nextSeats: 4 });
  expect(await owner.did(cancelTeamSubscription)).toMatchObject({ cancelAtPeriodEnd: true });
  expect(await owner.did(resumeTeamSubscription)).toMatchObject({ cancelAtPeriodEnd: false });
  expect((await owner.did(openBillingPortal)).url).toMatch(/^http/);
  const { invoices } = await owner.did(teamInvoices);
  const absent = { number: null, hostedInvoiceUrl: null, pdfUrl: null };
  expect(invoices).toMatchObject([
    { tax: 0, ...absent },
    { tax: 0, ...absent },
  ]);
});

it("sets up and examines an account by answers without empty fields", async () => {
  await using terse = await startTerseStripe();
  const { stripe, url } = terse;
  const api = stripeClient(stripe.secretKey, url);
  const wishes = { monthly: 900, yearly: 9_000, currency: "usd", url: "https://memory.example.com" };
  const made = await setUpAccount(api, wishes);
  expect((await setUpAccount(api, wishes)).made).toEqual([]);
  const said = async () => {
    const { by } = await examine({
      STRIPE_API_BASE: url,
      STRIPE_SECRET_KEY: stripe.secretKey,
      STRIPE_WEBHOOK_SECRET: "whsec_x",
      STRIPE_TEAM_PRICE_ID: made.monthlyPriceId,
      STRIPE_YEARLY_PRICE_ID: made.yearlyPriceId,
      STRIPE_PORTAL_ID: made.portalId,
      BILLING_TAX: "yes",
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    });
    return by.get("stripe")?.says;
  };

  await api.tax.settings.update({ head_office: { address: { country: "DE", city: "Berlin" } } });
  expect(await said()).toMatch(/^Stripe Tax does not know whether the price includes tax/);
  await api.tax.settings.update({ defaults: { tax_behavior: "exclusive" } });
  expect(await said()).toMatch(/ and Stripe Tax is set up\.$/);
});
