import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { program } from "../../src/commands/doctor.js";
import { setUpAccount } from "../../src/features/billing/set-up-account.js";
import { stripeClient } from "../../src/platform/billing/stripe-client.js";
import { takeMigrationLock } from "../../src/platform/database/migration-lock.js";
import { startStandInStripe } from "../../src/stand-in/stripe/index.js";
import { runHere } from "../support/commands.js";
import { examine } from "../support/doctor.js";
import { LIMITS } from "../../src/limits.js";
import { startCollector } from "../support/collector.js";
import { onServer } from "../bench/on-server.js";
import { startEmbeddingsServer } from "../support/embeddings-server.js";
import { aFolder } from "../support/folder.js";
import { withLimits } from "../support/limits.js";
import { fakeService } from "../support/imports.js";
import { listen } from "../support/listening.js";
import { startMailServer } from "../support/mail-server.js";
import { createWorld } from "../support/world.js";

it("finds no problem in a healthy installation, and says what is not configured", async () => {
  using _patient = withLimits("embeddings", { searchMs: 60_000 });
  await using world = await createWorld();
  const { url } = await world.serve();
  const databaseUrl = new URL(world.databaseUrl);
  // The service ignores it.
  databaseUrl.searchParams.set("statement_timeout", "60000");
  await using smtp = await startMailServer();
  await using embeddings = await startEmbeddingsServer();
  await using collector = await startCollector();
  const { code, errors, by } = await examine({
    DATABASE_URL: databaseUrl.href,
    PUBLIC_URL: url,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    EMBEDDINGS_URL: embeddings.url,
    EMBEDDINGS_MODEL: "one",
    EMBEDDINGS_QUERY_PREFIX: "query: ",
    SMTP_URL: smtp.url,
    MAIL_FROM: "mail@example.com",
  });

  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  const states = Object.fromEntries(Array.from(by.values(), ({ part, state }) => [part, state]));
  const working = {
    telemetry: "ok",
    configuration: "ok",
    database: "ok",
    mail: "ok",
    "public address": "ok",
    disk: "ok",
    embeddings: "ok",
  };
  expect(states).toEqual({ ...working, pooler: "off", replica: "off", redis: "off", stripe: "off" });
  expect(by.get("embeddings")?.says).toContain("20 dimensions");
  expect(by.get("embeddings")?.says).toContain('Before queries it gets "query: ", before memories "".');
  expect(by.get("embeddings")?.says).toContain("in pieces of 2,000 English letters");
  expect(by.get("telemetry")?.says).toBe("The collector takes traces and logs.");
  expect([collector.bodies.length, collector.spans, collector.logs]).toEqual([2, [], []]);
  expect(by.get("redis")?.says).toContain("REDIS_URL is not set");
  expect(by.get("database")?.says).toMatch(/^PostgreSQL \d+/);
});

it("says that an embeddings server is too slow for searches to wait for it", async () => {
  await using embeddings = await startEmbeddingsServer();
  embeddings.delayMs = LIMITS.embeddings.searchMs + 50;
  const { code, by } = await examine({ EMBEDDINGS_URL: embeddings.url, EMBEDDINGS_MODEL: "one" });

  expect(code).toBe(1);
  expect(by.get("embeddings")).toMatchObject({ state: "wrong", says: expect.stringContaining("by words alone") });
});

it("tells a wrong key of the embeddings server from its limits and its failures", async () => {
  await using embeddings = await startEmbeddingsServer();
  const environment = { EMBEDDINGS_URL: embeddings.url, EMBEDDINGS_MODEL: "one" };
  for (const [status, todo] of [
    [401, /Check EMBEDDINGS_KEY/],
    [404, /Check EMBEDDINGS_URL, which for most servers ends with \/v1/],
    [501, /Check EMBEDDINGS_URL, _MODEL/],
    [429, /limits your requests/],
    [503, /down or overloaded/],
  ] as const) {
    embeddings.status = status;
    const { by } = await examine(environment);

    expect(by.get("embeddings")?.state).toBe("wrong");
    expect(by.get("embeddings")?.says).toContain(`it answers ${status}. `);
    expect(by.get("embeddings")?.says).toMatch(todo);
  }
});

it("says what to do about an embeddings server that does not answer, which may load the model", async () => {
  using _hasty = withLimits("embeddings", { examinedMs: 300 });
  await using embeddings = await startEmbeddingsServer();
  embeddings.trouble = "hangs";
  const { by } = await examine({ EMBEDDINGS_URL: embeddings.url, EMBEDDINGS_MODEL: "one" });

  expect(by.get("embeddings")?.says).toContain(
    "it does not answer in time. It hangs, is overloaded or loads the model",
  );
});

