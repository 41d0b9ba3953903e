import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { program } from "../../src/commands/distribute.js";
import { distribute, findDistributionFaults } from "../../src/platform/database/distribute.js";
import { DISTRIBUTED_TABLES, REFERENCE_TABLES } from "../../src/platform/database/distributed-tables.js";
import { isMigrated, migrate } from "../../src/platform/database/migrations.js";
import { standInForCitus } from "../support/citus-stand-in.js";
import { runHere } from "../support/commands.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { memoriesTitled } from "../support/memories.js";
import { type World, createWorld } from "../support/world.js";

const run = ({ databaseUrl }: World, ...words: readonly string[]) =>
  runHere(program, words, { DATABASE_URL: databaseUrl });

it("refuses a database without Citus, and says what to do", async () => {
  await using world = await createWorld();

  for (const words of [[], ["--check"], ["--json"]]) {
    const { code, output, errors } = await run(world, ...words);
    expect({ code, output }).toEqual({ code: 1, output: "" });
    expect(errors).toMatch(/does not have the extension citus\..* CREATE EXTENSION citus/);
  }
});

it("distributes all tables or none, and says which one it distributes", async () => {
  await using world = await createWorld({ fresh: true });
  await standInForCitus(world.databaseUrl);
  await world.database.pool.query("ALTER TABLE stand_in.citus_tables ADD CHECK (table_name <> 'lexicon')");

  const { code, output, errors } = await run(world);

  expect([code, output]).toEqual([1, ""]);
  expect(errors).toMatch(/^Distributing embedding_model …\nDistributing graph_root …\n[^]*Distributing lexicon …\n/);
  expect((await world.database.pool.query("SELECT FROM stand_in.citus_tables")).rowCount).toBe(0);
});

it("leaves the distribution to a command that is at it, even if that is paused", async () => {
  await using world = await createWorld({ fresh: true });
  await standInForCitus(world.databaseUrl);
  const { pool } = world.database;
  const holder = await pool.connect();
  await holder.query("BEGIN; LOCK TABLE stand_in.called");
  const first = run(world);
  const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1);

  const second = await run(world);
  await holder.query("ROLLBACK");
  holder.release();

  expect(second).toEqual({
    code: 1,
    output: "",
    errors: expect.stringMatching(/^Another `npm run distribute` works on/),
  });
  expect(await first).toMatchObject({ code: 0 });
  expect(await run(world)).toMatchObject({ code: 0 });
});

