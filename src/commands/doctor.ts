import "reflect-metadata";
import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import type Stripe from "stripe";
import { type Config, assertBillingWhole } from "../config.js";
import { configOfProcess } from "../environment.js";
import { hasEndpoint } from "../features/billing/index.js";
import { openDataFolder, variableOf } from "../platform/data-folder.js";
import { assertFits } from "../platform/fitting-database.js";
import { LIMITS } from "../limits.js";
import { EmbeddingsServer } from "../platform/embeddings.js";
import { Meaning } from "../platform/meaning.js";
import { verifyMailServer } from "../platform/mailer.js";
import { assertVersion, isMigrated } from "../platform/migrations.js";
import { assertNotMoved } from "../platform/moved-database.js";
import { stripeClient } from "../platform/payments.js";
import { withBudgets } from "../platform/redis-budgets.js";
import { onConnection } from "../platform/one-connection.js";
import { examinePooler } from "../platform/pooler.js";
import { withOptions } from "../platform/session-settings.js";
import { THROUGH_POOLER } from "../platform/start-error.js";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { sentenceFor } from "./for-operator.js";
import { tableOf } from "./table.js";

export const program = commandLine({
  script: "doctor",
  description:
    "Looks at everything that the service needs, and says what is wrong and what to do: configuration, database, " +
    "migrations, pooler, replica, clock, Redis, mail server, Stripe, collector of traces, embeddings, public " +
    "address, disk. It changes nothing.",
  examples: [
    "npm run doctor",
    "NODE_ENV=production DATABASE_URL=… npm run doctor",
    "npm run --silent doctor -- --json",
  ],
  notes: "It reads the same variables as the service. Run it where the service runs, as the same user.",
});

program.option(...JSON_OPTION).action(async ({ json }: { json?: true }) => {
  const findings = await examine();
  if (json) console.log(JSON.stringify({ findings }));
  else
    console.log(
      tableOf(
        ["PART", "STATE", "FINDING"],
        findings.map(({ part, state, says }) => [part, state, says]),
      ),
    );
  if (findings.some(({ state }) => state === "wrong")) process.exitCode = EXIT.failed;
});

interface Finding {
  readonly part: string;
  /** `off`: it is not configured, and the service works without it. */
  readonly state: "ok" | "off" | "wrong";
  readonly says: string;
}

/** Says in a sentence that its part works; `undefined` if the part is not configured. Throws if something is wrong. */
type Check = (config: Config) => Promise<string | undefined>;

const CHECKS: Readonly<Record<string, { readonly check: Check; readonly without: string }>> = {
  database: { check: databaseWorks, without: "" },
  pooler: { check: poolerWorks, without: "DIRECT_DATABASE_URL is not set: DATABASE_URL leads to PostgreSQL itself." },
  replica: { check: replicaWorks, without: "DATABASE_REPLICA_URL is not set: all is read from the primary." },
  redis: { check: redisWorks, without: "REDIS_URL is not set: each server counts rate limits for itself." },
  mail: { check: mailWorks, without: "SMTP_URL is not set: mails wait, or in development become files." },
  stripe: {
    check: stripeWorks,
    without: "STRIPE_SECRET_KEY is not set: no seats are sold, or in development at a stand-in.",
  },
  telemetry: {
    check: telemetryWorks,
    without: "OTEL_EXPORTER_OTLP_ENDPOINT is not set: no traces and no logs are sent to a collector.",
  },
  embeddings: { check: embeddingsWork, without: "EMBEDDINGS_URL is not set: memories are found by words alone." },
  "public address": {
    check: addressWorks,
    without: "PUBLIC_URL is not set: links begin with the server's own address.",
  },
  disk: { check: diskHasRoom, without: "" },
};

async function examine(): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = configOfProcess();
    assertBillingWhole(config);
  } catch (error) {
    return [{ part: "configuration", state: "wrong", says: sentenceFor(error).replaceAll(/\s+/g, " ") }];
  }
  const findings = Object.entries(CHECKS).map(([part, { check, without }]) =>
    examinePart(part, check(config), without),
  );
  return [{ part: "configuration", state: "ok", says: "All variables can be used." }, ...(await Promise.all(findings))];
}

/** How long one part may take to answer. */
const ANSWER_MS = 15_000;