it("says where an embeddings server redirects, instead of doubting the key, which is not sent there", async () => {
  await using embeddings = await startEmbeddingsServer();
  embeddings.redirect = "/elsewhere";
  embeddings.status = 401;
  const { by } = await examine({ EMBEDDINGS_URL: embeddings.url, EMBEDDINGS_MODEL: "one" });

  const there = new URL("/elsewhere", embeddings.url).href;
  expect(by.get("embeddings")?.says).toContain(`it answers 401 after a redirect to ${there}. Write that address`);
});

it("says that the address of an embeddings server may be wrong that answers without vectors", async () => {
  await using embeddings = await startEmbeddingsServer();
  embeddings.trouble = "other path";
  const { by } = await examine({ EMBEDDINGS_URL: embeddings.url, EMBEDDINGS_MODEL: "one" });

  expect(by.get("embeddings")?.says).toContain("Check EMBEDDINGS_URL, which for most servers ends with /v1");
});

it("says what is wrong with each part and what to do, and exits with 1", async () => {
  await using standIn = await startStandInStripe();
  const stripe = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_WEBHOOK_SECRET: standIn.webhookSecret };
  const { code, errors, by } = await examine({
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    REDIS_URL: "redis://127.0.0.1:1",
    DATABASE_REPLICA_URL: "postgres://nobody@127.0.0.1:1/none",
    SMTP_URL: "smtp://127.0.0.1:1",
    MAIL_FROM: "mail@example.com",
    PUBLIC_URL: "http://127.0.0.1:1",
    EMBEDDINGS_URL: "http://127.0.0.1:1",
    EMBEDDINGS_MODEL: "one",
    EMBEDDINGS_KEY: "a-secret",
    ...stripe,
    STRIPE_TEAM_PRICE_ID: "price_of_nobody",
    STRIPE_API_BASE: standIn.url,
  });

  expect({ code, errors }).toEqual({ code: 1, errors: "" });
  const said = (part: string) => `${by.get(part)?.state}: ${by.get(part)?.says}`;
  expect(said("database")).toMatch(/^wrong: No PostgreSQL can be reached/);
  expect(said("redis")).toMatch(/^wrong: Redis cannot be used: .*REDIS_URL/);
  expect(said("replica")).toMatch(/^wrong: No PostgreSQL can be reached at .*correct DATABASE_REPLICA_URL\.$/);
  expect(said("mail")).toMatch(/^wrong: The mail server cannot be used: .*SMTP_URL/);
  expect(said("embeddings")).toMatch(/^wrong: The embeddings server cannot be used: .*EMBEDDINGS_URL/);
  expect(said("public address")).toMatch(/^wrong: http:\/\/127\.0\.0\.1:1 cannot be reached from here/);
  expect(said("stripe")).toMatch(/^wrong: Stripe refuses: .*STRIPE_TEAM_PRICE_ID/);
  expect(JSON.stringify([...by])).not.toMatch(new RegExp(`${standIn.secretKey}|a-secret`));
});

it("creates no database to look at", async () => {
  const folder = await aFolder();
  const dataDir = join(folder, "later", "data");

  const { code, by } = await examine({ NODE_ENV: "development", DATA_DIR: dataDir });

  expect(code).toBe(1);
  expect(by.get("database")).toMatchObject({
    state: "wrong",
    says: `There is no database in ${dataDir} yet: start the service, which creates one, or set DATABASE_URL.`,
  });
  expect(by.get("disk")).toMatchObject({ state: "ok" });
  expect(await readdir(folder)).toEqual([]);
});

it("says that clients of a public address are redirected, and to where", async () => {
  const { url } = await fakeService(({ url: path }) => ({
    status: path === "/there" ? 200 : 301,
    headers: { location: "/there" },
  }));

  const { by } = await examine({ PUBLIC_URL: url, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });

  expect(by.get("public address")).toMatchObject({
    state: "wrong",
    says:
      `${url}/healthz redirects to /there. Clients do not follow that with a POST or a key: set PUBLIC_URL to the ` +
      "address that answers itself.",
  });
});

it("says that a public address leads to another program's page", async () => {
  const { url } = await fakeService(() => ({ status: 200, headers: { "content-type": "text/html; charset=utf-8" } }));

  const { by } = await examine({ PUBLIC_URL: url });

  expect(by.get("public address")).toMatchObject({
    state: "wrong",
    says: `${url}/healthz is a page of another program: check PUBLIC_URL, and that the proxy passes on all paths.`,
  });
});

it("says that the address of the pooler is that of PostgreSQL, and that a database is set to read-only", async () => {
  await using world = await createWorld({ fresh: true });
  const { databaseUrl } = world;
  const [, database = ""] = new URL(databaseUrl).pathname.split("/");
  await world.database.pool.query(`ALTER DATABASE "${database}" SET default_transaction_read_only = on`);

  // The same server, written otherwise.
  const direct = new URL(databaseUrl);
  direct.searchParams.set("port", direct.port || "5432");
  direct.port = "";

  const { code, by } = await examine({ DATABASE_URL: databaseUrl, DIRECT_DATABASE_URL: direct.href });

  expect(code).toBe(1);
  expect(by.get("pooler")?.says).toMatch(/lead to the same server, .*without one, leave out DIRECT_DATABASE_URL\.$/);
  expect(by.get("database")?.says).toMatch(
    /accepts no changes\. If it is a standby, set DIRECT_DATABASE_URL.*make room/,
  );
});