it("distributes what tables need and then the tables, in order; a repetition does nothing", async () => {
  await using world = await createWorld({ fresh: true });
  await memoriesTitled(await world.user(), "One");
  await standInForCitus(world.databaseUrl);
  expect(await run(world, "--check")).toMatchObject({
    code: 1,
    output: expect.stringContaining("memory is not distr"),
  });
  // A large table takes longer than any statement of the service.
  await world.database.pool.query(`
    ALTER DATABASE ${new URL(world.databaseUrl).pathname.slice(1)} SET statement_timeout = '1min';
    ALTER TABLE stand_in.citus_tables ADD CHECK (current_setting('statement_timeout') = '0'
      AND current_setting('lock_timeout') = '1min'
      AND current_setting('citus.multi_shard_modify_mode') = 'sequential')`);

  const { code, output } = await run(world, "--json");

  const tables = [...REFERENCE_TABLES, ...DISTRIBUTED_TABLES];
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({ tables, emptied: expect.arrayContaining(["memory"]), faults: [] });
  const calls = await callsIn(world);
  const of = (...kinds: string[]) => calls.filter(({ name }) => kinds.includes(name)).map(({ argument }) => argument);
  expect(of("reference", "table")).toEqual(tables);
  expect(calls.find(({ argument }) => argument === "memory")).toMatchObject({ detail: "graph_root" });
  const placeOf = (start: string) => calls.findIndex(({ argument }) => argument.startsWith(start));
  for (const needed of ["memory_search(", "text_search(", "word_form_configuration("]) {
    expect(placeOf(needed)).toBeLessThan(placeOf("graph_root"));
  }
  const delegated = calls.filter(({ name, detail }) => name === "function" && detail === "p_graph_id graph_root");
  expect([...new Set(delegated.map(({ argument }) => argument.replace(/\(.*/, "")))].sort()).toEqual([
    "create_memory",
    "dated_search_hits",
    "narrowed_memories",
    "rare_memories",
    "search_hits",
    "search_words",
    "words_alike",
  ]);
  // The last one is of an extension, the others are triggers.
  const others = ["forget_words(", "keep_graph_root(", "count_team_members(", "similarity("];
  expect(of("function").filter((name) => others.some((start) => name.startsWith(start)))).toEqual([]);
  expect(of("truncate")).toContain("graph_root");
  // Only after ANALYZE does the planner know how many rows a table has.
  const known = "SELECT reltuples AS rows FROM pg_class WHERE relname = 'graph_root'";
  expect((await world.database.pool.query(known)).rows).toEqual([{ rows: 0 }]);

  expect(await run(world)).toMatchObject({ code: 0, output: expect.stringContaining("each node answers alike") });
  expect(await run(world, "--check", "--json")).toMatchObject({
    code: 0,
    output: expect.stringContaining('"faults":[]'),
  });
  expect((await callsIn(world)).filter(({ name }) => name === "table")).toHaveLength(DISTRIBUTED_TABLES.length);
});

interface Call {
  readonly name: string;
  readonly argument: string;
  readonly detail: string | null;
}

const callsIn = async ({ database }: World): Promise<Call[]> =>
  (await database.pool.query<Call>("SELECT name, argument, detail FROM stand_in.called ORDER BY place")).rows;

it.each([
  ["INSERT INTO stand_in.answers VALUES ('something else')", "The node worker-1:5432 has other functions or settings"],
  ["INSERT INTO stand_in.answers VALUES ('no route', false)", "The node worker-1:5432 cannot be used: no route"],
  ["UPDATE stand_in.citus_tables SET distribution_column = 'id' WHERE table_name = 'lexicon'", "lexicon is not distr"],
  ["UPDATE stand_in.citus_tables SET colocation_id = 7 WHERE table_name = 'lexicon'", "lexicon is not distributed by"],
  [
    "DELETE FROM stand_in.citus_tables WHERE table_name = 'memory_vector'",
    "The table memory_vector is not distributed.",
  ],
  ["INSERT INTO embedding_model (model) VALUES ('one')", "The coordinator still has old rows of embedding_model."],
  [
    "ALTER ROLE CURRENT_USER IN DATABASE here RESET lock_timeout",
    "lacks its settings on the coordinator: lock_timeout",
  ],
  ["UPDATE stand_in.pg_dist_node SET shouldhaveshards = false", "No node may hold graphs"],
  ["UPDATE stand_in.pg_dist_node SET isactive = false", "No node may hold graphs"],
  ["CREATE UNIQUE INDEX bad ON memory (id)", "unique without graph_id: bad"],
])("finds what is wrong with a distribution: %s", async (change, fault) => {
  await using world = await createWorld({ fresh: true });
  await standInForCitus(world.databaseUrl);
  await distribute(world.databaseUrl);
  expect(await findDistributionFaults(world.databaseUrl)).toEqual([]);

  const name = new URL(world.databaseUrl).pathname.slice(1);
  await world.database.pool.query(change.replace("DATABASE here", `DATABASE ${name}`));

  const { code, output, errors } = await run(world, "--check");
  expect(code).toBe(1);
  expect(output + errors).toContain(fault);
});

it("runs each migration as one command if tables are distributed", async () => {
  const { url: server, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  await onServer(server, async (client) => void (await client.query(`CREATE DATABASE ${name}`)));
  onTestFinished(() =>
    onServer(server, async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  );
  const url = databaseOn(server, name);
  await standInForCitus(url);
  await onServer(url, async (client) => {
    await client.query("INSERT INTO stand_in.citus_tables VALUES ('memory', 'distributed', 'graph_id', 1)");
    // Citus refuses several commands at once, and so does this trigger.
    await client.query(`
      CREATE FUNCTION stand_in.note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        IF current_query() NOT LIKE 'DO $migration$ BEGIN SET LOCAL citus.multi_shard_modify_mode%'
          AND current_query() NOT LIKE '%_prisma_migrations%' THEN
          RAISE EXCEPTION 'several commands at once: %', current_query();
        END IF;
      END $$;
      CREATE EVENT TRIGGER one_command ON ddl_command_start EXECUTE FUNCTION stand_in.note()`);
  });

  await migrate(url);

  await onServer(url, async (client) => expect(await isMigrated(client)).toBe(true));
});

const { CITUS_URL } = process.env;
if (CITUS_URL === undefined) console.error("CITUS_URL is not set: distributing is not tried on Citus itself.");

it.skipIf(CITUS_URL === undefined)(
  "distributes an empty database on Citus, and finds no problem on any node",
  async () => {
    const url = CITUS_URL ?? "";
    await migrate(url);

    await distribute(url);

    expect(await findDistributionFaults(url)).toEqual([]);
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    const graphId = randomUUID();
    await client.query("INSERT INTO graph (id) VALUES ($1)", [graphId]);
    const create = `SELECT create_memory($1, $2, 'general', 'Retry with backoff', 'Wait longer.', NULL, '{}', 0.5, NULL, 0.8,
    NULL, NULL, $1, now(), 300, 10, 10000) AS stored`;
    expect((await client.query(create, [graphId, randomUUID()])).rows).toEqual([{ stored: true }]);
    const plan = await client.query<{ "QUERY PLAN": string }>("EXPLAIN SELECT * FROM memory WHERE graph_id = $1", [
      graphId,
    ]);
    expect(plan.rows.map((row) => row["QUERY PLAN"]).join("\n")).toMatch(/Task Count: 1\b/);
  },
);
