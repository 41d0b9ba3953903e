import "reflect-metadata";
import { InvalidArgumentError } from "commander";
import { Stripe } from "stripe";
import { configOfProcess } from "../environment.js";
import {
  type AccountSetup,
  FIRST_PRICES,
  type SetupOptions,
  setUpAccount,
  type Reconciled,
  reconcileAccounts,
  type UnknownSubscription,
  findUnknownSubscriptions,
} from "../features/billing/index.js";
import { UUID } from "../operation/id.js";
import { explainUnreachable, stripeClient } from "../platform/billing/stripe-client.js";
import { UserError } from "../features/access/index.js";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { inSnakeCase } from "./in-snake-case.js";
import { addressOf } from "./service-options.js";
import { tableOf } from "./table.js";
import { withDatabase, withServices } from "./with-database.js";

export const program = commandLine({
  script: "billing",
  description: "Prepares a Stripe account, reads subscriptions from it again, and lists unknown ones.",
  notes: "The account is that of STRIPE_SECRET_KEY, which is read only from the environment.",
  examples: [
    "npm run billing -- setup --url https://memory.example.com",
    "npm run billing -- setup --url https://memory.example.com --monthly 900 --yearly 9000 --currency eur",
    "npm run billing -- reconcile",
    "npm run --silent billing -- reconcile --json",
    "npm run billing -- unknown",
  ],
});

program
  .command("setup")
  .description(
    "create product, monthly and yearly price, customer portal and webhook endpoint in the account of " +
      "STRIPE_SECRET_KEY, if they are missing, and print the variables to set",
  )
  .option("--monthly <cents>", `price of a seat per month, ${inCents(FIRST_PRICES.month)}`, amount)
  .option("--yearly <cents>", `price of a seat per year, ${inCents(FIRST_PRICES.year)}`, amount)
  .option("--currency <code>", `three letters (default: the present one, or ${FIRST_PRICES.currency})`, currency)
  .option("--url <address>", "where Stripe reaches the service (default: PUBLIC_URL)", addressOf)
  .option(...JSON_OPTION)
  .action(async ({ json, url, ...prices }: Omit<SetupOptions, "url"> & { url?: string; json?: true }) => {
    const account = accountOfProcess();
    const reachable = url ?? configOfProcess().publicUrl;
    if (!reachable) throw new UserError("Stripe must reach the service: give --url https://…, or set PUBLIC_URL.");
    const made = await account((stripe) => setUpAccount(stripe, { ...prices, url: reachable }));
    console.log(json ? JSON.stringify(inSnakeCase(made)) : describeSetup(made));
  });

program
  .command("reconcile")
  .description("read every team's subscription from Stripe again, and complete unfinished changes")
  .option("--team <id>", "only this team", teamId)
  .option(...JSON_OPTION)
  .action(async ({ team, json }: { team?: string; json?: true }) => {
    await withServices(async (services) => {
      if (!services.billing.payments) {
        throw new UserError("Set STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET and STRIPE_TEAM_PRICE_ID first.");
      }
      const all: Reconciled[] = [];
      for await (const account of reconcileAccounts(services, team)) {
        all.push(account);
        if (!json) console.log(outcomeOf(account));
      }
      if (team !== undefined && all.length === 0)
        throw new UserError("No team with this id has used Stripe. Check the id.");
      const failed = all.filter(({ after }) => !after).length;
      if (json) console.log(JSON.stringify({ accounts: all.map(reconciledToJson) }));
      else console.log(`Teams: ${all.length}, failed: ${failed}.`);
      if (failed > 0) process.exitCode = EXIT.failed;
    });
  });