it.each([
  ["waits for TLS", "", /Greeting never received\. It may wait for TLS: for port 465 begin SMTP_URL with `smtps:`/],
  [
    "refuses this machine",
    "554 5.7.1 You are blocked\r\n",
    /used: Invalid greeting: 554 5\.7\.1 You are blocked\. It refuses this machine/,
  ],
  ["takes no mails", "* OK IMAP: ready\r\n", /used: Invalid greeting: \* OK IMAP: ready\. It is no server for send/],
])("says what to do about a mail server that %s", async (_what, greeting, says) => {
  using _hasty = withLimits("mails", { connectMs: 200 });
  const server = createServer((socket) => void socket.on("error", () => {}).write(greeting));
  onTestFinished(() => void server.close());

  const { by } = await examine({
    SMTP_URL: `smtp://127.0.0.1:${await listen(server)}`,
    MAIL_FROM: "mail@example.com",
    PUBLIC_URL: "http://127.0.0.1:1",
  });

  expect(by.get("mail")).toMatchObject({ state: "wrong", says: expect.stringMatching(says) as string });
});

it("says that a mail server accepts the connection, but refuses the mails", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const { mail } = world.database.models;
  const said = async () => {
    const { by } = await examine({
      DATABASE_URL: world.databaseUrl,
      SMTP_URL: smtp.url,
      MAIL_FROM: "mail@example.com",
      PUBLIC_URL: "http://127.0.0.1:1",
    });
    return `${by.get("mail")?.state}: ${by.get("mail")?.says}`;
  };
  const dueAt = new Date("2100-01-02T03:04:05Z");
  const createdAt = new Date("2020-01-02T03:04:05Z");
  const row = (id = world.services.newId()) => ({ id, kind: "sign_up", email: `${id}@example.com`, dueAt });
  // New, being tried for the first time, and failed a moment ago, as where a server greets strangers later.
  await mail.createMany({
    data: [row(), { ...row(), attempts: 1, createdAt }, { ...row(), attempts: 3, lastError: "450 Later." }],
  });
  expect(await said()).toMatch(/^ok: The mail server accepts the connection; mails come from \S+\.$/);

  await mail.createMany({
    data: [
      { ...row(), attempts: 2, lastError: "550 No.", createdAt },
      { ...row(), attempts: 4, createdAt },
      // The second try comes within a minute.
      { ...row(), attempts: 2, createdAt: new Date(Date.now() - 90_000) },
    ],
  });

  expect(await said()).toMatch(
    /^wrong: The mail .* But mails wait after failed tries: 3, the oldest since 2020-01-02 03:04 UTC, with errors such as: 550 No\. `npm run mail -- list`/,
  );
});

it("says that a mail server lets clients sign in, but SMTP_URL has no user", async () => {
  const smtp = new SMTPServer({ disabledCommands: ["STARTTLS"], allowInsecureAuth: true, authOptional: true });
  onTestFinished(() => smtp.close());
  await new Promise<void>((ready) => void smtp.listen(0, "127.0.0.1", ready));

  const { port } = smtp.server.address() as AddressInfo;
  const { by } = await examine({
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    MAIL_FROM: "mail@example.com",
    PUBLIC_URL: "http://127.0.0.1:1",
  });

  expect(by.get("mail")).toMatchObject({
    state: "ok",
    says: expect.stringContaining("SMTP_URL has no user") as string,
  });
});

it("ends even if a server hangs, and names that server", async () => {
  const silent = createServer(() => {});
  onTestFinished(() => void silent.close());
  const port = await listen(silent);

  const { code, by } = await examine({ REDIS_URL: `redis://127.0.0.1:${port}` });

  expect(code).toBe(1);
  expect(by.get("redis")?.says).toMatch(/^Redis cannot be used: .*timed out.*REDIS_URL/);
});

it("says that another program answers instead of Redis", async () => {
  const web = createHttpServer((_request, response) => void response.end());
  onTestFinished(() => void web.close());
  const { by } = await examine({ REDIS_URL: `redis://127.0.0.1:${await listen(web)}` });

  expect(by.get("redis")?.says).toMatch(
    /^Redis cannot be used: Unknown RESP type [^.]*\. Another program answers there: correct REDIS_URL\.$/,
  );
});

