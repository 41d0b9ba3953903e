import { expect, it } from "vitest";
import { startApp } from "../../src/app.js";
import { program as doctor } from "../../src/commands/doctor.js";
import { readConfig } from "../../src/config.js";
import { createUser } from "../../src/features/access/index.js";
import { SearchTooSlow } from "../../src/features/memories/search/search-memories.js";
import type { Context } from "../../src/operation/context.js";
import { Unavailable } from "../../src/operation/failure.js";
import { readOlder, tellPosition } from "../../src/operation/older-reads.js";
import { DatabaseShares } from "../../src/operation/shares.js";
import { openDatabase } from "../../src/platform/database/database.js";
import type { Logger } from "../../src/platform/telemetry/logger.js";
import type { Meter } from "../../src/platform/telemetry/meter.js";
import { migrate } from "../../src/platform/database/migrations.js";
import type { Statement } from "../../src/platform/database/statement.js";
import { Replica, readWrittenPosition, readPosition, writePosition } from "../../src/platform/database/replica.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { createStripeWorld } from "../support/billing.js";
import { runHere } from "../support/commands.js";
import { ask } from "../support/http.js";
import { withLimits } from "../support/limits.js";
import { callTool } from "../support/mcp.js";
import { PATIENT } from "../support/patience.js";
import { programsOfPostgres, startReplicated } from "../support/replica.js";
import { createWorld, environmentOf } from "../support/world.js";

const programs = programsOfPostgres();
if (programs === undefined) console.error("There are no programs of PostgreSQL: a replica is not tried.");

it.skipIf(programs === undefined)(
  "reads from a replica only if the caller allows it, and never an older state than they have seen",
  async () => {
    await using postgres = await startReplicated(programs ?? "");
    const { primaryUrl, replicaUrl } = postgres;
    await migrate(primaryUrl);
    await using world = await createWorld();
    await using database = openDatabase(primaryUrl, () => {}, PATIENT);
    const services = { ...world.services, database, shares: new DatabaseShares(database) };
    const { apiKey } = await createUser(services, { email: "ann@example.com", plan: "pro", verified: true });
    const addresses = { DATABASE_URL: primaryUrl, DATABASE_REPLICA_URL: replicaUrl };
    const environment = { PORT: "0", METRICS_PORT: "0", NODE_ENV: "test", ...addresses };
    const app = await startApp(readConfig(environment), primaryUrl, world.services.log, { waits: PATIENT });
    await using _app = app;
    const { url } = app;
    const titles = async (seen?: string) => {
      const headers: Record<string, string> = seen === undefined ? {} : { "x-read-after": seen };
      const { status, body, headers: told } = await ask(`${url}/v1/memories`, { key: apiKey.key, headers });
      // Who only reads has changed nothing that they would have to see.
      expect([status, told.get("x-read-after")]).toEqual([200, null]);
      return (body as { memories: { title: string }[] }).memories.map(({ title }) => title);
    };
    const store = async (title: string, headers: Record<string, string>) => {
      const body = { type: "fix", title, content: "c" };
      return (await ask(`${url}/v1/memories`, { key: apiKey.key, headers, body })).headers.get("x-read-after");
    };
    const ANY = { "x-read-after": "0/0" };

    const first = await store("first", ANY);
    await expect.poll(() => titles("0/0")).toEqual(["first"]);
    await postgres.pause();
    const second = await store("second", ANY);

    expect(await store("third", {})).toBeNull();
    // The replica is behind and has only the first. Callers who have seen the second, or give no position, are served
    // elsewhere; so are all for a second, where the replica seemed late when it was first looked at.
    await expect.poll(() => titles("0/0")).toEqual(["first"]);
    expect(await titles(first ?? "")).toEqual(["first"]);
    // A user whom it does not have yet is read elsewhere, and is no failure of the replica.
    const { apiKey: newKey } = await createUser(services, { email: "bob@example.com", plan: "free", verified: true });
    const viewer = await ask(`${url}/me`, { key: newKey.key, headers: ANY });
    expect(viewer).toMatchObject({ status: 200, body: { email: "bob@example.com" } });
    expect(await titles(second ?? "")).toEqual(["third", "second", "first"]);
    expect(await titles()).toEqual(["third", "second", "first"]);
    expect(await titles("nonsense")).toEqual(["third", "second", "first"]);
    const query = "{ memories { memories { title } } }";
    const byGraphQL = await ask(`${url}/graphql`, { key: apiKey.key, headers: ANY, body: { query } });
    expect(byGraphQL.body).toEqual({ data: { memories: { memories: [{ title: "first" }] } } });
    expect((await callTool(url, apiKey.key, "search_memories", { query: "third" })).answer).toMatchObject({ total: 1 });

    await postgres.resume();
    await expect.poll(() => titles("0/0")).toEqual(["third", "second", "first"]);
    expect(await findingOf({ DATABASE_URL: primaryUrl, DATABASE_REPLICA_URL: replicaUrl })).toMatch(
      /^ok: The replica has all that the primary had/,
    );
    const unreachable = "postgres://nobody@127.0.0.1:1/none";
    expect(await findingOf({ DATABASE_URL: unreachable, DATABASE_REPLICA_URL: replicaUrl })).toMatch(
      /^ok: The replica has replayed what it received; what it lacks is not known/,
    );
    expect(await findingOf({ DATABASE_URL: primaryUrl, DATABASE_REPLICA_URL: primaryUrl })).toMatch(
      /^wrong: .*leads to a primary/,
    );
    const metric = async (name: string) =>
      new RegExp(`^memory_graph_${name} (\\d+)$`, "m").exec(String((await ask(app.metricsUrl ?? "")).body))?.[1];
    const failures = () => metric("replica_failures_total");
    // What is refused there is no failure of the replica.
    const unknown = await ask(`${url}/v1/memories/unknown`, { key: apiKey.key, headers: ANY });
    expect([unknown.status, await failures()]).toEqual([404, "0"]);
    expect(Number(await metric('database_connections{pool="replica-shared",state="idle"}'))).toBeGreaterThan(0);
    expect(await metric('database_waiting{pool="replica-account"}')).toBe("0");
    await postgres.stopReplica();
    await store("fourth", {});
    expect(await titles("0/0")).toEqual(["fourth", "third", "second", "first"]);
    expect(await failures()).toBe("1");
    expect(world.log.join("\n")).toContain("the replica (DATABASE_REPLICA_URL) failed: reads go to the primary");
  },
);