async function examinePart(part: string, answer: Promise<string | undefined>, without: string): Promise<Finding> {
  const over = new AbortController();
  const late = sleep(ANSWER_MS, undefined, { signal: over.signal }).then(() => {
    throw new Problem(`There is no answer within ${ANSWER_MS / 1_000} s.`);
  });
  late.catch(() => {});
  try {
    const says = await Promise.race([answer, late]);
    return says === undefined ? { part, state: "off", says: without } : { part, state: "ok", says };
  } catch (error) {
    return { part, state: "wrong", says: error instanceof Problem ? error.message : sentenceFor(error) };
  } finally {
    over.abort();
  }
}

/** Something is wrong. The message says what, and what to do. */
class Problem extends Error {}

/** How much clocks may differ: codes, sessions and signed events depend on them. */
const CLOCK_DIFFERENCE_MAX_MS = 5_000;

/** A setting of the connection, to find out whether a pooler drops it. */
const STATEMENT_MS = 4_000;

const CONNECTION = { connectionTimeoutMillis: 5_000, query_timeout: 5_000 };

async function databaseWorks(config: Config): Promise<string> {
  await using dataFolder = await openDataFolder(config);
  const address = { url: withOptions(dataFolder.databaseUrl), variable: variableOf(config) };
  return await onConnection(address, { ...CONNECTION, statement_timeout: STATEMENT_MS }, async (client) => {
    const { rows } = await client.query<{ version: string; now: Date; readOnly: string; timeout: string }>(
      `SELECT current_setting('server_version') AS version, clock_timestamp() AS now,
              current_setting('transaction_read_only') AS "readOnly",
              (SELECT setting FROM pg_settings WHERE name = 'statement_timeout') AS timeout`,
    );
    const [row] = rows;
    if (!row) throw new Problem("PostgreSQL does not answer a simple question.");
    assertVersion(row.version, new URL(address.url).host);
    const warnings = await assertFits(client, { host: new URL(address.url).host, variable: address.variable });
    if (warnings.length > 0) throw new Problem(warnings.join(" "));
    if (row.timeout !== String(STATEMENT_MS)) throw new Problem(THROUGH_POOLER);
    if (row.readOnly === "on") {
      throw new Problem(`The database is read-only: name the primary server in ${address.variable}.`);
    }
    const differenceMs = Math.abs(row.now.getTime() - Date.now());
    if (differenceMs > CLOCK_DIFFERENCE_MAX_MS) {
      const seconds = Math.round(differenceMs / 1_000);
      throw new Problem(`The clocks of this machine and of PostgreSQL differ by ${seconds} s: set both by NTP.`);
    }
    await assertNotMoved(client);
    const isReady = await isMigrated(client).catch(() => false);
    if (!isReady) throw new Problem("Migrations are pending, or not in order: start the service, which applies them.");
    return `PostgreSQL ${row.version} with all migrations; its clock agrees.`;
  });
}

async function poolerWorks({ directDatabaseUrl, databaseUrl }: Config): Promise<string | undefined> {
  if (directDatabaseUrl === undefined || databaseUrl === undefined) return undefined;
  const { keepsNames } = await examinePooler(databaseUrl);
  return keepsNames
    ? "The pooler works, and keeps names of statements apart."
    : "The pooler works. Each statement is planned anew: PgBouncer 1.21 or newer with max_prepared_statements saves that.";
}

async function replicaWorks({ databaseReplicaUrl: url }: Config): Promise<string | undefined> {
  if (url === undefined) return undefined;
  return onConnection({ url, variable: "DATABASE_REPLICA_URL" }, CONNECTION, async (client) => {
    const { rows } = await client.query<{ follows: boolean; bytes: string | null }>(
      `SELECT pg_is_in_recovery() AS follows,
              pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) AS bytes`,
    );
    if (!rows[0]?.follows) throw new Problem("DATABASE_REPLICA_URL leads to a primary: name its streaming replica.");
    return `The replica has ${rows[0].bytes ?? "an unknown number of"} bytes left to replay.`;
  });
}

function todoForRedis(message: string): string {
  if (/^(NOAUTH|WRONGPASS)/.test(message)) {
    return "Write the user and password into REDIS_URL: redis://user:password@host:6379.";
  }
  // Redis's own errors begin with a word in capitals.
  return /^[A-Z]{3,} /.test(message)
    ? "It must be one Redis, no cluster, that runs scripts and has memory; docs/operations.md lists the user's rights."
    : "Check REDIS_URL, and that this machine may reach it.";
}