it("says that PostgreSQL is too old", async () => {
  await using world = await createWorld({ fresh: true });
  // Shadows PostgreSQL's own function.
  await world.database.pool.query(
    `CREATE FUNCTION public.current_setting(name text) RETURNS text LANGUAGE sql AS $$
       SELECT CASE name WHEN 'server_version' THEN '13.14' ELSE pg_catalog.current_setting(name) END $$`,
  );
  const name = new URL(world.databaseUrl).pathname.slice(1);
  await world.database.pool.query(`ALTER DATABASE "${name}" SET search_path = public, pg_catalog`);

  const { by } = await examine({ DATABASE_URL: world.databaseUrl });

  expect(by.get("database")).toMatchObject({
    state: "wrong",
    says: expect.stringContaining("is version 13.14: the service needs 14 or newer"),
  });
});

/** How a Redis before version 7 begins what it says of a command of a script. */
const BY_SCRIPT = "ERR Error running script (call to f_8b9c): @user_script:7: @user_script: 7: -";

/** Instead of a refusal. */
const CLOSES = "closes the connection";

it.each([
  ["wants a password", "", "NOAUTH Authentication required.", "required. Write the user and password into REDIS_URL"],
  ["runs no scripts", "eval", "NOPERM this user may not run 'eval'", "docs/operations.md lists the user's rights"],
  [
    "refuses a command to a script",
    "eval",
    "ERR The user executing the script can't run this",
    "lists the user's rights",
  ],
  ["is a replica", "eval", "READONLY You can't write against a read only replica.", "name its primary in REDIS_URL"],
  [
    "is a replica, before version 7",
    "eval",
    `${BY_SCRIPT}READONLY You can't write.`,
    "used: READONLY You can't write. It is",
  ],
  [
    "is a replica that lost its primary",
    "eval",
    "MASTERDOWN Link with MASTER is down.",
    "name its primary in REDIS_URL",
  ],
  ["runs scripts only by their text", "evalsha", "ERR unknown command 'evalsha'", "one Redis, no cluster, that runs"],
  ["loads its data", "eval", "LOADING Redis is loading the dataset in memory", "wait until it has"],
  ["is full", "eval", "OOM command not allowed when used memory > 'maxmemory'.", "maxmemory-policy"],
  ["runs a script for too long", "eval", "BUSY Redis is busy running a script.", "by SCRIPT KILL or FUNCTION KILL"],
  [
    "cannot save",
    "eval",
    "MISCONF Redis is configured to save RDB snapshots, but cannot.",
    "disk, and INFO persistence",
  ],
  ["has too few replicas", "eval", "NOREPLICAS Not enough good replicas to write.", "min-replicas-to-write"],
  ["has no connection left", "eval", "ERR max number of clients reached", "Raise its maxclients"],
  ["closes the connection", "eval", CLOSES, "Connection is closed. It closes the connection: check its log"],
  ["does not answer", "eval", "", "Command timed out. It takes the connection, and does not answer"],
  ["is a part of a cluster", "eval", "MOVED 866 127.0.0.1:7001", "proxy in front of the cluster"],
  ["lacks the database", "select", "ERR DB index is out of range", "End REDIS_URL with the number of a database"],
])("says that Redis %s", async (_what, command, refusal, says) => {
  const redis = createServer((socket) => {
    const answer = (said: string): string => {
      if (!said.includes(command)) return said.includes("info") ? "$0\r\n\r\n" : "+OK\r\n";
      if (refusal === CLOSES) socket.end();
      return refusal && refusal !== CLOSES ? `-${refusal}\r\n` : "";
    };
    socket.on("data", (bytes) => {
      const [, ...said] = bytes.toString().split(/^\*\d+\r\n/m);
      for (const one of said.map(answer)) if (one !== "") socket.write(one);
    });
    socket.on("error", () => {});
  });
  onTestFinished(() => void redis.close());

  const { by } = await examine({ REDIS_URL: `redis://127.0.0.1:${await listen(redis)}/99` });

  expect(by.get("redis")).toMatchObject({ state: "wrong", says: expect.stringContaining(says) as string });
});

it("says that Redis answers too late for the service to wait", async () => {
  const redis = createServer((socket) => {
    socket.on("data", (bytes) => {
      const [, ...said] = bytes.toString().split(/^\*\d+\r\n/m);
      for (const one of said) {
        if (!one.includes("eval")) socket.write("+OK\r\n");
        else setTimeout(() => socket.write("*2\r\n:1\r\n:1\r\n"), LIMITS.budgets.redisWaitMs + 50);
      }
    });
    socket.on("error", () => {});
  });
  onTestFinished(() => void redis.close());

  const { by } = await examine({ REDIS_URL: `redis://127.0.0.1:${await listen(redis)}` });

  expect(by.get("redis")).toMatchObject({ state: "wrong", says: expect.stringContaining("the service waits 200 ms") });
});

