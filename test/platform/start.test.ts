import { randomUUID } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import pg from "pg";
import { Stripe } from "stripe";
import { expect, inject, it, onTestFinished } from "vitest";
import { startApp } from "../../src/app.js";
import { forOperator } from "../../src/commands/for-operator.js";
import { readConfig } from "../../src/config.js";
import { prepareDemoKey } from "../../src/features/access/index.js";
import { LIMITS } from "../../src/limits.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { openDatabase } from "../../src/platform/database/database.js";
import { migrate } from "../../src/platform/database/migrations.js";
import { addressOf } from "../../src/platform/listen.js";
import { explainUnreachable } from "../../src/platform/billing/stripe-client.js";
import { adviceForCertificate } from "../../src/platform/certificate-advice.js";
import { StartError, explainDatabase } from "../../src/platform/start-error.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { createWorld } from "../support/world.js";

const QUICKLY = { ...LIMITS.start, connectMs: 2_000, reportAfterMs: 100, migrationLockMs: 1_000 };

/** The sentence that an operator reads when the service is started on this database. */
async function sentenceAt(url: string): Promise<string> {
  const error: unknown = await migrate(url, { waits: QUICKLY }).then(
    () => new Error("It started."),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StartError)) throw error;
  expect(error.message).toMatch(/^[A-Z][^\n]*\.$/);
  expect(error.message).not.toContain("hush");
  return error.message;
}

it.each([
  ["127.0.0.1:1", /^No PostgreSQL can be reached at 127\.0\.0\.1:1 \(ECONNREFUSED\): start it/],
  ["no-such-host.invalid", /^The host name no-such-host\.invalid in DATABASE_URL is unknown \(E\w+\): correct it/],
])("says what to do when there is nothing at %s", async (host, sentence) => {
  expect(await sentenceAt(`postgres://ann:hush@${host}/graph`)).toMatch(sentence);
});

it.each([
  [
    "a password that cannot be decoded",
    (url: string) => url.replace(/\/\/.*@/, "//ann:100%ff@"),
    /percent sign as %25/,
  ],
  [
    "a certificate that is not there",
    (url: string) => `${url}?sslrootcert=/nowhere.pem`,
    /\/nowhere\.pem .*\(ENOENT\)/,
  ],
  [
    "a setting that nobody knows",
    (url: string) => `${url}?options=-c%20nonsense%3D1`,
    /"nonsense"\. Correct the options/,
  ],
  ["a folder without a socket", () => "postgres:///graph?host=/nowhere", /can be reached at \/nowhere \(ENOENT\)/],
])("says what to do when the URL has %s", async (_what, urlOf, sentence) => {
  const url = new URL(inject("databaseServer").url);
  url.search = "";

  expect(await sentenceAt(urlOf(url.href))).toMatch(sentence);
});

it("says what to do when PostgreSQL is too old", async () => {
  const message = (type: string, body: string) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(Buffer.byteLength(body, "latin1") + 4);
    return Buffer.concat([Buffer.from(type), length, Buffer.from(body, "latin1")]);
  };
  const letIn = Buffer.concat([message("R", "\0\0\0\0"), message("Z", "I")]);
  const row = Buffer.concat([
    message("T", `\0\x02${["version", "read_only"].map((name) => `${name}\0${TEXT_COLUMN}`).join("")}`),
    message("D", "\0\x02\0\0\0\x0413.5\0\0\0\x03off"),
    message("C", "SELECT 1\0"),
    message("Z", "I"),
  ]);
  const host = await answerWith(letIn, row);

  expect(await sentenceAt(`postgres://ann:hush@${host}/graph`)).toMatch(
    /is version 13\.5: the service needs 14 or newer/,
  );
});

it("says what to do when the database is lost before the demo user's key is created", async () => {
  await using world = await createWorld();
  await world.breakConnections();

  const error: unknown = await prepareDemoKey(world.services, "/nowhere").catch((thrown: unknown) => thrown);

  expect(forOperator(error)).toMatch(/^This process stops: .+\. \w.+\.$/);
});

it("says that other work has locked a table, as a restore does", async () => {
  await using world = await createWorld();
  const restoring = new pg.Client({ connectionString: world.databaseUrl });
  await using _connection = { [Symbol.asyncDispose]: () => restoring.end() };
  await restoring.connect();
  await restoring.query("BEGIN; ALTER TABLE user_account DISABLE TRIGGER USER");
  await using database = openDatabase(world.databaseUrl, () => {}, { ...LIMITS.database, lockWaitMs: 100 });

  const error: unknown = await prepareDemoKey({ ...world.services, database }, "/nowhere").catch(
    (thrown: unknown) => thrown,
  );

  expect(forOperator(error)).toMatch(/^Other work has locked .* `npm run restore`\. Try again; if/);
});

