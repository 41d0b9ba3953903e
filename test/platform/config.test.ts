import { execFileSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { readConfig } from "../../src/config.js";
import type { BillingMail } from "../../src/platform/billing/billing.js";
import { aFolder } from "../support/folder.js";
import { startServerProcess } from "../support/server-process.js";

/** Other variables of OpenTelemetry count only where something is sent. */
const SENT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
const STRIPE = { STRIPE_SECRET_KEY: "sk_test_x", STRIPE_WEBHOOK_SECRET: "whsec_x", STRIPE_TEAM_PRICE_ID: "price_x" };

it.each([
  ["https://Memory.Example.COM:443/", "https://memory.example.com"],
  ["HTTP://a.example:80/b/../c", "http://a.example/c"],
  ["https://bücher.example:8443", "https://xn--bcher-kva.example:8443"],
  ["http://[0:0::1]:4000/", "http://[::1]:4000"],
])("reads the public address %s as clients compare it", (given, publicUrl) => {
  expect(readConfig({ PUBLIC_URL: given })).toMatchObject({ publicUrl });
});

it.each([
  ["sslmode=require", "sslmode=verify-full"],
  ["sslmode=prefer&a=b", "sslmode=verify-full&a=b"],
  ["sslmode=no-verify", "sslmode=no-verify"],
  ["sslmode=require&uselibpqcompat=true", "sslmode=require&uselibpqcompat=true"],
])("names the mode of TLS that node-postgres uses for %s, since it warns of the others", (given, used) => {
  const { databaseUrl } = readConfig({ DATABASE_URL: `postgres://a,b:c@h/d?${given}` });
  expect(databaseUrl).toBe(`postgres://a,b:c@h/d?${used}`);
});

it("accepts all settings of billing or none of them, and names those that are missing", () => {
  const read = (environment: Record<string, string>) => () => readConfig(environment, { wholeBilling: true });
  expect(read(STRIPE)).not.toThrow();
  expect(read({})).not.toThrow();
  for (const name of Object.keys(STRIPE)) {
    const without = Object.fromEntries(Object.entries(STRIPE).filter(([known]) => known !== name));
    expect(read(without)).toThrow(name);
    const alone = { [name]: STRIPE[name as keyof typeof STRIPE] };
    expect(read(alone)).toThrow("npm run billing -- setup");
    expect(() => readConfig(alone)).not.toThrow();
  }
  for (const name of ["STRIPE_PORTAL_ID", "STRIPE_YEARLY_PRICE_ID", "STRIPE_API_BASE"]) {
    expect(read({ [name]: "http://x" })).toThrow("STRIPE_SECRET_KEY must be set");
    expect(read({ [name]: " " })).not.toThrow();
  }
});

it("names settings of billing that are missing together with all other problems", async () => {
  const starting = startServerProcess({ STRIPE_SECRET_KEY: "sk_test_x", LOG_LEVEL: "loud" });
  await expect(starting).rejects.toThrow(/STRIPE_TEAM_PRICE_ID must be[^]*LOG_LEVEL must be/);
});

it.each([
  [{ FREE_TEAM_SEATS: "0" }, "FREE_TEAM_SEATS must be a whole number from 1 to 1000"],
  [{ FREE_TEAM_SEATS: "1001" }, "FREE_TEAM_SEATS must be"],
  [{ BILLING_TRIAL_DAYS: "731" }, "BILLING_TRIAL_DAYS must be a whole number from 0 to 730"],
  [{ BILLING_TAX: "true" }, "BILLING_TAX must be one of yes, no"],
  [{ BILLING_GRACE_DAYS: "61" }, "BILLING_GRACE_DAYS must be a whole number from 0 to 60"],
  [{ BILLING_MAILS: "payment_failed,all" }, "BILLING_MAILS must be none, or some of payment_failed, plan_suspended"],
  [{ EMBEDDED_DATABASE_AS_ROOT: "true" }, "EMBEDDED_DATABASE_AS_ROOT must be one of yes, no"],
  [{ STRIPE_API_BASE: "api.stripe.com" }, "STRIPE_API_BASE must be a URL"],
  [{ DATABASE_URL: "postgres://a@b/c?schema=d" }, "DATABASE_URL names a schema, but the tables are always in public"],
  [
    { DATABASE_URL: "postgres://a:b@h/c?uselibpqcompat=true&sslmode=verify-ca" },
    /DATABASE_URL cannot be used: .*specify a custom CA certificate with sslrootcert/,
  ],
  [{ DATABASE_URL: "postgres://a:b@h/c?sslnegotiation=direct&sslmode=disable" }, "DATABASE_URL cannot be used: sslneg"],
  [{ DIRECT_DATABASE_URL: "postgres://h/c?port=abc", DATABASE_URL: "postgres://h/c" }, "DIRECT_DATABASE_URL must have"],
  [{ DATABASE_URL: "postgres://h:0/c" }, "DATABASE_URL must have a port from 1 to 65535"],
  [{ DATABASE_URL: "postgres://h/c?port=65536" }, "DATABASE_URL must have a port from 1 to 65535"],
  [{ DATABASE_URL: "postgres://a:b@h:1,i:2/c" }, "DATABASE_URL names several hosts, but must name one"],
  [{ DATABASE_URL: "postgres://a:b@h/c?host=h%2Ci" }, "DATABASE_URL names several hosts, but must name one"],
  [
    { DATABASE_URL: "postgres://a:b@/c?host=/cloudsql/p:r:i" },
    "DATABASE_URL has no host behind the @: write localhost",
  ],
  [{ DIRECT_DATABASE_URL: "postgres://a@b/c" }, "DATABASE_URL must be set with DIRECT_DATABASE_URL"],
  [{ DATABASE_REPLICA_URL: "postgres://a@b/c" }, "DATABASE_URL must be set with DATABASE_REPLICA_URL"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"],
  [
    { ...SENT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    "OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/protobuf, http/json",
  ],
  [{ ...SENT, OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "grpc" }, "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL must be one of"],
  [{ REDIS_URL: "redis://h/abc" }, "REDIS_URL must end with the number of a database"],
  [{ REDIS_URL: "redis://:100%@h" }, "REDIS_URL cannot be decoded: write a percent sign as %25"],
  [{ SMTP_URL: "smtp://a:100%@h" }, "SMTP_URL cannot be decoded"],
  [{ DATABASE_URL: "postgres://a:b#c@h/d" }, "%23 for #"],
  [{ DATABASE_URL: "postgres://ann:12#3@h/d" }, "%23 for #"],
  [{ DATABASE_URL: "postgres://ann@h/d # the database" }, "DATABASE_URL must be a URL that begins with"],
  [{ REDIS_URL: "redis://:12#3@h" }, "REDIS_URL must be a URL that begins with"],
  [{ PUBLIC_URL: "https://a.example?from=1" }, "PUBLIC_URL must be a URL without a user, spaces and ?"],
  [
    { PUBLIC_URL: "https://a.example#top" },
    "PUBLIC_URL must be a URL that begins with http:// or https:// and has no #",
  ],
  [{ PUBLIC_URL: "https://ann:x@a.example" }, "PUBLIC_URL must be a URL without"],
  [{ STRIPE_SECRET_KEY: "sk_test_x y" }, "STRIPE_SECRET_KEY must be a secret key, as sk_… or rk_…"],
  [{ STRIPE_SECRET_KEY: "pk_test_x" }, "STRIPE_SECRET_KEY must be"],
  [{ STRIPE_WEBHOOK_SECRET: "whsec_\n1" }, "STRIPE_WEBHOOK_SECRET must be the secret of the webhook"],
  [{ STRIPE_TEAM_PRICE_ID: "price 1" }, "STRIPE_TEAM_PRICE_ID must be one word"],
  [{ EMBEDDINGS_KEY: "a\nb" }, "EMBEDDINGS_KEY must be one word"],
  [{ EMBEDDINGS_MODEL: "e5" }, "EMBEDDINGS_URL must be set with the other EMBEDDINGS_ variables"],
  [{ EMBEDDINGS_MEMORY_MB: "64" }, "EMBEDDINGS_URL must be set with the other EMBEDDINGS_ variables"],
  [{ EMBEDDINGS_MEMORY_MB: "2001" }, "EMBEDDINGS_MEMORY_MB must be a whole number from 1 to 2000"],
  [{ EMBEDDINGS_QUERY_PREFIX: "q: " }, "EMBEDDINGS_URL must be set with the other EMBEDDINGS_ variables"],
  [{ EMBEDDINGS_DOCUMENT_PREFIX: "d".repeat(501) }, "EMBEDDINGS_DOCUMENT_PREFIX must be none, or a text of up to 500"],
  [{ ...SENT, OTEL_SDK_DISABLED: "yes" }, "OTEL_SDK_DISABLED must be one of true, false"],
  [{ EMBEDDINGS_URL: "http://127.0.0.1:1" }, "EMBEDDINGS_MODEL must be set with EMBEDDINGS_URL"],
  [{ EMBEDDINGS_URL: "http://ann:hush@h", EMBEDDINGS_MODEL: "e5" }, "EMBEDDINGS_URL must be a URL without a user"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://h/?a=b" }, "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL without a user"],
  [{ ALLOWED_ORIGINS: "https://app.example.com/" }, "ALLOWED_ORIGINS must be origins such as"],
  [{ TRUSTED_PROXIES: "17" }, "TRUSTED_PROXIES must be a whole number from 0 to 16"],
  [{ ...SENT, OTEL_TRACES_SAMPLER_ARG: "1.5" }, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"],
  [{ ...SENT, OTEL_TRACES_SAMPLER_ARG: "5%" }, "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"],
  [
    { ...SENT, OTEL_EXPORTER_OTLP_HEADERS: "bad header" },
    "OTEL_EXPORTER_OTLP_HEADERS must be pairs such as name=value",
  ],
  [{ ...SENT, OTEL_EXPORTER_OTLP_HEADERS: "key=100%" }, "write ; as %3B, and % as %25"],
  [{ ...SENT, OTEL_EXPORTER_OTLP_LOGS_HEADERS: "key=a;b" }, "OTEL_EXPORTER_OTLP_LOGS_HEADERS must be pairs"],
  [{ ...SENT, OTEL_RESOURCE_ATTRIBUTES: "a=b,c" }, "OTEL_RESOURCE_ATTRIBUTES must be pairs"],
  [{ ...SENT, OTEL_RESOURCE_ATTRIBUTES: "a=b,c=d=e" }, "write = in a value as %3D"],
  [{ ...SENT, OTEL_RESOURCE_ATTRIBUTES: `a=${"b".repeat(256)}` }, "OTEL_RESOURCE_ATTRIBUTES must be pairs"],
  [{ ...SENT, OTEL_BSP_MAX_QUEUE_SIZE: "0" }, "OTEL_BSP_MAX_QUEUE_SIZE must be a whole number from 1"],
  [{ DATABSE_URL: "postgres://a@b/c" }, "DATABSE_URL is no variable of the service: set DATABASE_URL instead"],
  [{ MAIL_FORM: "a@b.example" }, "set MAIL_FROM instead"],
  [{ database_url: "postgres://a@b/c" }, "database_url is no variable of the service: set DATABASE_URL instead"],
  [
    { ...SENT, OTEL_TRACES_SAMPLER: "sometimes" },
    "OTEL_TRACES_SAMPLER must be one of always_on, parentbased_always_on",
  ],
  [{ METRICS_PORT: "4000" }, "METRICS_PORT must differ from PORT"],
  [{ METRICS_PORT: "5", PORT: "5", HOST: "::", METRICS_HOST: "10.0.0.1" }, "METRICS_PORT must differ from PORT"],
  [{ METRICS_PORT: "5", PORT: "5", METRICS_HOST: "0.0.0.0" }, "METRICS_PORT must differ from PORT"],
  [{ METRICS_HOST: "0.0.0.0" }, "METRICS_PORT must be set with METRICS_HOST"],
  [{ PORT: "70000", FREE_TEAM_SEATS: "x" }, /PORT must be[^]*FREE_TEAM_SEATS must be/],
])("says what is wrong with %j, all of it at once", (environment, problem) => {
  expect(() => readConfig(environment)).toThrow(problem);
});

it.each([
  { PORT: "0", METRICS_PORT: "0" },
  { HOST: "10.0.0.1", METRICS_PORT: "4000" },
])("accepts places that differ, or are chosen at the start: %j", (environment) => {
  expect(() => readConfig(environment)).not.toThrow();
});

it.each([
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_TRACES_SAMPLER: "xray", OTEL_SDK_DISABLED: "1" }, undefined],
  [{ ...SENT, OTEL_SDK_DISABLED: "true", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, undefined],
  [{ ...SENT, OTEL_TRACES_EXPORTER: "none", OTEL_LOGS_EXPORTER: "none", OTEL_BSP_SCHEDULE_DELAY: "1h" }, undefined],
  [
    {
      ...SENT,
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
      OTEL_LOGS_EXPORTER: "none",
    },
    { traces: "http/json", logs: undefined },
  ],
  [
    { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://c/v1/logs", OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
    { traces: undefined, logs: "http/json" },
  ],
  [
    { ...SENT, OTEL_RESOURCE_ATTRIBUTES: ",a=b,,c=d%3D ", OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Basic YWJj==" },
    { traces: "http/protobuf", logs: "http/protobuf" },
  ],
])("sends by OpenTelemetry what %j asks for, and minds nothing else: %j", (environment, telemetry) => {
  expect(readConfig(environment).telemetry).toEqual(telemetry);
});

it.each([
  ["sslrootcert=system", "sslmode=verify-full"],
  ["sslmode=require&sslrootcert=system", "sslmode=verify-full"],
  ["sslmode=verify-ca&sslrootcert=ca.pem", "sslmode=verify-full&sslrootcert=ca.pem"],
  ["ssl=false", "ssl=0"],
  ["sslmode=no-verify", "sslmode=no-verify"],
  ["sslmode=require&uselibpqcompat=true", "sslmode=require&uselibpqcompat=true"],
])("reads TLS in an address of PostgreSQL by %s as %s", (given, read) => {
  const address = "postgres://ann:hush@h/graph?";
  expect(readConfig({ DATABASE_URL: address + given }).databaseUrl).toBe(address + read);
});

const names = new Set<string>();
readConfig(
  new Proxy<Record<string, string>>(SENT, { get: (set, name: string) => (names.add(name), Reflect.get(set, name)) }),
);
/** Variables that may be any text. */
const TEXTS = ["HOST", "METRICS_HOST", "DATA_DIR", "EMBEDDINGS_MODEL"].concat(
  ["QUERY", "DOCUMENT"].map((what) => `EMBEDDINGS_${what}_PREFIX`),
);

it.each([...names].filter((name) => !TEXTS.includes(name)))(
  "refuses nonsense in %s, and repeats none that may be secret",
  (name) => {
    const read = () => readConfig({ ...SENT, [name]: "? !" });
    const advice = "Say what it must be, or add it to TEXTS if any text is right.";
    expect(read, advice).toThrow(new RegExp(`\\b${name} (must be|cannot) `));
    if (/_(?:KEY|SECRET|TOKEN|PASSWORD|HEADERS)$/.test(name)) expect(read).not.toThrow("? !");
  },
);

it.each([...names])("refuses %s in quotes, which Docker's --env-file keeps, and repeats no password", (name) => {
  for (const quote of [`"`, "'"]) {
    const read = () => readConfig({ ...SENT, [name]: `${quote}hush${quote}` });
    expect(read).toThrow(`  ${name} is in quotes, which are a part of its value here: leave them out.`);
  }
  const secret = () => readConfig({ DATABASE_URL: `"postgres://ann:hush@h/d"`, STRIPE_SECRET_KEY: "'hush'" });
  expect(secret).not.toThrow("hush");
});

it.each([...names].filter((name) => /_(?:URL|BASE|ENDPOINT)$/.test(name)))(
  "refuses another protocol in %s, and repeats no password",
  (name) => {
    const read = () => readConfig({ [name]: "ftp://ann:hush@h/1" });
    expect(read).toThrow(`${name} must be a URL that begins with`);
    expect(read).not.toThrow("hush");
  },
);

it("is open to nobody else unless it is told to, and reads choices in capitals and addresses with a slash", () => {
  expect(readConfig({ METRICS_PORT: "9000" })).toMatchObject({
    host: "127.0.0.1",
    metrics: { host: "127.0.0.1", port: 9_000 },
    allowedOrigins: [],
    trustedProxies: 0,
    publicUrl: undefined,
    embeddedDatabaseAsRoot: false,
  });
  const spelt = { PUBLIC_URL: " https://a.example/b// ", LOG_LEVEL: "WARN", BILLING_MAILS: "Payment_Failed" };
  expect(readConfig(spelt)).toMatchObject({
    publicUrl: "https://a.example/b",
    logLevel: "warn",
    billingMails: ["payment_failed"],
  });
});

it("reads .env as editors and shells of Windows write it, and says if it cannot be read", async () => {
  const folder = await aFolder();
  const file = join(folder, ".env");
  const module = JSON.stringify(pathToFileURL("dist/modules/environment.js").href);
  const show = `const { configOfProcess } = await import(${module});
    try { console.log(configOfProcess().port); } catch ({ message }) { console.log(message); }`;
  const { PATH = "" } = process.env;
  const read = () =>
    execFileSync(process.execPath, ["--input-type=module", "-e", show], {
      cwd: folder,
      env: { PATH },
      encoding: "utf8",
    });

  for (const encoding of ["utf8", "utf16le"] as const) {
    await writeFile(file, "\uFEFFPORT=4321\r\nHOST=::1\r\n", { encoding });
    expect(read()).toBe("4321\n");
  }
  await writeFile(file, Buffer.from("\uFEFFPORT=4321\r\n", "utf16le").swap16());
  expect(read()).toBe("4321\n");
  await rm(file);
  expect(read()).toBe("4000\n");
  await mkdir(file);
  expect(read()).toBe(
    "The configuration has a problem:\n  The file .env cannot be read (EISDIR): correct or remove it.\n",
  );
});

it("reads .env, except in production", async () => {
  const folder = await aFolder();
  await writeFile(join(folder, ".env"), "PORT=4321\nHOST=::1");
  const script = `
    const { configOfProcess } = await import(${JSON.stringify(pathToFileURL("dist/modules/environment.js"))});
    const { host, port } = configOfProcess();
    console.log(host, port);`;
  const readWith = (env: NodeJS.ProcessEnv) =>
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, env, encoding: "utf8" });

  expect(readWith({})).toBe("::1 4321\n");
  expect(readWith({ HOST: "127.0.0.9" })).toBe("127.0.0.9 4321\n");
  expect(readWith({ NODE_ENV: "production" })).toBe("127.0.0.1 4000\n");
});

it("sends every mail about payments, unless some are switched off", () => {
  const all: Readonly<Record<BillingMail, true>> = { payment_failed: true, plan_suspended: true };

  expect(readConfig({}).billingMails).toEqual(Object.keys(all));
  expect(readConfig({ BILLING_MAILS: "none" }).billingMails).toEqual([]);
});

it("keeps the spaces of prefixes, and knows none from those that are not set", () => {
  const embeddingsWith = (prefix?: string) =>
    readConfig({
      EMBEDDINGS_URL: "http://127.0.0.1:1",
      EMBEDDINGS_MODEL: "one",
      EMBEDDINGS_QUERY_PREFIX: prefix,
      EMBEDDINGS_DOCUMENT_PREFIX: prefix,
    }).embeddings;

  expect(embeddingsWith("query:\n ")).toMatchObject({ queryPrefix: "query:\n ", documentPrefix: "query:\n " });
  expect(embeddingsWith("none")).toMatchObject({ queryPrefix: "", documentPrefix: "" });
  for (const prefix of [undefined, "", " "]) {
    expect(embeddingsWith(prefix)).toMatchObject({ queryPrefix: undefined, documentPrefix: undefined });
  }
});

it("accepts variables of other programs with names like its own", () => {
  const others = {
    ...SENT,
    OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Basic%20a=, b=c d",
    HTTP_URL: "x",
    POST: "x",
    HOME: "x",
    DATABASE_UID: "x",
    STRIPE_TEST_KEY: "x",
    DATABASE_URLS: "x",
  };
  expect(() => readConfig({ ...others, DATABASE_URL: "postgres://a@b/c" })).not.toThrow();
});

it("sends traces and logs only to the endpoints in the standard variables", () => {
  const to = "http://127.0.0.1:4318";
  const both = { traces: "http/protobuf", logs: "http/protobuf" };

  expect(readConfig({}).telemetry).toBeUndefined();
  expect(readConfig({ OTEL_TRACES_EXPORTER: "otlp" }).telemetry).toBeUndefined();
  expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: to }).telemetry).toEqual(both);
  expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: to, OTEL_SDK_DISABLED: "true" }).telemetry).toBeUndefined();
  expect(readConfig({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: to }).telemetry).toEqual({ ...both, traces: undefined });
  expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: to, OTEL_LOGS_EXPORTER: "none" }).telemetry).toEqual({
    ...both,
    logs: undefined,
  });
});