it.each([
  { setting: "smtp:", says: /^wrong: .* It does not offer the TLS .*`\?requireTLS=false`/ },
  { setting: "smtps:", says: /^wrong: .*`smtps:` is for port 465/ },
])("says what to do about a mail server that does not offer $setting", async ({ setting, says }) => {
  await using smtp = await startMailServer();
  const { by } = await examine({
    SMTP_URL: `${smtp.url.replace("smtp:", setting)}?requireTLS=true`,
    MAIL_FROM: "mail@example.com",
    NODE_ENV: "production",
    PUBLIC_URL: "http://127.0.0.1:1",
  });

  expect(`${by.get("mail")?.state}: ${by.get("mail")?.says}`).toMatch(says);
});

it("says what to do about a mail server with an untrusted certificate, or that refuses the password", async () => {
  const said = async (options: SMTPServerOptions, urlAt: (port: number) => string) => {
    const smtp = new SMTPServer(options).on("error", () => {});
    onTestFinished(() => smtp.close());
    await new Promise<void>((ready) => void smtp.listen(0, "127.0.0.1", ready));
    const SMTP_URL = urlAt((smtp.server.address() as AddressInfo).port);
    const { by } = await examine({ SMTP_URL, MAIL_FROM: "mail@example.com", PUBLIC_URL: "http://127.0.0.1:1" });
    expect(JSON.stringify([...by])).not.toContain("a-secret");
    return `${by.get("mail")?.state}: ${by.get("mail")?.says}`;
  };
  const refusing: SMTPServerOptions = {
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    onAuth: (_auth, _session, done) => done(new Error("Not you.")),
  };
  const later: SMTPServerOptions["onAuth"] = (_auth, _session, done) =>
    done(Object.assign(new Error("Too many logins"), { responseCode: 454 }));

  expect(await said(refusing, (port) => `smtp://ann:a-secret@127.0.0.1:${port}`)).toMatch(
    /^wrong: .* 535 Not you\. Correct user and password in SMTP_URL: some hosts want one made for programs/,
  );
  const limited = { ...refusing, onAuth: later };
  expect(await said(limited, (port) => `smtp://ann:a-secret@127.0.0.1:${port}`)).toMatch(
    /^wrong: .* 454 Too many logins\. It lets nobody sign in for now: wait/,
  );
  expect(await said({ secure: true }, (port) => `smtps://127.0.0.1:${port}?tls.rejectUnauthorized=true`)).toMatch(
    /^wrong: .* certificate .*`\?tls\.rejectUnauthorized=false` at the end accepts any certificate\.$/,
  );
});

it("says what to do about a certificate of Redis that is not trusted, and trusts any if it is told to", async () => {
  // It speaks TLS, with a certificate of its own, and is no Redis.
  const named: string[] = [];
  const smtp = new SMTPServer({
    secure: true,
    SNICallback: (host, done) => done(null, void named.push(host)),
  }).on("error", () => {});
  onTestFinished(() => smtp.close());
  await new Promise<void>((ready) => void smtp.listen(0, "127.0.0.1", ready));
  const { port } = smtp.server.address() as AddressInfo;
  const said = async (REDIS_URL: string) => (await examine({ REDIS_URL })).by.get("redis")?.says;

  for (const protocol of ["rediss:", "REDISS:"])
    expect(await said(`${protocol}//127.0.0.1:${port}`)).toMatch(
      /certificate.* `\?tls\.rejectUnauthorized=false` at the end accepts any\.$/,
    );
  // A proxy in front of several Redis knows by the host's name which is meant. An address is no name.
  for (const host of ["127.0.0.1", "localhost"])
    expect(await said(`rediss://${host}:${port}?tls.rejectUnauthorized=false`)).toContain("Another program answers");
  expect(named).toEqual(["localhost"]);

  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await said(`rediss://127.0.0.1:${port}`)).toContain("Another program answers");
});

it("says in plain words that a server speaks no TLS, and which status a public address answers", async () => {
  const { url } = await fakeService(() => ({ status: 502 }));
  const secure = url.replace("http:", "https:");
  const stripe = { STRIPE_SECRET_KEY: "sk_test_x", STRIPE_WEBHOOK_SECRET: "whsec_x", STRIPE_TEAM_PRICE_ID: "price_x" };
  const parts = {
    PUBLIC_URL: secure,
    REDIS_URL: url.replace("http:", "rediss:"),
    OTEL_EXPORTER_OTLP_ENDPOINT: secure,
    SMTP_URL: url.replace("http:", "smtps:"),
    MAIL_FROM: "mail@example.com",
    ...stripe,
    STRIPE_API_BASE: secure,
  };

  const { by } = await examine(parts);
  const { by: plain } = await examine({ PUBLIC_URL: url });

  for (const part of ["public address", "redis", "telemetry", "mail", "stripe"]) {
    expect(by.get(part)?.says, part).toMatch(/^.*TLS fails: wrong version number\b.*$/);
    expect(by.get(part)?.says, part).not.toMatch(/error:|openssl|EPROTO/);
  }
  expect(plain.get("public address")?.says).toBe(
    `${url}/healthz answers 502, as a proxy does while no server is ready: if no other part is wrong here, check ` +
      "PUBLIC_URL, the proxy, and that the service runs.",
  );
});

