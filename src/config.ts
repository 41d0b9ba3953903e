import pg from "pg";
import { LIMITS } from "./limits.js";
import { Variables, WEB, isDecodable, isUrl } from "./variables.js";

/** A server that embeds texts, and the model to use there. */
interface EmbeddingsConfig {
  readonly url: string;
  readonly model: string;
  readonly key: string | undefined;
  /** What to send before queries, and before texts to find; undefined: what the model is known to need. */
  readonly queryPrefix: string | undefined;
  readonly documentPrefix: string | undefined;
  /** MiB for vectors in memory. */
  readonly memoryMb: number;
}

/** The settings of an operator, read from environment variables. */
export interface Config {
  readonly development: boolean;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Undefined: the embedded PostgreSQL, in the data folder. */
  readonly databaseUrl: string | undefined;
  /** The address of PostgreSQL itself, where DATABASE_URL leads to a pooler such as PgBouncer. */
  readonly directDatabaseUrl: string | undefined;
  /** A streaming replica, for callers who take answers that are a little old. */
  readonly databaseReplicaUrl: string | undefined;
  /** Whether root may run the embedded PostgreSQL in production; elsewhere it always may. */
  readonly embeddedDatabaseAsRoot: boolean;
  readonly redisUrl: string | undefined;
  /** The URL for clients, without a slash at the end. Undefined: the server's own address. */
  readonly publicUrl: string | undefined;
  /** The mail server. Undefined: mails are written to files in development, and wait in production. */
  readonly smtpUrl: string | undefined;
  /** The sender of mails: an address, or a name and an address in angle brackets. */
  readonly mailFrom: string;
  /** Billing needs all three: the key of the account, the secret of its webhook, and the price of a seat. */
  readonly stripeSecretKey: string | undefined;
  readonly stripeWebhookSecret: string | undefined;
  readonly stripePriceId: string | undefined;
  /** The price of a seat per year; undefined: seats are sold by the month only. */
  readonly stripeYearlyPriceId: string | undefined;
  /** The configuration of the customer portal; undefined: the one that was saved in the dashboard. */
  readonly stripePortalId: string | undefined;
  /** Whether Stripe computes taxes, and asks buyers for their address and VAT id. */
  readonly billingTax: boolean;
  /** Whether buyers may enter promotion codes. */
  readonly billingPromotionCodes: boolean;
  /** How many days a team's first subscription is free. */
  readonly billingTrialDays: number;
  /** Undefined: Stripe itself. */
  readonly stripeApiBase: string | undefined;
  /** The server that embeds texts, for search by meaning; undefined: search by words alone. */
  readonly embeddings: EmbeddingsConfig | undefined;
  /** How many members a team may have without a paid subscription, if billing is configured. */
  readonly freeTeamSeats: number;
  /** How many days a failed payment keeps a team's plan. */
  readonly billingGraceDays: number;
  /** The mails that owners get about payments. */
  readonly billingMails: readonly BillingMail[];
  /** Origins whose pages may call the service from a browser. */
  readonly allowedOrigins: readonly string[];
  /** How many of the operator's own proxies are in front of the service. */
  readonly trustedProxies: number;
  readonly logLevel: LogLevel;
  /** Where metrics are served, on a port of their own; undefined: nowhere. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
  /** What OpenTelemetry sends; undefined: nothing, and none of it is loaded. */
  readonly telemetry:
    | { readonly traces: OtlpProtocol | undefined; readonly logs: OtlpProtocol | undefined }
    | undefined;
  readonly retention: Retention;
}

/** How OpenTelemetry sends; the standard's default is protobuf. */
type OtlpProtocol = "http/protobuf" | "http/json";

/** How long old data is kept before background jobs delete it. */
export interface Retention {
  /** The first results under Idempotency-Keys. */
  readonly resultsHours: number;
  /** Keys, after they were revoked or expired. */
  readonly keysDays: number;
  /** Invitations, after the last day on which they could have been answered. */
  readonly invitationsDays: number;
  readonly auditDays: number;
  /** Mails that wait for a process with a mail server. */
  readonly mailsDays: number;
}

/** The mails about payments, which Stripe could send as well. */
const BILLING_MAILS = ["payment_failed", "plan_suspended"] as const;
type BillingMail = (typeof BILLING_MAILS)[number];