it("says that a disk is full, even if the error names no file", () => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
  expect(forOperator(full)).toBe("A file cannot be written (ENOSPC): its disk is full; free some space.");
});

it.each([
  ["28P01", 'password authentication failed for user "ann"', /refuses the password of ann: correct user and password/],
  [
    "28000",
    'no pg_hba.conf entry for host "::1"',
    /does not let ann in: no pg_hba\.conf entry .* pg_hba\.conf there\.$/,
  ],
  [
    "28000",
    'no pg_hba.conf entry for host "[local]", user "ann", no encryption',
    /"ann", no encryption\. Correct DATABASE_URL, or pg_hba\.conf there\.$/,
  ],
  ["28000", 'no pg_hba.conf entry for host "::1", no encryption', /only by TLS, .*add sslmode=require to DATABASE_URL/],
  ["08P01", "SSL required", /refuses: SSL required\. .*add sslmode=require to DATABASE_URL/],
  ["3D000", 'database "graph" does not exist', /has no database graph: create it with CREATE DATABASE/],
  ["53300", "sorry, too many clients already", /has no connection left: raise its max_connections/],
  [
    "57P03",
    "the database system is starting up",
    /does not accept connections yet: the database system is starting up/,
  ],
  [
    "53100",
    "could not extend file: wrote only 4096 of 8192 bytes",
    /cannot be used now: .*bytes\. .* disk is full, so .* make room/,
  ],
  ["08P01", "no such database: graph", /refuses: no such database: graph\. .* settings of the pooler/],
  ["XX000", "no tenant identifier", /refuses: no tenant identifier/],
  [
    "XX000",
    "Max client connections reached",
    /cannot be used now: Max client connections reached\. .* pooler is out of connections/,
  ],
  [
    "0A000",
    "Feature not supported: RDS Proxy currently doesn’t support command-line options.",
    /through a pooler, .*: set DIRECT_DATABASE_URL/,
  ],
  [
    "0A000",
    "Feature not supported: RDS Proxy currently doesn't support the option statement_timeout.",
    /through a pooler, .*: set DIRECT_DATABASE_URL/,
  ],
  ["XX000", "all backend nodes are down", /refuses: all backend nodes are down/, "ERROR"],
])("says what to do when the database refuses it: %s", async (code, message, sentence, severity = "FATAL") => {
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${message}`].map((field) => `${field}\0`).join("");
  const body = Buffer.from(`${fields}\0`);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  const host = await answerWith(Buffer.concat([Buffer.from("E"), length, body]));

  expect(await sentenceAt(`postgres://ann:hush@${host}/graph`)).toMatch(sentence);
});