it("checks each price and the customer portal", async () => {
  await using standIn = await startStandInStripe();
  const stripe = stripeClient(standIn.secretKey, standIn.url);
  const priceOf = async (interval?: "month" | "year") => {
    const { id: product } = await stripe.products.create({ name: "Seat" });
    const price = { product, currency: "usd", unit_amount: 8_000, ...(interval && { recurring: { interval } }) };
    return (await stripe.prices.create(price)).id;
  };
  const said = async (environment: Record<string, string>) => {
    const settings = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_WEBHOOK_SECRET: "whsec_x" };
    const { by } = await examine({
      ...settings,
      STRIPE_API_BASE: standIn.url,
      STRIPE_TEAM_PRICE_ID: standIn.priceId,
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
      ...environment,
    });
    return `${by.get("stripe")?.state}: ${by.get("stripe")?.says}`;
  };
  const [monthly, yearly] = [await priceOf("month"), await priceOf("year")];

  expect(await said({})).toMatch(/^wrong: No webhook .* run `npm run billing -- setup`\.$/);
  const url = "https://memory.example.com/billing/stripe-webhook";
  const { id } = await stripe.webhookEndpoints.create({ url, enabled_events: ["invoice.paid"] });
  expect(await said({})).toMatch(/^wrong: No webhook/);
  await stripe.webhookEndpoints.update(id, { enabled_events: ["*"] });
  const works = "ok: Stripe answers in test mode: no money is paid; a seat is paid by the month.";
  expect(await said({})).toBe(works);
  expect(await said({ PUBLIC_URL: "https://memory.example.com" })).toBe(works);
  expect(await said({ PUBLIC_URL: "https://memory.example.co" })).toBe(
    `${works} It sends events to ${url}, not to PUBLIC_URL: is this the service?`,
  );
  expect(await said({ STRIPE_YEARLY_PRICE_ID: yearly })).toContain("a seat is paid by the month or by the year.");
  expect(await said({ STRIPE_YEARLY_PRICE_ID: monthly })).toContain(
    "wrong: STRIPE_YEARLY_PRICE_ID must name a price by",
  );
  expect(await said({ STRIPE_TEAM_PRICE_ID: await priceOf() })).toContain("wrong: STRIPE_TEAM_PRICE_ID must name");
  expect(await said({ STRIPE_TEAM_PRICE_ID: yearly })).toContain(
    "wrong: STRIPE_TEAM_PRICE_ID must name a price by the",
  );
  expect(await said({ STRIPE_YEARLY_PRICE_ID: "price_x" })).toMatch(/^wrong: Stripe refuses: .*STRIPE_YEARLY_PRICE_ID/);
  // A name may stand for several addresses, whose errors have no common message.
  for (const apiBase of ["http://127.0.0.1:1", "http://localhost:1"]) {
    expect(await said({ STRIPE_API_BASE: apiBase })).toMatch(
      new RegExp(`^wrong: Stripe cannot be reached at ${apiBase}: .*ECONNREFUSED.*\\. Check STRIPE_API_BASE, and that`),
    );
  }
  expect(await said({ STRIPE_PORTAL_ID: "bpc_x" })).toMatch(/^wrong: Stripe refuses: .*STRIPE_PORTAL_ID/);
  const { configurations } = stripe.billingPortal;
  const portalOf = async (updates: "price" | "quantity", ...offered: string[]) => {
    const products = [{ product: "memory_graph_team", prices: offered }];
    const change = { enabled: true, default_allowed_updates: [updates], products };
    const params = { ...change, proration_behavior: "always_invoice", billing_cycle_anchor: "unchanged" } as const;
    return (await configurations.create({ features: { subscription_update: params } })).id;
  };
  const { id: withoutChanges } = await configurations.create({ features: { invoice_history: { enabled: true } } });
  expect(await said({ STRIPE_PORTAL_ID: withoutChanges })).toBe(works);
  const { id: withPauses } = await configurations.create({ features: { subscription_pause: { enabled: true } } });
  expect(await said({ STRIPE_PORTAL_ID: withPauses })).toMatch(/^wrong: .* lets owners pause/);
  const oneInterval = await portalOf("price", standIn.priceId, monthly);
  expect(await said({ STRIPE_PORTAL_ID: oneInterval })).toBe(works);
  const bothIntervals = await portalOf("price", standIn.priceId, yearly);
  expect(await said({ STRIPE_PORTAL_ID: bothIntervals })).toMatch(/^wrong: .* keeps .* `npm run billing -- setup`/);
  const quantity = await portalOf("quantity", standIn.priceId);
  expect(await said({ STRIPE_PORTAL_ID: quantity })).toMatch(/^wrong: .* take the quantity from/);
  const wishes = { monthly: 800, yearly: 8_000, currency: "usd", url: "https://memory.example.com" };
  const { portalId } = await setUpAccount(stripe, wishes);
  expect(await said({ STRIPE_PORTAL_ID: portalId })).toBe(works);
  for (const kind of ["429", "500"] as const) {
    standIn.fail({ kind, path: /^\/v1\/prices/, times: 10 });
    expect(await said({})).toMatch(/^wrong: Stripe cannot be used now: .*status\.stripe\.com/);
    standIn.clearFaults();
  }
});

