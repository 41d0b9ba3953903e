import { Stripe } from "stripe";
import type { Config } from "../../config.js";
import { listEndpoints, restartsPeriod } from "../../features/billing/index.js";
import { explainUnreachable, stripeClient } from "../../platform/billing/stripe-client.js";
import { Problem } from "./problem.js";

/**
 * Checks that the Stripe account has what billing needs. Returns what it found; undefined without billing.
 * @throws Problem if something is missing or wrong, or Stripe cannot be reached.
 */
export async function checkStripe(config: Config): Promise<string | undefined> {
  return examineAccount(config).catch((error: unknown) => {
    const unreachable = explainUnreachable(error, config.stripeApiBase);
    throw unreachable === undefined ? error : new Problem(unreachable);
  });
}

async function examineAccount(config: Config): Promise<string | undefined> {
  const { stripeSecretKey, stripePriceId, stripeYearlyPriceId, stripePortalId, stripeApiBase } = config;
  if (stripeSecretKey === undefined || stripePriceId === undefined) return undefined;
  const stripe = stripeClient(stripeSecretKey, stripeApiBase);
  const price = await readFrom("STRIPE_TEAM_PRICE_ID", () => stripe.prices.retrieve(stripePriceId));
  if (price.recurring?.usage_type !== "licensed" || price.recurring.interval !== "month") {
    throw new Problem("STRIPE_TEAM_PRICE_ID must name a price by the month that is not metered.");
  }
  const periods = ["month"];
  if (stripeYearlyPriceId !== undefined) {
    const yearly = await readFrom("STRIPE_YEARLY_PRICE_ID", () => stripe.prices.retrieve(stripeYearlyPriceId));
    if (yearly.recurring?.interval !== "year" || yearly.currency !== price.currency) {
      throw new Problem("STRIPE_YEARLY_PRICE_ID must name a price by the year, in the currency of the other price.");
    }
    periods.push("year");
  }
  if (stripePortalId !== undefined) {
    const { configurations } = stripe.billingPortal;
    const expand = { expand: ["features.subscription_update.products"] };
    const portal = await readFrom("STRIPE_PORTAL_ID", () => configurations.retrieve(stripePortalId, expand));
    await assertChangesRightly(stripe, portal);
  }
  const endpoints = await readIfAllowed("its webhooks", listEndpoints(stripe));
  if (endpoints?.length === 0) {
    throw new Problem(
      "No webhook in the Stripe account sends all events that are needed, so changes are noticed late: run " +
        "`npm run billing -- setup`.",
    );
  }
  if (config.billingTax) await assertTaxed(stripe, price);
  const isTest = price.livemode ? "" : " in test mode: no money is paid";
  const isTaxed = config.billingTax ? ", and Stripe Tax is set up" : "";
  return (
    `Stripe answers${isTest}; a seat is paid by the ${periods.join(" or by the ")}${isTaxed}.` +
    tellOtherHost(endpoints, config.publicUrl)
  );
}

/** Stripe may reach the service by another address than people. If that is a mistake, changes are noticed late. */
function tellOtherHost(endpoints: readonly string[] = [], publicUrl?: string): string {
  const isKnown = publicUrl === undefined || endpoints.some((url) => url.startsWith(`${publicUrl}/`));
  const [first] = endpoints;
  return isKnown || first === undefined ? "" : ` It sends events to ${first}, not to PUBLIC_URL: is this the service?`;
}

/** @throws Problem if a change in the customer portal charges a team wrongly, or is not checked by the service. */
async function assertChangesRightly(stripe: Stripe, portal: Stripe.BillingPortal.Configuration): Promise<void> {
  const { subscription_pause: pause, subscription_update: change } = portal.features;
  if (pause.enabled) {
    throw new Problem(
      `The customer portal ${portal.id} lets owners pause, which takes the plan from their team: switch that off in ` +
        "Stripe's dashboard.",
    );
  }
  const { enabled, default_allowed_updates: allowed, products } = change;
  if (enabled && allowed.includes("quantity")) {
    throw new Problem(
      `The customer portal ${portal.id} lets owners pay for fewer seats than their team has members: take the ` +
        "quantity from what it may change, in Stripe's dashboard.",
    );
  }
  if (!enabled || !allowed.includes("price") || restartsPeriod(portal)) return;
  const offered = (products ?? []).flatMap(({ prices }) => prices);
  const reading = Promise.all(offered.map((price) => stripe.prices.retrieve(price)));
  const prices = await readIfAllowed("the prices of the customer portal", reading);
  if (new Set(prices?.map(({ recurring }) => recurring?.interval)).size > 1) {
    throw new Problem(
      `The customer portal ${portal.id} keeps the day of the renewal when a team changes between month and year, so ` +
        "the team is charged again before a year is over: run `npm run billing -- setup`, and set STRIPE_PORTAL_ID " +
        "to what it prints.",
    );
  }
}

/** @throws Problem if Stripe Tax cannot compute the taxes of a checkout. */
async function assertTaxed(stripe: Stripe, { tax_behavior: behavior }: Stripe.Price): Promise<void> {
  const settings = await readIfAllowed("the settings of Stripe Tax", stripe.tax.settings.retrieve());
  if (!settings) return;
  const place = "in Stripe's dashboard, under Tax, or set BILLING_TAX=no";
  if (settings.status !== "active") {
    const missing = settings.status_details.pending?.missing_fields ?? [];
    const fields = missing.length > 0 ? `: ${missing.join(", ")} missing` : "";
    throw new Problem(`Stripe Tax is not set up${fields}, so every checkout fails. Complete it ${place}.`);
  }
  if (settings.defaults.tax_behavior == null && (behavior ?? "unspecified") === "unspecified") {
    throw new Problem(
      `Stripe Tax does not know whether the price includes tax, so every checkout fails. Choose it ${place}.`,
    );
  }
}

/** Returns undefined for what a restricted key may not read: the check then assumes that it is right. */
async function readIfAllowed<Read>(what: string, read: Promise<Read>): Promise<Read | undefined> {
  return read.catch((error: unknown) => {
    if (error instanceof Stripe.errors.StripeConnectionError) throw error;
    const { statusCode, message } = error as Stripe.errors.StripeError;
    if (statusCode === 403) return undefined;
    throw new Problem(`Stripe does not show ${what}: ${message}`);
  });
}

/** Reads the object in the Stripe account that a variable names. @throws Problem if it is missing or archived. */
async function readFrom<Named extends { readonly id: string; readonly active: boolean }>(
  variable: string,
  read: () => Promise<Named>,
): Promise<Named> {
  const named = await read().catch((error: unknown) => {
    if (error instanceof Stripe.errors.StripeConnectionError) throw error;
    const { message, statusCode = 500 } = error as Stripe.errors.StripeError;
    const said = message.replace(/\.$/, "");
    if (statusCode === 429 || statusCode >= 500) {
      throw new Problem(
        `Stripe cannot be used now: ${said}. Look at status.stripe.com, and check that this machine may reach Stripe.`,
      );
    }
    throw new Problem(`Stripe refuses: ${said}. Check STRIPE_SECRET_KEY and ${variable}.`);
  });
  if (!named.active) throw new Problem(`${named.id} is archived: name another one in ${variable}.`);
  return named;
}