it.each([
  ["says nothing", undefined],
  ["speaks another language", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
])("says what to do when the server at the address %s", async (_what, answer) => {
  const host = await answerWith(answer);

  expect(await sentenceAt(`postgres://ann:hush@${host}/graph`)).toMatch(/DATABASE_URL/);
});

it("says what to do when the database is missing, read-only, closed, another program's, or has no trusted TLS", async () => {
  const { url, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  const role = `role_${randomUUID().replaceAll("-", "")}`;
  expect(await sentenceAt(databaseOn(url, name))).toContain(`has no database ${name}: create it`);

  await onServer(url, async (server) => {
    await server.query(`CREATE DATABASE ${name}`);
    await server.query(`REVOKE ALL ON DATABASE ${name} FROM public; GRANT CONNECT ON DATABASE ${name} TO public`);
    await server.query(`CREATE ROLE ${role} LOGIN PASSWORD 'hush'`);
  });
  onTestFinished(() =>
    onServer(url, async (server) => {
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await server.query(`DROP ROLE ${role}`);
    }),
  );
  const asRole = new URL(databaseOn(url, name));
  asRole.username = role;
  asRole.password = "hush";
  expect(await sentenceAt(asRole.href)).toMatch(
    /does not let role_\w+ create what the service needs: permission denied/,
  );
  expect(await sentenceAt(`${databaseOn(url, name)}?sslmode=verify-full`)).toMatch(/offers no TLS|is not trusted/);

  await onServer(url, async (server) => {
    await server.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  });
  expect(await sentenceAt(databaseOn(url, name))).toMatch(/accepts no changes\. If it is a standby, set .* make room/);

  await onServer(url, async (server) => void (await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)));
  expect(await sentenceAt(databaseOn(url, name))).toContain(
    `run ALTER DATABASE "${name}" ALLOW_CONNECTIONS true in ano`,
  );
});

it("says that PostgreSQL lacks an extension, also when it is started again", async () => {
  const { url, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  await onServer(url, async (server) => void (await server.query(`CREATE DATABASE ${name}`)));
  onTestFinished(() =>
    onServer(url, async (server) => void (await server.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  );
  await onServer(databaseOn(url, name), async (database) => {
    await database.query(`CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'extension "pg_trgm" is not available' USING ERRCODE = '0A000'; END $$`);
    await database.query(`CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION')
      EXECUTE FUNCTION refuse()`);
  });

  for (let start = 0; start < 2; start++) {
    expect(await sentenceAt(databaseOn(url, name))).toMatch(
      /lacks an extension: extension "pg_trgm" is not available\. Install PostgreSQL's contrib package there\.$/,
    );
  }
});

/** What PostgreSQL says when it opens the database of a new connection. */
const OPENING = { routine: "CheckMyDatabase" };

it.each([
  [{ code: "DEPTH_ZERO_SELF_SIGNED_CERT" }, "self-signed certificate", /not trusted \(DEPTH_.*sslrootcert=/],
  [
    { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    "Hostname/IP does not match",
    /Name the host of the .* in DATABASE_URL\.$/,
  ],
  [
    { code: "CERT_HAS_EXPIRED" },
    "certificate has expired",
    /\(CERT_HAS_EXPIRED\)\. Renew it, unless the clock of this/,
  ],
  [{ code: "CERT_NOT_YET_VALID" }, "certificate is not yet valid", /Set the clock of this machine, or wait/],
  [{ code: "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA" }, "write EPROTO", /refuses the service's certificate .* in DATABASE_URL/],
  [{ code: "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED" }, "write EPROTO", /refuses the service's .*: renew it/],
  [{ code: "ERR_OSSL_X509_KEY_VALUES_MISMATCH" }, "key values mismatch", /in DATABASE_URL cannot .* and its key/],
  [{}, "SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string", /contains the right password\.$/],
  // PostgreSQL's messages may be in German.
  [{ code: "42501" }, "keine Berechtigung für Tabelle memory", /use what another role created: .* Name that role in /],
  [{ code: "42501" }, "keine Berechtigung für Schema public", /create what the service needs: .* GRANT CREATE ON /],
  [
    { code: "42501", ...OPENING },
    "keine Berechtigung für Datenbank »graph«",
    /run: GRANT CONNECT ON DATABASE "graph" TO "ann"; /,
  ],
  [{ code: "0A000" }, "Erweiterung »pg_trgm« ist nicht verfügbar", /lacks an extension: .* contrib package there\.$/],
  [
    { code: "55000", ...OPENING },
    "Datenbank »graph« akzeptiert keine Verbindungen",
    /run ALTER DATABASE "graph" ALLOW_CONN/,
  ],
  [{}, "timeout expired", /it does not answer; if it sleeps when unused, try again/],
  [{ code: "ENOENT", syscall: "connect" }, "connect ENOENT", /can be reached at \/run\/postgresql:5433 \(ENOENT\)/],
])("says what to do about an error of the connection: %o", (codes, message, sentence) => {
  const error = Object.assign(new Error(message), codes);

  const host = message.endsWith("ENOENT") ? "%2Frun%2Fpostgresql:5433" : "db.example.com";
  const explained = explainDatabase(error, `postgres://ann:hush@${host}/graph`);

  expect(explained).toBeInstanceOf(StartError);
  expect(String(explained)).toMatch(sentence);
});

it.each([
  ["certificate has expired", "CERT_HAS_EXPIRED", /^Renew it/],
  ["certificate is not yet valid", "CERT_NOT_YET_VALID", /^Set the clock/],
  ["Hostname/IP does not match certificate's altnames: …", "ERR_TLS_CERT_ALTNAME_INVALID", / in REDIS_URL\.$/],
  ["self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT", /NODE_EXTRA_CA_CERTS\.$/],
  ["unable to verify the first certificate", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", /NODE_EXTRA_CA_CERTS\.$/],
  ["unable to get local issuer certificate", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", /NODE_EXTRA_CA_CERTS\.$/],
])("says what to do about a certificate by words and by code: %s", (words, code, advice) => {
  for (const said of [words, code]) expect(adviceForCertificate(said, "REDIS_URL")).toMatch(advice);
  expect(adviceForCertificate("connect ECONNREFUSED", "REDIS_URL")).toBe(undefined);
});

it("never advises to send Stripe's key to the host of a wrong certificate", () => {
  const detail = new Error("Hostname/IP does not match certificate's altnames: Host: api.stripe.com. is not in …");
  const error = new Stripe.errors.StripeConnectionError({ message: "", type: "api_error", detail });

  expect(explainUnreachable(error, undefined)).toMatch(/\. Check that this machine may reach it, and look at status/);
  expect(explainUnreachable(error, "https://stand-in.example.com")).toMatch(
    / host of the certificate in STRIPE_API_BASE/,
  );
});

it("waits for another server that migrates and says so, but only for a limited time", async () => {
  await using world = await createWorld();
  const other = new pg.Client(world.databaseUrl);
  await other.connect();
  await other.query("SELECT pg_advisory_lock(7301984265)");
  const told: string[] = [];

  const tell = (message: string) => void told.push(message);
  const refused = migrate(world.databaseUrl, { tell, waits: QUICKLY }).catch((error: unknown) => error);
  expect(await refused).toBeInstanceOf(StartError);
  expect(String(await refused)).toMatch(/Another server has been migrating this database for 1 s/);
  const waiting = migrate(world.databaseUrl, { tell, waits: { ...QUICKLY, migrationLockMs: 60_000 } });
  await expect
    .poll(() => told)
    .toEqual(Array.from({ length: 2 }, () => "Another server migrates this database: waiting for it."));
  await other.end();

  expect(await waiting).toEqual([]);
});

it("says that another program migrates, as a server whose own lock was ended", () => {
  // What Prisma's engine says after it has waited for its lock for half a minute.
  const said =
    "The database server was reached but timed out.\n\nContext: Timed out trying to acquire a postgres advisory lock";
  const timeout = Object.assign(new Error(said), { code: "P1002" });

  expect(explainDatabase(timeout, "postgres://ann@db.example.com/graph")).toMatchObject({
    message:
      "Another program migrates the database graph at db.example.com: start again when it has finished; if there is " +
      "none, end each connection that holds an advisory lock (see pg_locks).",
  });
});

it.each([
  ["203.0.113.1", /cannot listen on 203\.0\.113\.1, port 0: this machine does not have the address\. Correct HOST/],
  ["h".repeat(300), /cannot listen on h{300}, port 0: the address cannot be used\. Correct HOST/],
  ["no-such-host.invalid", /cannot listen on no-such-host\.invalid, port 0: the host name .* Correct HOST/],
])("says what to do when it cannot listen on %s", async (host, sentence) => {
  await using world = await createWorld();
  const config = readConfig({ HOST: host, PORT: "0", NODE_ENV: "test" });

  const started = startApp(config, world.databaseUrl, loggerTo({ write: () => {} }, "info"));

  const error: unknown = await started.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StartError);
  expect(String(error)).toMatch(sentence);
});

it("prints an address of IPv6 in brackets, as URLs need it", async () => {
  const server = createHttpServer();
  onTestFinished(() => void server.close());
  const port = await listen(server);

  expect(addressOf(server, "::1")).toBe(`http://[::1]:${port}`);
});

const isIpv6Here = Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === "IPv6"));

it.each(["0.0.0.0", "0", ...(isIpv6Here ? ["::", "0:0:0:0:0:0:0:0"] : [])])(
  "gives an address that can be opened if it listens on all, by HOST=%s",
  async (host) => {
    await using world = await createWorld();
    const { url, metricsUrl = "", isOnAll } = await world.serve({ HOST: host, METRICS_HOST: host, METRICS_PORT: "0" });

    const hosts = [url, metricsUrl].map((address) => new URL(address).hostname);
    expect([...hosts, isOnAll]).toEqual(["127.0.0.1", "127.0.0.1", true]);
    expect([(await ask(`${url}/healthz`)).status, (await ask(metricsUrl)).status]).toEqual([200, 200]);
  },
);

/** A text column as PostgreSQL describes it: no table, the type's OID, its size, text format. */
const TEXT_COLUMN = "\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";

/** Listens on a free port and answers each message with the next of these pieces, or with nothing. */
async function answerWith(...answers: Array<Buffer | undefined>): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    let asked = 0;
    socket.on("data", () => {
      const answer = answers[asked++];
      if (answer) socket.write(answer);
    });
    onTestFinished(() => void socket.destroy());
  });
  onTestFinished(() => void server.close());
  return `127.0.0.1:${await listen(server)}`;
}