it("says why a collector takes no traces or no logs", async () => {
  const paths: string[] = [];
  const collector = createHttpServer(({ url = "" }, response) => {
    paths.push(url);
    response.writeHead(url === "/v1/logs" ? 403 : 200).end("no such token");
  });
  onTestFinished(() => void collector.close());
  const endpoint = `http://127.0.0.1:${await listen(collector)}`;
  const said = async (environment: Record<string, string>) => {
    const { by } = await examine({ OTEL_EXPORTER_OTLP_HEADERS: "authorization=a-secret", ...environment });
    expect(JSON.stringify([...by])).not.toContain("a-secret");
    return `${by.get("telemetry")?.state}: ${by.get("telemetry")?.says}`;
  };

  expect(await said({})).toMatch(/^off: OTEL_EXPORTER_OTLP_ENDPOINT is not set/);
  expect(await said({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })).toMatch(
    /^wrong: The collector does not take logs: .*OTEL_EXPORTER_OTLP_ENDPOINT and _HEADERS.*OTEL_LOGS_EXPORTER=none/,
  );
  const onlyTraces = { OTEL_LOGS_EXPORTER: "none" };
  paths.length = 0;
  expect(await said({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...onlyTraces })).toBe("ok: The collector takes traces.");
  expect(paths).toEqual(["/v1/traces"]);
  expect(await said({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", ...onlyTraces })).toMatch(
    /^wrong: The collector does not take traces: .*ECONNREFUSED/,
  );
});

it("checks that Stripe Tax can compute taxes, if they are asked for", async () => {
  await using standIn = await startStandInStripe();
  const stripe = stripeClient(standIn.secretKey, standIn.url);
  const url = "https://memory.example.com/billing/stripe-webhook";
  await stripe.webhookEndpoints.create({ url, enabled_events: ["*"] });
  const said = async (tax: string) => {
    const settings = { STRIPE_SECRET_KEY: standIn.secretKey, STRIPE_WEBHOOK_SECRET: "whsec_x", BILLING_TAX: tax };
    const { by } = await examine({
      ...settings,
      STRIPE_API_BASE: standIn.url,
      STRIPE_TEAM_PRICE_ID: standIn.priceId,
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    });
    return `${by.get("stripe")?.state}: ${by.get("stripe")?.says}`;
  };

  expect(await said("no")).toMatch(/^ok: .* by the month\.$/);
  expect(await said("yes")).toMatch(/^wrong: Stripe Tax is not set up: .*head_office missing, so every checkout fails/);
  await stripe.tax.settings.update({ head_office: { address: { country: "DE", city: "Berlin" } } });
  expect(await said("yes")).toMatch(/^wrong: Stripe Tax does not know whether the price includes tax/);
  await stripe.tax.settings.update({ defaults: { tax_behavior: "exclusive" } });
  expect(await said("yes")).toMatch(/^ok: .* by the month, and Stripe Tax is set up\.$/);
});

it("names every variable that is wrong or missing", async () => {
  const { code, by } = await examine({ PORT: "none", STRIPE_SECRET_KEY: "sk_test_x", STRIPE_API_BASE: "x" });

  expect(code).toBe(1);
  expect(by.get("configuration")).toMatchObject({
    state: "wrong",
    says: expect.stringMatching(/PORT.*STRIPE_TEAM_PRICE_ID.*STRIPE_API_BASE/),
  });
});

it("says that a disk is nearly full, by its bytes or by its files", async (test) => {
  const said = async (options: string) => {
    const folder = await mkdtemp(join(tmpdir(), "disk-"));
    if (spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder]).status !== 0) return undefined;
    onTestFinished(() => void spawnSync("umount", [folder]));
    const { by } = await examine({ DATA_DIR: folder, EMBEDDED_DATABASE_AS_ROOT: "yes" });
    return `${by.get("disk")?.state}: ${by.get("disk")?.says.replace(folder, "FOLDER")}`;
  };

  const full = await said("size=1m");
  if (full === undefined) return test.skip("Only root may mount a small disk.");
  expect(full).toBe("wrong: Only 0.0 GiB are free on the disk of FOLDER: make room, or use a larger disk.");
  expect(await said("size=2g,nr_inodes=100")).toMatch(
    /^wrong: The disk of FOLDER has room for only \d\d more files \(inodes\): delete files there\.$/,
  );
  expect(await said("size=2g,nr_inodes=2000")).toBe("ok: 2.0 GiB are free.");
  return undefined;
});