it.skipIf(programs === undefined)(
  "does on the primary what a read has to store, which is no failure of the replica",
  async () => {
    await using postgres = await startReplicated(programs ?? "");
    const { primaryUrl, replicaUrl } = postgres;
    await migrate(primaryUrl);
    await using world = await createStripeWorld();
    const addresses = { DATABASE_URL: primaryUrl, DATABASE_REPLICA_URL: replicaUrl };
    const environment = {
      PORT: "0",
      METRICS_PORT: "0",
      NODE_ENV: "test",
      ...addresses,
      ...environmentOf(world.stripe),
    };
    await using app = await startApp(readConfig(environment), primaryUrl, world.services.log, { waits: PATIENT });
    const owner = { email: "ann@example.com", plan: "free", verified: true } as const;
    const { key } = (await createUser(app.services, owner)).apiKey;
    const call = (path: string, body?: object) =>
      ask(`${app.url}${path}`, { key, headers: { "x-read-after": "0/0" }, ...(body && { body }) });
    await call("/teams", { name: "Team", max_members: 9 });
    await call("/billing/team-checkout", {});
    await using replica = openDatabase(replicaUrl, () => {}, PATIENT, { isReplica: true });
    const opened = () => replica.models.billingAccount.count({ where: { checkoutUrl: { not: null } } });
    await expect.poll(opened).toBe(1);

    // The open checkout may have been paid, so the provider is asked, and what it says is stored.
    const { status, body } = await call("/billing/team-subscription");

    expect([status, body]).toMatchObject([200, { status: "none", stale: false }]);
    expect((await ask(app.metricsUrl ?? "")).body).toContain("memory_graph_replica_failures_total 0\n");
    expect(world.log.join("\n")).not.toContain("the replica (DATABASE_REPLICA_URL) failed");
  },
);

it.skipIf(programs === undefined)(
  "keeps connections to the replica, and none to a primary that became a standby",
  async () => {
    using _limits = withLimits("database", { readOnlyKeptMs: 0 });
    await using postgres = await startReplicated(programs ?? "");
    await using replica = openDatabase(postgres.replicaUrl, () => {}, PATIENT, { isReplica: true });
    await using standby = openDatabase(postgres.replicaUrl, () => {}, PATIENT);
    const look: Statement<readonly [], { pid: number }> = { name: "look", text: "SELECT pg_backend_pid() AS pid" };
    const processesOf = async (database: typeof replica) =>
      new Set([...(await database.run(look, [])), ...(await database.run(look, []))].map(({ pid }) => pid)).size;

    expect([await processesOf(replica), await processesOf(standby)]).toEqual([1, 2]);
    // PostgreSQL tells its connections.
    await postgres.promote();
    await standby.run(look, []);
    expect(await processesOf(standby)).toBe(1);
  },
);