async function redisWorks({ redisUrl }: Config): Promise<string | undefined> {
  if (redisUrl === undefined) return undefined;
  // Without a limit for commands it would wait forever for a server that hangs.
  const limits = { connectTimeout: 5_000, commandTimeout: 5_000 };
  const redis = withBudgets(new Redis(redisUrl, { lazyConnect: true, ...limits, retryStrategy: () => null }));
  let cause: unknown;
  redis.on("error", (error) => (cause = error));
  try {
    await redis.connect();
    const version = /redis_version:(\S+)/.exec(await redis.info("server"))?.[1] ?? "of an unknown version";
    // What the service does there: a Redis may answer, and yet refuse scripts or changes.
    await redis.takeFromBudget("mg:budget:doctor", 1, 1, 1_000);
    await redis.noteUse("mg:uses:doctor", 1, 1_000);
    return `Redis ${version} counts requests.`;
  } catch (error) {
    const message = ((cause ?? error) as Error).message.replace(/\.$/, "");
    throw new Problem(`Redis cannot be used: ${message}. ${todoForRedis(message)}`);
  } finally {
    redis.disconnect();
  }
}

async function telemetryWorks({ telemetry }: Config): Promise<string | undefined> {
  if (!telemetry) return undefined;
  const { tryCollector } = await import("../platform/telemetry.js");
  const [problem] = await tryCollector(telemetry);
  const signals = [telemetry.traces ? "traces" : [], telemetry.logs ? "logs" : []].flat().join(" and ");
  if (!problem) return `The collector takes ${signals}.`;
  const [signal, { message, cause }] = problem;
  const said = (cause instanceof Error ? cause.message : message).slice(0, SAID_LENGTH).replace(/\.$/, "");
  throw new Problem(
    `The collector does not take ${signal}: ${said}. Check OTEL_EXPORTER_OTLP_ENDPOINT and _HEADERS, or set ` +
      `OTEL_${signal.toUpperCase()}_EXPORTER=none.`,
  );
}

const SAID_LENGTH = 200;

const tooSlow = (ms: number): string =>
  `The embeddings server takes ${ms} ms for a query, and a search waits ${LIMITS.embeddings.searchMs} ms: new queries are ` +
  "searched by words alone. Use a smaller model or a nearer server.";

async function embeddingsWork({ embeddings }: Config): Promise<string | undefined> {
  if (!embeddings) return undefined;
  try {
    const server = new EmbeddingsServer(embeddings);
    await using meaning = new Meaning(server);
    // The first request may load the model.
    const [vector] = await server.embed(["A memory."], "document", 10_000);
    const took: number[] = [];
    for (let query = 0; query < 3; query++) {
      const asked = performance.now();
      await server.embed([`A query, number ${query}`], "query", 10_000);
      took.push(performance.now() - asked);
    }
    const fastest = Math.ceil(Math.min(...took));
    if (fastest > LIMITS.embeddings.searchMs) throw new Problem(tooSlow(fastest));
    const { query, document } = server.prefixes;
    const size = await meaning.pieceSizeBy(server.model);
    return (
      `The server embeds by ${embeddings.model}, in ${vector?.values.length} dimensions; a query in ${fastest} ms. ` +
      `Before queries it gets ${JSON.stringify(query)}, before memories ${JSON.stringify(document)}. ` +
      `Memories are sent in pieces of ${size.toLocaleString("en")} English letters.`
    );
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { message } = error as Error;
    throw new Problem(`The embeddings server cannot be used: ${message}. Check EMBEDDINGS_URL, _MODEL and _KEY.`);
  }
}

async function mailWorks(config: Config): Promise<string | undefined> {
  if (config.smtpUrl === undefined) return undefined;
  try {
    await verifyMailServer(config.smtpUrl, { development: config.development });
    return `The mail server accepts the connection; mails come from ${config.mailFrom}.`;
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    const said = message.trim().replace(/\.$/, "");
    throw new Problem(`The mail server cannot be used: ${said}. ${mailAdvice(said, code)}`);
  }
}

/** What to do about an error of nodemailer. */
function mailAdvice(message: string, code: string | undefined): string {
  if (code === "EAUTH") return "Correct user and password in SMTP_URL.";
  if (/certificate/.test(message)) {
    return (
      "Name the host of its certificate in SMTP_URL, and renew it if it is over. In your own network, " +
      "`?tls.rejectUnauthorized=false` at the end accepts any certificate."
    );
  }
  if (code !== "ETLS" && !/:SSL routines:/.test(message)) return "Check SMTP_URL, and that this machine may reach it.";
  return (
    "It does not offer the TLS that SMTP_URL asks for: `smtps:` is for port 465, `smtp:` for port 587. In your own " +
    "network, `?requireTLS=false` at the end sends mails without TLS."
  );
}