/** Stripe allows 730 days. */
const TRIAL_DAYS_MAX = 730;

/** The samplers of OpenTelemetry's SDK. */
const SAMPLERS = ["always_on", "always_off", "traceidratio"].flatMap((name) => [name, `parentbased_${name}`]);

/** Numbers that OpenTelemetry's packages read themselves: they would silently replace a wrong value by a default. */
const OTEL_NUMBERS = [
  "OTEL_EXPORTER_OTLP_TIMEOUT",
  ...["BSP", "BLRP"].flatMap((queue) =>
    ["SCHEDULE_DELAY", "EXPORT_TIMEOUT", "MAX_QUEUE_SIZE", "MAX_EXPORT_BATCH_SIZE"].map((of) => `OTEL_${queue}_${of}`),
  ),
];

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A hundred years: for operators who want to keep data forever. */
const RETENTION_DAYS_MAX = 36_500;

/** It is stored with each vector. */
const PREFIX_LENGTH_MAX = 500;
/** The product of vectors is made with signed addresses of 32 bits. */
const VECTORS_MB_MAX = 2_000;

/** What a process needs of its configuration. */
export interface Needs {
  /** Billing completely or not at all: a missing part would make seats free. Not where a command creates the parts. */
  readonly wholeBilling?: boolean;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK = "127.0.0.1";

const POSTGRES = ["postgres:", "postgresql:"];

/** @throws ConfigError naming every wrong variable, and what it must be. */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  { wholeBilling = false }: Needs = {},
): Config {
  const variables = new Variables(environment);
  const development =
    variables.choice("NODE_ENV", ["development", "test", "production"], "development") !== "production";
  const listening = { host: variables.text("HOST") ?? LOOPBACK, port: variables.whole("PORT", 4000, 65_535) };
  const config: Config = {
    development,
    ...listening,
    dataDir: variables.text("DATA_DIR") ?? ".data",
    publicUrl: variables.base("PUBLIC_URL"),
    ...readDatabases(variables),
    ...readMail(variables, development),
    ...readBilling(variables, wholeBilling),
    embeddings: readEmbeddings(variables),
    allowedOrigins: readOrigins(variables),
    trustedProxies: variables.whole("TRUSTED_PROXIES", 0, 16),
    logLevel: variables.choice("LOG_LEVEL", LOG_LEVELS, "info"),
    telemetry: readTelemetry(variables),
    metrics: readMetrics(variables, listening),
    retention: readRetention(variables),
  };
  variables.assertRight();
  return config;
}