it.skipIf(programs === undefined)(
  "takes no position for that of a change from a database that accepts none, as an earlier primary",
  async () => {
    await using postgres = await startReplicated(programs ?? "");
    const open = () => openDatabase(postgres.replicaUrl, () => {}, PATIENT);
    await using standby = open();
    await expect(readWrittenPosition(standby)).rejects.toThrow("accepts no changes");

    await postgres.promote();
    await expect.poll(() => readWrittenPosition(standby).catch(() => 0n)).toBeGreaterThan(0n);
    await standby.pool.query("ALTER ROLE postgres SET default_transaction_read_only = on");
    await using fenced = open();
    await expect(readWrittenPosition(fenced)).rejects.toThrow("accepts no changes");
  },
);

it.skipIf(programs === undefined)(
  "is read also while its primary accepts no changes, as with a disk that is almost full",
  async () => {
    await using postgres = await startReplicated(programs ?? "");
    const told: unknown[] = [];
    const log = { warn: (facts: unknown) => told.push(facts) } as unknown as Logger;
    await using before = openDatabase(postgres.primaryUrl, () => {}, PATIENT);
    await before.pool.query("ALTER ROLE postgres SET default_transaction_read_only = on");
    await using primary = openDatabase(postgres.primaryUrl, () => {}, PATIENT);
    await using replica = new Replica(
      openDatabase(postgres.replicaUrl, () => {}, PATIENT, { isReplica: true }),
      { primary, log, delayMaxMs: PATIENT.replicaDelayMs },
    );

    await expect.poll(() => replica.has(0n)).toBe(true);
    expect(told).toEqual([]);
  },
);

it.skipIf(programs === undefined)(
  "does not count what a promoted replica writes as changes of the primary",
  async () => {
    await using postgres = await startReplicated(programs ?? "");
    await using primary = openDatabase(postgres.primaryUrl, () => {}, PATIENT);
    const failures: unknown[] = [];
    const log = { warn: ({ err }: { err: unknown }) => failures.push(err) } as unknown as Logger;
    await using replica = new Replica(
      openDatabase(postgres.replicaUrl, () => {}, PATIENT, { isReplica: true }),
      { primary, log, delayMaxMs: PATIENT.replicaDelayMs },
    );
    const write = (database: typeof primary) => database.pool.query("SELECT pg_logical_emit_message(true, 'a', 'a')");

    const before = await readWrittenPosition(primary);
    await expect.poll(() => replica.has(before)).toBe(true);
    await postgres.promote();
    await write(primary);
    const after = await readWrittenPosition(primary);
    await expect
      .poll(() => write(replica.database).then(() => readWrittenPosition(replica.database)))
      .toBeGreaterThan(after);

    expect(await replica.has(after)).toBe(false);
    expect(failures).toEqual([new Error("The replica does not follow another database: it was promoted.")]);
    // Nor is it asked for what it once had.
    expect(await replica.has(before)).toBe(false);
  },
);

it.skipIf(programs === undefined)(
  "is not read if it is of another database or server, of which the position says nothing",
  async () => {
    await using postgres = await startReplicated(programs ?? "");
    await using world = await createWorld();
    await onServer(postgres.primaryUrl, async (server) => void (await server.query("CREATE DATABASE other")));
    const { primaryUrl, replicaUrl } = postgres;
    const other = databaseOn(replicaUrl, "other");
    await expect.poll(() => onServer(other, async () => {}).then(() => "is there", String)).toBe("is there");

    for (const [ours, wrong] of [
      [primaryUrl, other],
      [world.databaseUrl, replicaUrl],
    ] as const) {
      const failures: unknown[] = [];
      const log = { warn: ({ err }: { err: unknown }) => failures.push(err) } as unknown as Logger;
      await using primary = openDatabase(ours, () => {}, PATIENT);
      await using replica = new Replica(
        openDatabase(wrong, () => {}, PATIENT, { isReplica: true }),
        { primary, log, delayMaxMs: PATIENT.replicaDelayMs },
      );
      expect(await replica.has(0n)).toBe(false);
      expect(String(failures)).toMatch(/^Error: The replica is of another database than DATABASE_URL/);
      expect(await findingOf({ DATABASE_URL: ours, DATABASE_REPLICA_URL: wrong })).toMatch(
        /^wrong: DATABASE_REPLICA_URL leads to a replica of another database than DATABASE_URL/,
      );
    }
  },
);