program
  .command("unknown")
  .description(
    "list subscriptions in Stripe that charge for a team and that this database does not know, as after going back to " +
      "a backup, or because another installation has the same Stripe account; change nothing",
  )
  .option(...JSON_OPTION)
  .action(async ({ json }: { json?: true }) => {
    const account = accountOfProcess();
    await withDatabase(async (database) => {
      const unknown = await account((stripe) => findUnknownSubscriptions(stripe, database));
      if (json) console.log(JSON.stringify({ subscriptions: inSnakeCase(unknown) }));
      else console.log(unknown.length === 0 ? "There are none." : tableOfUnknown(unknown));
      if (unknown.length > 0) process.exitCode = EXIT.failed;
    });
  });

/** Calls Stripe by the key of the environment. */
function accountOfProcess(): <T>(work: (stripe: Stripe) => Promise<T>) => Promise<T> {
  const { stripeSecretKey, stripeApiBase } = configOfProcess();
  if (!stripeSecretKey) throw new UserError("Set STRIPE_SECRET_KEY to a key of the account first.");
  const stripe = stripeClient(stripeSecretKey, stripeApiBase);
  return (work) => work(stripe).catch((error: unknown) => explainStripeError(error, stripeApiBase));
}

const tableOfUnknown = (unknown: readonly UnknownSubscription[]): string =>
  tableOf(
    ["SUBSCRIPTION", "STATUS", "CREATED", "AMOUNT (SMALLEST UNIT)", "CUSTOMER", "TEAM"],
    unknown.map(({ subscriptionId, status, createdAt, amount, currency, email, teamId }) => [
      subscriptionId,
      status,
      createdAt.toISOString(),
      `${amount} ${currency}`,
      email ?? "deleted",
      teamId,
    ]),
  );

function inCents(first: number): string {
  return `in the currency's smallest unit (default: the present one, or ${first})`;
}

function teamId(text: string): string {
  if (!UUID.test(text)) throw new InvalidArgumentError("It must be the id of a team.");
  return text;
}

function amount(text: string): number {
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 1 to 99999999.");
  return Number(text);
}

function currency(text: string): string {
  if (!/^[a-z]{3}$/i.test(text)) throw new InvalidArgumentError("It must be three letters, such as usd.");
  return text.toLowerCase();
}

const describeSetup = ({ monthlyPriceId, yearlyPriceId, portalId, webhookSecret, made }: AccountSetup): string => `
${made.length === 0 ? "Everything exists already." : `Created: ${made.join(", ")}.`}

  STRIPE_TEAM_PRICE_ID=${monthlyPriceId}
  STRIPE_YEARLY_PRICE_ID=${yearlyPriceId}
  STRIPE_PORTAL_ID=${portalId}
  ${webhookSecret ? `STRIPE_WEBHOOK_SECRET=${webhookSecret}` : "# STRIPE_WEBHOOK_SECRET: Stripe returned it when the endpoint was created, and its dashboard shows it"}
`;

function outcomeOf({ teamId, before, after, wasRefused }: Reconciled): string {
  if (wasRefused) return `${teamId}  the payment provider refused: the warning on standard error says why`;
  if (!after) return `${teamId}  the payment provider failed, or another change took too long: try again`;
  const [then, now] = [before, after].map(({ status, seats }) =>
    seats === null ? status : `${status}, ${seats} seats`,
  );
  return `${teamId}  ${then === now ? now : `${then} → ${now}`}`;
}

const reconciledToJson = ({ teamId, before, after }: Reconciled) => ({
  team_id: teamId,
  before: { status: before.status, seats: before.seats },
  after: after ? { status: after.status, seats: after.seats } : null,
});

/** Stripe's own message names the key or the field that is wrong. */
function explainStripeError(error: unknown, apiBase: string | undefined): never {
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  const { StripeAPIError, StripeRateLimitError } = Stripe.errors;
  const passes = error instanceof StripeAPIError || error instanceof StripeRateLimitError;
  const todo = passes ? " Try again in a moment: nothing is created twice." : "";
  const why = error.message.replace(/\.?$/, ".");
  throw new UserError(explainUnreachable(error, apiBase) ?? `Stripe: ${why}${todo}`);
}

await runCommand(program, import.meta.url);