async function stripeWorks(config: Config): Promise<string | undefined> {
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
    await readFrom("STRIPE_PORTAL_ID", () => stripe.billingPortal.configurations.retrieve(stripePortalId));
  }
  if (!(await receivesEvents(stripe))) {
    throw new Problem(
      "No webhook in the Stripe account sends all events that are needed, so changes are noticed late: run " +
        "`npm run billing -- setup`.",
    );
  }
  if (config.billingTax) await assertTaxed(stripe, price);
  const isTest = price.livemode ? "" : " in test mode: no money is paid";
  const isTaxed = config.billingTax ? ", and Stripe Tax is set up" : "";
  return `Stripe answers${isTest}; a seat is paid by the ${periods.join(" or by the ")}${isTaxed}.`;
}

/** @throws Problem if Stripe Tax cannot compute the taxes of a checkout. A restricted key may not see its settings. */
async function assertTaxed(stripe: Stripe, { tax_behavior: behavior }: Stripe.Price): Promise<void> {
  const settings = await stripe.tax.settings.retrieve().catch((error: unknown) => {
    const { statusCode, message } = error as Stripe.errors.StripeError;
    if (statusCode === 403) return undefined;
    throw new Problem(`Stripe does not show the settings of Stripe Tax: ${message}`);
  });
  if (!settings) return;
  const place = "in Stripe's dashboard, under Tax, or set BILLING_TAX=no";
  if (settings.status !== "active") {
    const missing = settings.status_details.pending?.missing_fields ?? [];
    const fields = missing.length > 0 ? `: ${missing.join(", ")} missing` : "";
    throw new Problem(`Stripe Tax is not set up${fields}, so every checkout fails. Complete it ${place}.`);
  }
  if (settings.defaults.tax_behavior === null && (behavior === null || behavior === "unspecified")) {
    throw new Problem(
      `Stripe Tax does not know whether the price includes tax, so every checkout fails. Choose it ${place}.`,
    );
  }
}

/** A restricted key may not see webhooks; then they are taken to be right. */
async function receivesEvents(stripe: Stripe): Promise<boolean> {
  return hasEndpoint(stripe).catch((error: unknown) => {
    const { statusCode, message } = error as Stripe.errors.StripeError;
    if (statusCode === 403) return true;
    throw new Problem(`Stripe does not show its webhooks: ${message}`);
  });
}

/** Reads the object in the Stripe account that a variable names. @throws Problem if it is missing or archived. */
async function readFrom<Named extends { readonly id: string; readonly active: boolean }>(
  variable: string,
  read: () => Promise<Named>,
): Promise<Named> {
  const named = await read().catch((error: unknown) => {
    const { message, statusCode = 500 } = error as Stripe.errors.StripeError;
    const said = message.replace(/\.$/, "");
    if (statusCode >= 500) {
      throw new Problem(
        `Stripe cannot be used now: ${said}. Check that this machine may reach it, and status.stripe.com.`,
      );
    }
    throw new Problem(`Stripe refuses: ${said}. Check STRIPE_SECRET_KEY and ${variable}.`);
  });
  if (!named.active) throw new Problem(`${named.id} is archived: name another one in ${variable}.`);
  return named;
}

async function addressWorks({ publicUrl }: Config): Promise<string | undefined> {
  if (publicUrl === undefined) return undefined;
  const response = await fetch(`${publicUrl}/healthz`, { signal: AbortSignal.timeout(5_000) }).catch(
    (error: unknown) => {
      const { message, cause } = error as Error;
      throw new Problem(
        `${publicUrl} cannot be reached from here (${(cause as Error | undefined)?.message ?? message}): check ` +
          "the name, the proxy and the certificate, and that the service runs.",
      );
    },
  );
  if (response.ok) return `${publicUrl} leads to a running service.`;
  throw new Problem(`${publicUrl}/healthz answers ${response.status}: check the proxy, and that the service runs.`);
}

const ROOM_MIN_BYTES = 1_073_741_824;

/** Checks the disk of the embedded database; with a `DATABASE_URL`, the disk of the working directory. */
async function diskHasRoom({ dataDir, databaseUrl }: Config): Promise<string> {
  const { bavail, bsize } = await statfs(databaseUrl === undefined ? dataDir : ".");
  const free = bavail * bsize;
  const gigabytes = `${(free / 1_073_741_824).toFixed(1)} GiB`;
  if (free < ROOM_MIN_BYTES) throw new Problem(`Only ${gigabytes} are free: make room, or use a larger disk.`);
  return `${gigabytes} are free.`;
}

await runCommand(program, import.meta.url);
