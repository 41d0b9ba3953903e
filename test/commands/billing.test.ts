import { describe, expect, it } from "vitest";
import { program } from "../../src/commands/billing.js";
import { setUpAccount } from "../../src/features/billing/index.js";
import { createTeamCheckout } from "../../src/features/billing/create-team-checkout.js";
import { stripeClient } from "../../src/platform/billing/stripe-client.js";
import { startStandInStripe } from "../../src/stand-in/stripe/index.js";
import { aPayer, accountNow, createStripeWorld } from "../support/billing.js";
import { runHere, runProcess } from "../support/commands.js";
import { environmentOf } from "../support/world.js";

const billing = (environment: Record<string, string>, ...words: readonly string[]) =>
  runHere(program, words, environment);

describe("setup", () => {
  it("creates product, prices, portal and endpoint once, and prints the variables to set", async () => {
    await using standIn = await startStandInStripe();
    const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
    const setUp = ["setup", "--url", "https://memory.example.com/", "--json"];

    const first = await runProcess("billing", setUp, environment);
    const second = await billing(environment, ...setUp);
    const inWords = await billing({ ...environment, PUBLIC_URL: "https://memory.example.com/" }, "setup");

    const made = JSON.parse(first.output) as Record<string, string>;
    expect(made).toEqual({
      monthly_price_id: expect.stringMatching(/^price_/),
      yearly_price_id: expect.stringMatching(/^price_/),
      portal_id: expect.stringMatching(/^bpc_/),
      webhook_secret: expect.stringMatching(/^whsec_/),
      made: ["product", "price by the month", "price by the year", "customer portal", "webhook endpoint"],
    });
    expect(JSON.parse(second.output)).toEqual({ ...made, webhook_secret: null, made: [] });
    const settings = [
      `STRIPE_TEAM_PRICE_ID=${made["monthly_price_id"]}`,
      `STRIPE_YEARLY_PRICE_ID=${made["yearly_price_id"]}`,
      `STRIPE_PORTAL_ID=${made["portal_id"]}`,
      "# STRIPE_WEBHOOK_SECRET: Stripe returned it when the endpoint was created, and its dashboard shows it",
    ];
    expect(inWords.output).toBe(`\nEverything exists already.\n\n  ${settings.join("\n  ")}\n\n`);
    const stripe = stripeClient(standIn.secretKey, standIn.url);
    const [endpoint] = (await stripe.webhookEndpoints.list()).data;
    expect(endpoint).toMatchObject({ url: "https://memory.example.com/billing/stripe-webhook", status: "enabled" });
    expect(endpoint?.enabled_events).toContain("customer.subscription.deleted");
    const portal = await stripe.billingPortal.configurations.retrieve(made["portal_id"] ?? "");
    expect(portal.features).toMatchObject({
      subscription_cancel: { enabled: true, mode: "at_period_end" },
      subscription_update: {
        enabled: true,
        default_allowed_updates: ["price"],
        proration_behavior: "always_invoice",
        billing_cycle_anchor: "now",
      },
      invoice_history: { enabled: true },
      payment_method_update: { enabled: true },
    });
    for (const [price, unit_amount, interval] of [
      [made["monthly_price_id"] ?? "", 800, "month"],
      [made["yearly_price_id"] ?? "", 8_000, "year"],
    ] as const) {
      expect(await stripe.prices.retrieve(price)).toMatchObject({
        unit_amount,
        currency: "usd",
        recurring: { interval },
      });
    }
  });

  it("creates everything once when it runs several times at once, also after a change of the amount", async () => {
    await using standIn = await startStandInStripe();
    const stripe = stripeClient(standIn.secretKey, standIn.url);
    const before = (await stripe.prices.list()).data.length;
    const offer = { yearly: 8_000, currency: "usd", url: "https://x.example.com" };
    const setUpOften = async (monthly: number) => {
      const runs = await Promise.all([1, 2, 3, 4].map(() => setUpAccount(stripe, { ...offer, monthly })));
      // All have the secret of the only endpoint, whichever created it.
      expect(runs).toMatchObject(runs.map(() => ({ ...runs[0], made: expect.any(Array) })));
    };

    await setUpOften(800);
    await setUpOften(900);

    expect((await stripe.prices.list()).data).toHaveLength(before + 3);
    expect((await stripe.billingPortal.configurations.list()).data).toHaveLength(1);
    expect((await stripe.webhookEndpoints.list()).data).toHaveLength(1);
  });

  it("creates an endpoint again that was deleted just after it was created", async () => {
    await using standIn = await startStandInStripe();
    const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
    const { webhookEndpoints } = stripeClient(standIn.secretKey, standIn.url);
    const setUp = async () => {
      const { output } = await billing(environment, "setup", "--url", "https://x.example.com", "--json");
      return (JSON.parse(output) as { webhook_secret: string }).webhook_secret;
    };
    const first = await setUp();
    for (const { id } of (await webhookEndpoints.list()).data) await webhookEndpoints.del(id);

    const second = await setUp();

    expect(second).toMatch(/^whsec_/);
    expect(second).not.toBe(first);
    expect((await webhookEndpoints.list()).data).toHaveLength(1);
  });

  it("can be repeated after a server error, whose answer Stripe keeps for a day", async () => {
    await using standIn = await startStandInStripe();
    const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
    const setUp = () => billing(environment, "setup", "--url", "https://x.example.com", "--json");
    standIn.fail({ kind: "502-html", times: 9, method: "GET" });
    const unable = await setUp();
    expect([unable.code, unable.errors]).toEqual([1, expect.stringMatching(/^Stripe: .*\. Try again in a moment: /)]);
    standIn.clearFaults();
    standIn.fail({ kind: "500", method: "POST", path: /^\/v1\/prices$/ });
    const outcomes = [await setUp(), await setUp()];

    expect(outcomes.at(-1)?.code).toBe(0);
    const { prices } = stripeClient(standIn.secretKey, standIn.url);
    const { data } = await prices.list({ lookup_keys: ["memory_graph_team_monthly"] });
    expect(data).toHaveLength(1);
  });

  it("says that Stripe cannot be reached, where and why", async () => {
    const environment = { STRIPE_SECRET_KEY: "sk_test_x", STRIPE_API_BASE: "http://127.0.0.1:1" };

    const { code, errors } = await billing(environment, "setup", "--url", "https://memory.example.com");

    expect([code, errors]).toEqual([
      1,
      "Stripe cannot be reached at http://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1. Check STRIPE_API_BASE, and " +
        "that this machine may reach it.\n",
    ]);
  });

  it("creates another price for another amount, and keeps the old one for existing subscriptions", async () => {
    await using standIn = await startStandInStripe();
    const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
    const setUp = (monthly: string) =>
      billing(environment, "setup", "--url", "https://x.example.com", "--monthly", monthly, "--json");

    const [first, second, third] = [await setUp("800"), await setUp("900"), await setUp("900")];

    const idIn = ({ output }: { output: string }) =>
      (JSON.parse(output) as { monthly_price_id: string }).monthly_price_id;
    expect(idIn(second)).not.toBe(idIn(first));
    expect(idIn(third)).toBe(idIn(second));
    const stripe = stripeClient(standIn.secretKey, standIn.url);
    expect(await stripe.prices.retrieve(idIn(first))).toMatchObject({ active: true, unit_amount: 800 });
    const [portal] = (await stripe.billingPortal.configurations.list()).data;
    expect(JSON.stringify(portal?.features.subscription_update.products)).toContain(idIn(second));
  });

  it("keeps the prices that are not given, as when it is repeated after an upgrade", async () => {
    await using standIn = await startStandInStripe();
    const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
    const stripe = stripeClient(standIn.secretKey, standIn.url);
    const setUp = async (...prices: string[]) => {
      const { output } = await billing(environment, "setup", "--url", "https://x.example.com", "--json", ...prices);
      const made = JSON.parse(output) as { monthly_price_id: string; yearly_price_id: string };
      const ids = [made.monthly_price_id, made.yearly_price_id];
      return Promise.all(ids.map((id) => stripe.prices.retrieve(id)));
    };
    const first = await setUp("--monthly", "900", "--yearly", "9000", "--currency", "eur");

    expect(await setUp()).toEqual(first);
    const cheaper = await setUp("--monthly", "700");

    expect(cheaper).toMatchObject([{ unit_amount: 700, currency: "eur" }, { id: first[1]?.id }]);
    expect(await setUp("--currency", "usd")).toMatchObject([
      { unit_amount: 700, currency: "usd" },
      { unit_amount: 9_000, currency: "usd" },
    ]);
  });

  it.each(["month", "year"] as const)(
    "makes a missing price in the currency of the one by the %s",
    async (interval) => {
      await using standIn = await startStandInStripe();
      const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
      const { prices, products } = stripeClient(standIn.secretKey, standIn.url);
      const { id: product } = await products.create({ id: "memory_graph_team", name: "Memory Graph Team" });
      const keys = { month: "memory_graph_team_monthly", year: "memory_graph_team_yearly" };
      const price = { currency: "eur", unit_amount: 900, recurring: { interval }, lookup_key: keys[interval] };
      await prices.create({ product, ...price });

      await billing(environment, "setup", "--url", "https://x.example.com");

      const { data } = await prices.list({ lookup_keys: Object.values(keys) });
      expect(data.map(({ currency }) => currency)).toEqual(["eur", "eur"]);
    },
  );

  it.each([
    { allowed: ["name", "address", "tax_id"], anchor: "now" },
    { allowed: ["email", "name", "address", "tax_id"], anchor: "unchanged" },
  ] as const)("corrects a portal of an earlier release (%j), and an endpoint", async ({ allowed, anchor }) => {
    await using standIn = await startStandInStripe();
    const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
    const setUp = ["setup", "--url", "https://x.example.com", "--json"];
    const { billingPortal, webhookEndpoints } = stripeClient(standIn.secretKey, standIn.url);
    const portals = billingPortal.configurations;
    // Of another program in the same account.
    const other = await portals.create({ features: { invoice_history: { enabled: true } } });
    const made = JSON.parse((await billing(environment, ...setUp)).output) as Record<string, string>;
    const prices = [made["monthly_price_id"] ?? "", made["yearly_price_id"] ?? ""];
    const features = async () => (await portals.retrieve(made["portal_id"] ?? "")).features;
    const complete = await features();
    const products = [{ product: "memory_graph_team", prices }];
    await portals.update(made["portal_id"] ?? "", {
      features: {
        customer_update: { enabled: true, allowed_updates: [...allowed] },
        subscription_update: {
          enabled: true,
          default_allowed_updates: ["price"],
          proration_behavior: "always_invoice",
          products,
          billing_cycle_anchor: anchor,
        },
      },
    });

    const endpointNow = async () => (await webhookEndpoints.list()).data[0];
    await webhookEndpoints.update((await endpointNow())?.id ?? "", {
      enabled_events: ["invoice.paid"],
      disabled: true,
    });

    const again = await billing(environment, ...setUp);

    expect(JSON.parse(again.output)).toMatchObject({
      made: ["the customer portal's settings", "the webhook endpoint's events"],
    });
    expect(await features()).toEqual(complete);
    expect(await portals.retrieve(other.id)).toEqual(other);
    const paused = expect.arrayContaining(["invoice.paid", "customer.subscription.paused"]) as string[];
    expect(await endpointNow()).toMatchObject({ status: "enabled", enabled_events: paused });
  });

  it("sells in any currency, whose amounts the pages of the stand-in show", async () => {
    await using standIn = await startStandInStripe();
    const environment = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_API_BASE: standIn.url };
    const prices = ["--monthly", "900", "--yearly", "9000"];
    const stripe = stripeClient(standIn.secretKey, standIn.url);
    for (const [currency, shown] of [
      ["eur", "€27.00"],
      ["JPY", "¥2,700"],
    ] as const) {
      const setUp = ["setup", "--url", "https://x.example.com", ...prices, "--currency", currency, "--json"];
      const { monthly_price_id: price } = JSON.parse((await billing(environment, ...setUp)).output) as {
        monthly_price_id: string;
      };
      const customer = (await stripe.customers.create({})).id;
      const lines = [{ price, quantity: 3 }];
      const session = await stripe.checkout.sessions.create({
        customer,
        mode: "subscription",
        line_items: lines,
        success_url: "https://x.example.com",
      });
      expect(session).toMatchObject({ currency: currency.toLowerCase(), amount_total: 2_700 });
      expect(await (await fetch(session.url ?? "")).text()).toContain(shown);
      await standIn.pay(session.id);
      expect(await stripe.customers.retrieve(customer)).toMatchObject({ currency: currency.toLowerCase() });
    }
    const unknown = ["setup", "--url", "https://x.example.com", "--currency", "xyz"];
    expect((await billing(environment, ...unknown)).errors).toContain("Stripe: Invalid currency");
  });

  it.each([
    [{}, ["setup", "--url", "https://x.example.com"], /STRIPE_SECRET_KEY/],
    [{ STRIPE_SECRET_KEY: "sk_test_x" }, ["setup"], /--url/],
    [{ STRIPE_SECRET_KEY: "sk_test_x" }, ["setup", "--url", "x"], /such as https:/],
    [
      { STRIPE_SECRET_KEY: "sk_test_x" },
      ["setup", "--url", "https://x.example.com", "--monthly", "8.5"],
      /whole number/,
    ],
    [{ STRIPE_SECRET_KEY: "sk_test_x" }, ["setup", "--url", "https://x.example.com"], /Stripe: Invalid API Key/],
    [{ STRIPE_SECRET_KEY: "sk_test_x" }, ["reconcile"], /STRIPE_WEBHOOK_SECRET/],
  ])("says what is missing: %j %j", async (environment, args, message) => {
    await using world = await createStripeWorld();

    const { code, output, errors } = await billing(
      { DATABASE_URL: world.databaseUrl, ...environment, STRIPE_API_BASE: world.stripe.url },
      ...args,
    );

    expect(code).toBe(args.some((word) => word === "8.5" || word === "x") ? 2 : 1);
    expect(output).toBe("");
    expect(errors).toMatch(message);
    expect(errors).not.toMatch(/\n\s+at /);
  });
});