/** The modes in which node-postgres verifies certificates as in `verify-full`, with a warning of seven lines. */
const VERIFYING = ["prefer", "require", "verify-ca"];
const SEVERAL_HOSTS = /^[a-z]+:\/\/([^/?#]*@)?[^/?#@]*,[^/?#@]*([/?#]|$)|[?&](host|port)=[^&#]*(,|%2c)/i;
/** As libpq takes it, and documentation of hosts shows it, but no URL: a user must be somewhere. */
const USER_WITHOUT_HOST = /^postgres(ql)?:\/\/[^/?#]*@\//i;

function databaseAddress(variables: Variables, name: string): string | undefined {
  const given = variables.text(name) ?? "";
  if (SEVERAL_HOSTS.test(given)) {
    variables.report(name, "names several hosts, but must name one: that of the primary.");
    return undefined;
  }
  if (USER_WITHOUT_HOST.test(given)) {
    variables.report(name, "has no host behind the @: write localhost there. With `host=/folder` that counts instead.");
    return undefined;
  }
  const text = variables.url(name, POSTGRES);
  if (text === undefined || !URL.canParse(text)) return text;
  // Prisma's own tools read it, but the service's tables are always in `public`.
  if (!["public", null].includes(new URL(text).searchParams.get("schema"))) {
    variables.report(name, "names a schema, but the tables are always in public: leave out `schema=…`.");
  }
  const url = namingTlsMode(text);
  const problem = addressProblem(url);
  if (problem !== undefined) variables.report(name, problem);
  return url;
}

/** What is wrong with an address for which node-postgres would throw an error that does not name it, or end the process. */
export function addressProblem(url: string): string | undefined {
  try {
    const { port } = new pg.Client({ connectionString: url });
    return port >= 1 && port <= 65_535 ? undefined : "must have a port from 1 to 65535.";
  } catch (error) {
    // The start says more about files of certificates, and about passwords that cannot be decoded.
    if (error instanceof URIError || !(error instanceof Error) || "syscall" in error) return undefined;
    return `cannot be used: ${error.message}`;
  }
}

/**
 * The address with the mode of TLS that node-postgres uses for it. `sslrootcert=system`, as in addresses for libpq 16,
 * means no file, but to verify by the authorities that Node trusts. node-postgres would use TLS for `ssl=false`, too.
 */
export function namingTlsMode(url: string): string {
  const address = new URL(url);
  const parameters = address.searchParams;
  const isBySystem = parameters.get("sslrootcert") === "system";
  const isVerifying = VERIFYING.includes(parameters.get("sslmode") ?? "") && !parameters.has("uselibpqcompat");
  const isPlain = parameters.get("ssl") === "false";
  if (isBySystem) parameters.delete("sslrootcert");
  if (isBySystem || isVerifying) parameters.set("sslmode", "verify-full");
  if (isPlain) parameters.set("ssl", "0");
  return isBySystem || isVerifying || isPlain ? address.href : url;
}

function readDatabases(variables: Variables) {
  const databaseUrl = databaseAddress(variables, "DATABASE_URL");
  const directDatabaseUrl = databaseAddress(variables, "DIRECT_DATABASE_URL");
  const needing = { DIRECT_DATABASE_URL: "the pooler", DATABASE_REPLICA_URL: "the primary" };
  for (const [name, leadsTo] of Object.entries(needing)) {
    if (variables.text(name) !== undefined && variables.text("DATABASE_URL") === undefined)
      variables.report("DATABASE_URL", `must be set with ${name}: the address of ${leadsTo}.`);
  }
  const redisUrl = variables.login("REDIS_URL", ["redis:", "rediss:"]);
  if (redisUrl !== undefined && !/^\/?\d*$/.test(new URL(redisUrl).pathname)) {
    variables.report("REDIS_URL", "must end with the number of a database, or with none.");
  }
  return {
    databaseUrl,
    directDatabaseUrl,
    databaseReplicaUrl: databaseAddress(variables, "DATABASE_REPLICA_URL"),
    embeddedDatabaseAsRoot: variables.isYes("EMBEDDED_DATABASE_AS_ROOT"),
    redisUrl,
  };
}

function readMail(variables: Variables, development: boolean) {
  const smtpUrl = variables.login("SMTP_URL", ["smtp:", "smtps:"]);
  const mailFrom = variables.text("MAIL_FROM");
  if (mailFrom !== undefined && !isSender(mailFrom)) {
    variables.refuse("MAIL_FROM", "an address, such as no-reply@example.com or Memory Graph <no-reply@example.com>");
  }
  // Receivers would refuse mails from localhost, one by one and much later.
  if (smtpUrl !== undefined && mailFrom === undefined && !development) {
    variables.report("MAIL_FROM", "must be set with SMTP_URL: the sender's address of mails.");
  }
  // Without it, links in mails would lead to the address where the server listens, which is not reachable from outside.
  if (smtpUrl !== undefined && variables.text("PUBLIC_URL") === undefined && !development) {
    variables.report("PUBLIC_URL", "must be set with SMTP_URL: the address that links in mails begin with.");
  }
  return { smtpUrl, mailFrom: mailFrom ?? "Memory Graph <no-reply@localhost>" };
}

function readBilling(variables: Variables, whole: boolean) {
  const parts = ["STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET", "STRIPE_TEAM_PRICE_ID"];
  const isSet = (name: string) => variables.text(name) !== undefined;
  if (whole && [...parts, "STRIPE_YEARLY_PRICE_ID", "STRIPE_PORTAL_ID", "STRIPE_API_BASE"].some(isSet)) {
    for (const name of parts.filter((part) => !isSet(part))) {
      variables.report(name, "must be set with the other STRIPE_ variables; `npm run billing -- setup` prints them.");
    }
  }
  const secretKey = [/^(?!pk_|whsec_|price_)[!-~]+$/, "a secret key, as sk_… or rk_…"] as const;
  const webhookSecret = [/^(?!sk_|rk_|pk_|we_)[!-~]+$/, "the secret of the webhook, as whsec_…"] as const;
  return {
    stripeSecretKey: variables.word("STRIPE_SECRET_KEY", ...secretKey),
    stripeWebhookSecret: variables.word("STRIPE_WEBHOOK_SECRET", ...webhookSecret),
    stripePriceId: variables.word("STRIPE_TEAM_PRICE_ID"),
    stripeYearlyPriceId: variables.word("STRIPE_YEARLY_PRICE_ID"),
    stripePortalId: variables.word("STRIPE_PORTAL_ID"),
    stripeApiBase: variables.base("STRIPE_API_BASE"),
    billingTax: variables.isYes("BILLING_TAX"),
    billingPromotionCodes: variables.isYes("BILLING_PROMOTION_CODES"),
    billingTrialDays: variables.whole("BILLING_TRIAL_DAYS", 0, TRIAL_DAYS_MAX),
    billingGraceDays: variables.whole("BILLING_GRACE_DAYS", 7, LIMITS.billing.graceDaysMax),
    billingMails: variables.some("BILLING_MAILS", BILLING_MAILS),
    freeTeamSeats: variables.whole("FREE_TEAM_SEATS", 5, 1_000, 1),
  };
}

function readEmbeddings(variables: Variables): EmbeddingsConfig | undefined {
  const url = variables.base("EMBEDDINGS_URL");
  const settings = {
    model: variables.text("EMBEDDINGS_MODEL"),
    key: variables.word("EMBEDDINGS_KEY"),
    queryPrefix: readPrefix(variables, "EMBEDDINGS_QUERY_PREFIX"),
    documentPrefix: readPrefix(variables, "EMBEDDINGS_DOCUMENT_PREFIX"),
  };
  const memoryMb = variables.whole("EMBEDDINGS_MEMORY_MB", LIMITS.embeddings.vectorMb, VECTORS_MB_MAX, 1);
  const { model = "" } = settings;
  if (url !== undefined && model === "") {
    variables.report(
      "EMBEDDINGS_MODEL",
      "must be set with EMBEDDINGS_URL: the name by which the server knows the model.",
    );
  }
  if (variables.text("EMBEDDINGS_URL") === undefined && variables.isAnySet("EMBEDDINGS_")) {
    variables.report("EMBEDDINGS_URL", "must be set with the other EMBEDDINGS_ variables: the server that embeds.");
  }
  return url === undefined ? undefined : { ...settings, url, model, memoryMb };
}

/** A text to send before others: spaces at its end count. */
function readPrefix(variables: Variables, name: string): string | undefined {
  const trimmed = variables.text(name);
  if (trimmed === "none") return "";
  if (trimmed !== undefined && trimmed.length > PREFIX_LENGTH_MAX) {
    variables.report(name, `must be none, or a text of up to ${PREFIX_LENGTH_MAX} characters.`);
  }
  return variables.textAsSet(name);
}

function readOrigins(variables: Variables): readonly string[] {
  const origins = variables.list("ALLOWED_ORIGINS");
  if (!origins.every((origin) => isUrl(origin, WEB) && new URL(origin).origin === origin)) {
    variables.refuse("ALLOWED_ORIGINS", "origins such as https://app.example.com, separated by commas");
  }
  return origins;
}

/**
 * OpenTelemetry's packages read these and further variables themselves, and would only warn. Where nothing is sent they
 * do not matter: a platform may set them for all programs.
 */
function readTelemetry(variables: Variables): Config["telemetry"] {
  const general = variables.base("OTEL_EXPORTER_OTLP_ENDPOINT");
  const telemetry = { traces: readSignal(variables, "TRACES", general), logs: readSignal(variables, "LOGS", general) };
  if (!telemetry.traces && !telemetry.logs) return undefined;
  variables.choice("OTEL_TRACES_SAMPLER", SAMPLERS, "parentbased_always_on");
  const ratio = variables.text("OTEL_TRACES_SAMPLER_ARG");
  if (ratio !== undefined && !(/^\d*\.?\d+$/.test(ratio) && Number(ratio) <= 1)) {
    variables.refuse("OTEL_TRACES_SAMPLER_ARG", "a number from 0 to 1");
  }
  for (const of of ["", ...(telemetry.traces ? ["TRACES_"] : []), ...(telemetry.logs ? ["LOGS_"] : [])]) {
    assertPairs(variables, `OTEL_EXPORTER_OTLP_${of}HEADERS`, isHeader, "; as %3B");
  }
  assertPairs(variables, "OTEL_RESOURCE_ATTRIBUTES", isAttribute, "= in a value as %3D");
  for (const name of OTEL_NUMBERS) variables.whole(name, 1, 999_999_999, 1);
  return telemetry;
}

/** How traces or logs are sent; undefined: they are not. */
function readSignal(variables: Variables, signal: "TRACES" | "LOGS", general?: string): OtlpProtocol | undefined {
  const own = variables.url(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, WEB);
  if ((own ?? general) === undefined) return undefined;
  if (variables.choice("OTEL_SDK_DISABLED", ["true", "false"], "false") === "true") return undefined;
  if (variables.choice(`OTEL_${signal}_EXPORTER`, ["otlp", "none"], "otlp") === "none") return undefined;
  const names = [`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, "OTEL_EXPORTER_OTLP_PROTOCOL"];
  const name = names.find((each) => variables.text(each) !== undefined) ?? "OTEL_EXPORTER_OTLP_PROTOCOL";
  return variables.choice<OtlpProtocol>(name, ["http/protobuf", "http/json"], "http/protobuf");
}

/** The packages leave out a header that they cannot read, and all attributes if one is wrong or too long. */
const isHeader = (pair: string): boolean => /^[^=;\s]+=[^;]+$/.test(pair) && isDecodable(pair);
const isAttribute = (pair: string): boolean =>
  /^[^=]+=[^=]*$/.test(pair) &&
  isDecodable(pair) &&
  pair.split("=").every((part) => decodeURIComponent(part).length <= ATTRIBUTE_MAX);
const ATTRIBUTE_MAX = 255;

function assertPairs(variables: Variables, name: string, isRight: (pair: string) => boolean, escape: string): void {
  if (variables.list(name).every(isRight)) return;
  variables.report(name, `must be pairs such as name=value, separated by commas: write ${escape}, and % as %25.`);
}

function readMetrics(variables: Variables, service: Place): Config["metrics"] {
  const host = variables.text("METRICS_HOST");
  if (variables.text("METRICS_PORT") === undefined) {
    if (host !== undefined) variables.report("METRICS_PORT", "must be set with METRICS_HOST: the port of the metrics.");
    return undefined;
  }
  const metrics = { host: host ?? LOOPBACK, port: variables.whole("METRICS_PORT", 0, 65_535) };
  if (areSamePlace(metrics, service)) {
    variables.report("METRICS_PORT", `must differ from PORT (${service.port}): metrics have a port of their own.`);
  }
  return metrics;
}

/** Whether a process cannot listen on both: the port is the same, and the hosts are, or one means all addresses. */
function areSamePlace(one: Place, other: Place): boolean {
  const hosts = [one, other].map(({ host }) => (host === "localhost" ? LOOPBACK : host));
  return (
    one.port !== 0 && one.port === other.port && (hosts[0] === hosts[1] || hosts.some((host) => /^[0.:]+$/.test(host)))
  );
}

function readRetention(variables: Variables): Retention {
  const days = (name: string, fallback: number) => variables.whole(name, fallback, RETENTION_DAYS_MAX, 1);
  // The documented minimum for clients.
  const { keptHours } = LIMITS.idempotency;
  return {
    resultsHours: variables.whole("RETENTION_RESULTS_HOURS", keptHours, 24 * 365, keptHours),
    keysDays: days("RETENTION_KEYS_DAYS", 90),
    invitationsDays: days("RETENTION_INVITATIONS_DAYS", 90),
    auditDays: days("RETENTION_AUDIT_DAYS", 730),
    mailsDays: days("RETENTION_MAILS_DAYS", 7),
  };
}

/** Whether the text is one address, with or without a name before it. */
function isSender(text: string): boolean {
  return /^(?:[^<>@,;:\r\n]*<[^\s<>@,;:]+@[^\s<>@,;:]+>|[^\s<>@,;:]+@[^\s<>@,;:]+)$/.test(text);
}