it.skipIf(programs === undefined)(
  "is not read while it is too far behind the primary, whatever a caller has seen",
  async () => {
    await using postgres = await startReplicated(programs ?? "");
    await using primary = openDatabase(postgres.primaryUrl, () => {}, PATIENT);
    const warnings: string[] = [];
    const log = { warn: (_fields: object, message: string) => warnings.push(message) } as unknown as Logger;
    let counted = 0;
    const meter = { replicaFailed: () => counted++ } as unknown as Meter;
    await using replica = new Replica(
      openDatabase(postgres.replicaUrl, () => {}, PATIENT, { isReplica: true }),
      { primary, log, meter, delayMaxMs: 3_000 },
    );
    const write = () => primary.pool.query("SELECT pg_logical_emit_message(true, 'a', 'a')");
    await expect.poll(() => replica.has(0n)).toBe(true);

    await postgres.pause();
    await write();

    await expect.poll(() => replica.has(0n)).toBe(false);
    await expect.poll(() => replica.has(0n).then(() => counted)).toBeGreaterThan(1);
    expect(warnings).toEqual(["the replica is too far behind: reads go to the primary"]);
    const addresses = { DATABASE_URL: postgres.primaryUrl, DATABASE_REPLICA_URL: postgres.replicaUrl };
    using _brief = withLimits("database", { replicaDelayMs: 1_000 });
    expect(await findingOf(addresses)).toMatch(
      /^wrong: .*not read: after 1 s it lacks [\d,]+ bytes.*pg_wal_replay_resume/,
    );
    await postgres.resume();
    await expect.poll(() => replica.has(0n)).toBe(true);
  },
);

/** The doctor's finding about the replica. */
async function findingOf(environment: Record<string, string>): Promise<string> {
  const { output } = await runHere(doctor, ["--json"], environment);
  const { findings } = JSON.parse(output) as { findings: { part: string; state: string; says: string }[] };
  const replica = findings.find(({ part }) => part === "replica");
  return `${replica?.state}: ${replica?.says}`;
}

it("is left alone for its own failures, not for slow searches or a full share of one caller", async () => {
  const outcomeOf = async (failure: Error) => {
    let isLeftAlone = false;
    const replica = { has: async () => true, leaveAlone: () => (isLeftAlone = true) };
    const there = { name: "replica" };
    const readAfter = { position: 0n, database: there };
    const context = { older: { replica }, readAfter, database: { name: "primary" } } as unknown as Context;
    const read = async ({ database }: { database: unknown }) => {
      if (database === there) throw failure;
      return "read again";
    };
    const answer = await reasonOf(readOlder(context, read));
    return { answer, isLeftAlone };
  };
  const slow = new SearchTooSlow();

  expect(await outcomeOf(new Error("lost"))).toEqual({ answer: "read again", isLeftAlone: true });
  expect(await outcomeOf(new Unavailable("unreachable"))).toEqual({ answer: "read again", isLeftAlone: true });
  for (const why of ["busy", "share"] as const) {
    expect(await outcomeOf(new Unavailable(why))).toEqual({ answer: "read again", isLeftAlone: false });
  }
  expect(await outcomeOf(slow)).toEqual({ answer: slow, isLeftAlone: false });
});

const reasonOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

it("tells a position that no replica reaches when that of a stored change cannot be read", async () => {
  const told: bigint[] = [];
  const older = { position: () => Promise.reject(new Unavailable("lost")) };
  const readAfter = { tell: (position: bigint) => told.push(position) };

  await tellPosition({ older, readAfter } as unknown as Context);

  expect(told.map(writePosition)).toEqual(["FFFFFFFF/FFFFFFFF"]);
});

it("reads positions only as PostgreSQL writes them", () => {
  for (const text of ["0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"])
    expect(writePosition(readPosition(text) ?? -1n)).toBe(text);
  for (const text of ["", "1", "1/", "/1", "1/2/3", "g/0", "123456789/0", " 0/0"])
    expect(readPosition(text)).toBeUndefined();
});

it("closes the connections to the replica at its end", async () => {
  await using world = await createWorld();
  const { database: primary, services } = world;
  const database = openDatabase(world.databaseUrl);

  await new Replica(database, { primary, log: services.log, delayMaxMs: 0 })[Symbol.asyncDispose]();

  expect(database.pool.ended).toBe(true);
});