describe("reconcile", () => {
  it("updates every team from Stripe, and reports changes and failures, also of a deleted team", async () => {
    await using world = await createStripeWorld();
    const [paid, open] = [await aPayer(world, { seats: 7 }), await aPayer(world)];
    for (const payer of [paid, open]) {
      const { sessionId } = await payer.owner.did(createTeamCheckout);
      if (payer === paid) await world.stripe.pay(sessionId);
    }
    const environment = { DATABASE_URL: world.databaseUrl, ...environmentOf(world.stripe) };

    const first = await billing(environment, "reconcile", "--json");
    await world.database.models.billingAccount.update({ where: { teamId: paid.teamId }, data: { seats: 99 } });
    const second = await billing(environment, "reconcile", "--team", paid.teamId);
    const again = await billing(environment, "reconcile", "--team", paid.teamId);
    const unknown = await billing(environment, "reconcile", "--team", world.services.newId());
    const refused = await billing({ ...environment, STRIPE_SECRET_KEY: "sk_test_wrong" }, "reconcile");
    world.stripe.fail({ kind: "502-html", times: 99 });
    const failed = await billing(environment, "reconcile");
    await world.database.pool.query("DELETE FROM team WHERE id = $1", [paid.teamId]);
    const failedAgain = await billing(environment, "reconcile");
    const failedAsJson = await billing(environment, "reconcile", "--json");
    const unset = await billing({ DATABASE_URL: world.databaseUrl }, "reconcile");

    expect(failedAsJson.code).toBe(1);
    expect(JSON.parse(failedAsJson.output)).toMatchObject({ accounts: [{ after: null }, { after: null }] });
    expect(unset).toMatchObject({ code: 1, output: "", errors: expect.stringMatching(/^Set STRIPE_SECRET_KEY, /) });
    const none = { status: "none", seats: null };
    expect(JSON.parse(first.output)).toEqual({
      accounts: [
        { team_id: paid.teamId, before: none, after: { status: "active", seats: 7 } },
        { team_id: open.teamId, before: none, after: none },
      ],
    });
    expect(await accountNow(world, paid)).toMatchObject({ status: "active", seats: 7 });
    expect(second.output).toBe(`${paid.teamId}  active, 99 seats → active, 7 seats\nTeams: 1, failed: 0.\n`);
    expect(again.output).toBe(`${paid.teamId}  active, 7 seats\nTeams: 1, failed: 0.\n`);
    expect(unknown).toEqual({
      code: 1,
      output: "",
      errors: "No team with this id has used Stripe. Check the id.\n",
    });
    for (const [{ code, output }, why] of [
      [refused, "the payment provider refused: the warning on standard error says why"],
      [failed, "the payment provider failed, or another change took too long: try again"],
      [failedAgain, "the payment provider failed, or another change took too long: try again"],
    ] as const) {
      const lines = [paid, open].map(({ teamId }) => `${teamId}  ${why}\n`);
      expect([code, output]).toEqual([1, `${lines.join("")}Teams: 2, failed: 2.\n`]);
    }
    expect(refused.errors).toContain("Invalid API Key");
  });
});