const FULL = /No space left on device.*disk is full, so it accepts no changes: make room there/;

it.each([
  ["says that PostgreSQL's disk is full, which only changes show", "53100", { state: "wrong", says: FULL }],
  ["takes a role that may not write temporary tables", "42501", { state: "ok", says: /with all migrations/ }],
])("%s", async (_name, code, { state, says }) => {
  await using world = await createWorld({ fresh: true });
  await world.database.pool.query(`
    CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '${code}'; END $$;
    CREATE EVENT TRIGGER refused ON ddl_command_end WHEN TAG IN ('CREATE TABLE AS') EXECUTE FUNCTION refuse()`);

  const { by } = await examine({ DATABASE_URL: world.databaseUrl });

  expect(by.get("database")).toMatchObject({ state, says: expect.stringMatching(says) as string });
});

it("says as the start does that it would be refused, and leaves the database as it is", async () => {
  await using world = await createWorld({ fresh: true });
  const { pool } = world.database;
  const role = `role_${randomUUID().replaceAll("-", "")}`;
  await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'hush'`);
  onTestFinished(() =>
    onServer(inject("databaseServer").url, async (server) => void (await server.query(`DROP ROLE ${role}`))),
  );
  const asRole = Object.assign(new URL(world.databaseUrl), { username: role, password: "hush" }).href;
  const findProblem = async (url: string) => (await examine({ DATABASE_URL: url })).by.get("database")?.says;

  expect(await findProblem(asRole)).toMatch(/does not let role_\w+ read and change _prisma_migrations, api_key, /);
  await pool.query("UPDATE _prisma_migrations SET migration_name = '9' || migration_name");
  expect(await findProblem(world.databaseUrl)).toMatch(/^A newer version of the service has migrated this database/);
  await pool.query("DROP TABLE _prisma_migrations");
  expect(await findProblem(world.databaseUrl)).toMatch(/its schema public is not empty\): another program uses it/);
  await pool.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
  expect(await findProblem(world.databaseUrl)).toMatch(/^Migrations are pending: start the service/);
  await pool.query(`GRANT USAGE ON SCHEMA public TO ${role}`);
  expect(await findProblem(asRole)).toMatch(/does not let role_\w+ create what the service needs: permission denied/);
  const { rows } = await pool.query("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace");
  expect(rows).toEqual([]);
});

it.each([-3_600_000, -10_000, 10_000, 3_600_000])(
  "says that this machine's clock is off by %d ms, but not by less than it needs",
  async (offByMs) => {
    await using world = await createWorld();
    const realNow = Date.now;
    const findingWith = async (ms: number) => {
      const clock = vi.spyOn(Date, "now").mockImplementation(() => realNow() + ms);
      const { by } = await examine({ DATABASE_URL: world.databaseUrl }).finally(() => clock.mockRestore());
      return by.get("database");
    };

    const { state, says = "" } = (await findingWith(offByMs)) ?? {};
    expect([state, says]).toEqual([
      "wrong",
      expect.stringMatching(/^The clocks .* differ by \d+ s: set both by NTP\.$/),
    ]);
    const seconds = Math.abs(offByMs) / 1_000;
    expect(Math.abs(Number(/\d+/.exec(says)) - seconds)).toBeLessThanOrEqual(2);
    expect(await findingWith(Math.sign(offByMs) * 1_000)).toMatchObject({ state: "ok" });
  },
);

it("says that the data folder cannot be used", async () => {
  const folder = await aFolder();
  await writeFile(join(folder, "file"), "");

  const { by } = await examine({ NODE_ENV: "development", DATA_DIR: join(folder, "file") });

  expect(by.get("disk")).toMatchObject({ state: "wrong", says: expect.stringContaining("name another folder") });
});

it("says that migrations are missing or not finished, and shows a table for people", async () => {
  await using world = await createWorld({ fresh: true });
  const newest = "migration_name = (SELECT max(migration_name) FROM _prisma_migrations)";
  await world.database.pool.query(`UPDATE _prisma_migrations SET finished_at = NULL WHERE ${newest}`);
  const { by } = await examine({ DATABASE_URL: world.databaseUrl });
  expect(by.get("database")?.says).toMatch(/^The migration \d+_\w+ was begun and is not finished: start the service/);

  await world.database.pool.query(`DELETE FROM _prisma_migrations WHERE ${newest}`);
  const { code, output } = await runHere(program, [], { DATABASE_URL: world.databaseUrl });

  expect(code).toBe(1);
  expect(output).toMatch(/^PART +STATE +FINDING\nconfiguration +ok +/);
  expect(output).toMatch(/^database +wrong +Migrations are pending/m);

  await onServer(world.databaseUrl, async (starting) => {
    await takeMigrationLock(starting, () => {});
    const during = await examine({ DATABASE_URL: world.databaseUrl });
    expect(during.by.get("database")?.says).toMatch(/^A server or a command is applying migrations at present/);
  });
});