describe("unknown", () => {
  it("lists what teams bought after a backup to which the database went back, and changes nothing", async () => {
    await using world = await createStripeWorld();
    const [kept, bought] = [await aPayer(world), await aPayer(world, { seats: 7 })];
    const [created, open] = [await aPayer(world), await aPayer(world)];
    for (const payer of [kept, bought, created, open]) {
      const { sessionId } = await payer.owner.did(createTeamCheckout);
      if (payer !== open) await world.stripe.pay(sessionId);
    }
    const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
    const { data } = await stripe.subscriptions.list();
    const [ofOthers] = data;
    await stripe.subscriptions.create({
      customer: String(ofOthers?.customer),
      items: [{ price: world.stripe.priceId, quantity: 1 }],
    });
    const environment = { DATABASE_URL: world.databaseUrl, ...environmentOf(world.stripe) };

    const none = await billing(environment, "unknown");
    for (const { teamId } of [bought, created]) {
      await world.database.models.billingRequest.deleteMany({ where: { teamId } });
      await world.database.models.billingAccount.delete({ where: { teamId } });
    }
    await world.database.pool.query("DELETE FROM team WHERE id = $1", [created.teamId]);
    const asked = world.stripe.requests.length;
    const asJson = await billing(environment, "unknown", "--json");
    const inWords = await billing(environment, "unknown");

    expect(none).toEqual({ code: 0, output: "There are none.\n", errors: "" });
    const { subscriptions } = JSON.parse(asJson.output) as { subscriptions: { team_id: string }[] };
    const ofTeam = ({ teamId }: typeof bought) => data.find(({ metadata }) => metadata["team_id"] === teamId);
    expect([asJson.code, subscriptions]).toEqual([
      1,
      expect.arrayContaining(
        [bought, created].map((payer) => ({
          subscription_id: ofTeam(payer)?.id,
          status: "active",
          team_id: payer.teamId,
          currency: "usd",
          created_at: new Date((ofTeam(payer)?.created ?? 0) * 1_000).toISOString(),
          amount: payer === bought ? 5_600 : 8_000,
          email: payer.owner.email,
        })),
      ),
    ]);
    expect(subscriptions).toHaveLength(2);
    expect(inWords.output).toMatch(/^SUBSCRIPTION +STATUS +CREATED +AMOUNT .*\n(sub_\S+ +active .* \d+ usd .*\n){2}$/);
    expect(world.stripe.requests.slice(asked).every(({ method }) => method === "GET")).toBe(true);
  });

  it("reads every page, and leaves out those that expired before they were ever paid", async () => {
    await using world = await createStripeWorld();
    const { owner } = await aPayer(world);
    const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
    const items = [{ price: world.stripe.priceId, quantity: 1 }];
    const subscribe = (customer: string) =>
      stripe.subscriptions.create({ customer, items, metadata: { team_id: world.services.newId() } });
    const [payer, unable] = [await stripe.customers.create({ email: owner.email }), await stripe.customers.create()];
    world.stripe.setCard(unable.id, "declined");
    for (let made = 0; made < 100; made++) await subscribe(payer.id);
    const [expired, paid] = [await subscribe(unable.id), await subscribe(unable.id)];
    await world.stripe.payInvoice(String(paid.latest_invoice));
    await world.stripe.advance(24 * 3_600_000);

    const { output } = await billing(
      { DATABASE_URL: world.databaseUrl, ...environmentOf(world.stripe) },
      "unknown",
      "--json",
    );

    const listed = (JSON.parse(output) as { subscriptions: { subscription_id: string }[] }).subscriptions;
    expect((await stripe.subscriptions.retrieve(expired.id)).status).toBe("incomplete_expired");
    expect(listed).toHaveLength(101);
    expect(listed.map(({ subscription_id: id }) => id)).toContain(paid.id);
  });
});
