import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import pg from "pg";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/platform/database/database.js";
import { isMigrated, migrate, schemaEngine } from "../../src/platform/database/migrations.js";
import { ask } from "../support/http.js";
import { type World, createWorld } from "../support/world.js";

/** What the models cannot declare: for which reason the migrations define it. */
const BY_HAND: Readonly<Record<string, readonly string[]>> = {
  "only some rows are unique": [
    "UNIQUE INDEX billing_operation_one_open ON billing_operation USING btree (team_id) WHERE (outcome IS NULL)",
    "UNIQUE INDEX invitation_one_pending ON invitation USING btree (team_id, email) WHERE (status = 'pending'::invitation_status)",
    "UNIQUE INDEX mail_one_sign_up ON mail USING btree (email) WHERE (kind = 'sign_up'::text)",
    "UNIQUE INDEX team_member_one_owner ON team_member USING btree (team_id) WHERE (role = 'owner'::team_role)",
  ],
  "few of the rows are looked for": [
    "INDEX audit_entry_address ON audit_entry USING btree (detail) WHERE (action = ANY (ARRAY['inviteMember'::text, 'resendInvitation'::text, 'revokeInvitation'::text]))",
    "INDEX audit_entry_changed_email ON audit_entry USING btree (subject) WHERE (action = 'changeEmail'::text)",
    "INDEX billing_operation_customer_by ON billing_operation USING btree (actor_id) WHERE (kind = 'customer'::text)",
    "INDEX graph_abandoned ON graph USING btree (id) WHERE ((user_id IS NULL) AND (team_id IS NULL))",
    "INDEX graph_usage_words_doubted_at_idx ON graph_usage USING btree (words_doubted_at) WHERE (words_doubted_at IS NOT NULL)",
    "INDEX graph_usage_words_learnt_at_idx ON graph_usage USING btree (words_learnt_at) WHERE (words_learnt_at IS NOT NULL)",
    "INDEX lexicon_uncounted ON lexicon USING btree (graph_id) WHERE (documents = 0)",
    "INDEX mail_due_sign_up ON mail USING btree (due_at) WHERE (kind = 'sign_up'::text)",
    "INDEX memory_expiry ON memory USING btree (graph_id, expires_at) WHERE (expires_at IS NOT NULL)",
    "INDEX payment_event_unprocessed ON payment_event USING btree (customer_id) WHERE (processed_at IS NULL)",
  ],
  "an expression is looked for": ["INDEX api_key_ended ON api_key USING btree (LEAST(revoked_at, expires_at))"],
  "team and owner refer to each other, so it is checked at the end of the transaction": [
    "team FOREIGN KEY (id, owner_id) REFERENCES team_member(team_id, user_id) ON UPDATE CASCADE ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED",
  ],
};

it("has exactly the columns, indexes, foreign keys and enums of the models, and those that no model can declare", async () => {
  await using world = await createWorld({ fresh: true });
  const models = await sqlOfModels(world);
  await world.database.pool.query(`CREATE SCHEMA models; SET search_path TO models, public; ${models}`);

  const [migrated, declared] = [await definitionsIn(world, "public"), await definitionsIn(world, "models")];

  expect(declared.length).toBeGreaterThan(200);
  const advice = "Declare it in prisma/schema.prisma, or in BY_HAND with the reason why no model can.";
  expect(migrated, advice).toEqual([...declared, ...Object.values(BY_HAND).flat()].sort());
});

it("names in the documentation the GIN indexes that operators build again after an update of PostgreSQL", async () => {
  await using world = await createWorld();
  const named = readFileSync("docs/operations.md", "utf8").matchAll(/REINDEX INDEX CONCURRENTLY (\w+)/g);

  const { rows } = await world.database.pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_am a ON a.oid = c.relam
     WHERE c.relkind = 'i' AND a.amname = 'gin' AND c.relnamespace = 'public'::regnamespace`,
  );

  expect([...named].map(([, name]) => name)).toEqual(rows.map(({ name }) => name));
});

it("finds what refers to a row by an index, so that deleting the row reads no whole table", async () => {
  await using world = await createWorld();

  const { rows } = await world.database.pool.query<{ slow: string }>(
    `SELECT k.conrelid::regclass || ' ' || pg_get_constraintdef(k.oid) AS slow FROM pg_constraint k
     WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace AND NOT EXISTS (
       SELECT FROM pg_index i
       CROSS JOIN LATERAL (SELECT (i.indkey::int2[])[0:i.indnkeyatts - 1] AS columns) AS its
       WHERE i.indrelid = k.conrelid AND i.indpred IS NULL
         AND (k.conkey <@ columns[1:cardinality(k.conkey)] OR (i.indisunique AND columns <@ k.conkey)))`,
  );

  expect(rows, "Add an `@@index` that begins with these columns.").toEqual([]);
});

/** The SQL by which Prisma would create the tables of the models. */
async function sqlOfModels({ database }: World): Promise<string> {
  const { SchemaEngine } = await schemaEngine();
  using engine = await SchemaEngine.new(
    { datamodels: undefined },
    () => {},
    bindMigrationAwareSqlAdapterFactory(new PrismaPg(database.pool)),
  );
  const files = [{ path: "schema.prisma", content: readFileSync("prisma/schema.prisma", "utf8") }];
  const { stdout } = await engine.diff({
    from: { tag: "empty" },
    to: { tag: "schemaDatamodel", files },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  return stdout ?? "";
}

/**
 * The columns, indexes, foreign keys and values of enums in a schema, sorted. Without what Prisma cannot declare of
 * them: how a column is computed, that a list is not null, the further columns of an index, and how it is stored.
 */
async function definitionsIn({ database }: World, schema: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ definition: string }>(
    `WITH t AS (
       SELECT oid, relname FROM pg_class
       WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname NOT LIKE '\\_prisma%')
     SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod),
       CASE WHEN attnotnull AND attndims = 0 THEN 'NOT NULL' END,
       CASE WHEN attgenerated = '' AND attndims = 0 THEN 'DEFAULT ' || pg_get_expr(adbin, adrelid) END) AS definition
     FROM t JOIN pg_attribute a ON attrelid = t.oid LEFT JOIN pg_attrdef ON adrelid = t.oid AND adnum = attnum
     WHERE attnum > 0 AND NOT attisdropped
     UNION ALL SELECT concat_ws(' ', relname, pg_get_constraintdef(c.oid)) FROM t
       JOIN pg_constraint c ON conrelid = t.oid AND contype = 'f'
     UNION ALL SELECT regexp_replace(pg_get_indexdef(indexrelid), '^CREATE | (INCLUDE|WITH) \\([^)]*\\)', '', 'g')
       FROM t JOIN pg_index ON indrelid = t.oid
     UNION ALL SELECT concat_ws(' ', typname, enumlabel) FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid
       WHERE typnamespace = $1::regnamespace`,
    [schema],
  );
  return rows.map(({ definition }) => definition.replace(/\b(public|models)\./g, "")).sort();
}

it("fills in times by the database's clock, which all servers share, not by Prisma's", () => {
  expect(readFileSync("prisma/schema.prisma", "utf8")).not.toContain("@default(now())");
});

it("migrates once when several servers start at the same moment", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  await pool.query("DROP SCHEMA public CASCADE");
  await pool.query("CREATE SCHEMA public");

  const applied = await Promise.all([1, 2, 3].map(() => migrate(world.databaseUrl)));

  expect(applied.map((names) => names.length > 0).sort()).toEqual([false, false, true]);
  expect(await isMigrated(pool)).toBe(true);
  expect(await migrate(world.databaseUrl)).toEqual([]);
});

it("refuses to start when an applied migration was changed since, and when unfinished ones have made tables", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  await pool.query("UPDATE _prisma_migrations SET checksum = 'another'");
  await expect(migrate(world.databaseUrl)).rejects.toThrow(/changed after .* start the version that migrated/);
  await pool.query("UPDATE _prisma_migrations SET finished_at = NULL");
  await expect(migrate(world.databaseUrl)).rejects.toThrow(/failed earlier/);
});

it("refuses to start on a database that a newer version has migrated, but keeps a running server", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  await world.database.pool.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
     VALUES ('newer', '', '99990101000000_of_a_newer_version', now())`,
  );

  await expect(migrate(world.databaseUrl)).rejects.toThrow(/newer version .*99990101000000_of_a_newer_version/);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});

it("keeps relationships within one graph by database constraints", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const ids = [world.services.newId(), world.services.newId()];
  const insert = `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
    VALUES ($1, $2, 'general', 'a', 'b', '{}', $1, now(), $1, now())`;
  await world.database.pool.query(insert, [ann.caller.personalGraphId, ids[0]]);
  await world.database.pool.query(insert, [bob.caller.personalGraphId, ids[1]]);

  const forged = world.database.pool.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     VALUES ($1, $2, $2, $3, 'SOLVES', $1, now())`,
    [ann.caller.personalGraphId, ...ids],
  );

  await expect(forged).rejects.toThrow(pg.DatabaseError);
});

it("never compiles plans, whatever the database's setting", async () => {
  await using world = await createWorld({ fresh: true });
  const name = new URL(world.databaseUrl).pathname.slice(1);
  await world.database.pool.query(`ALTER DATABASE "${name}" SET jit TO on`);
  await using database = openDatabase(() => world.databaseUrl);
  const settings: unknown[] = [];
  for (const pool of [database.pool, database.reservedPool, database.searchPool]) {
    settings.push(...(await pool.query("SELECT current_setting('jit') AS jit")).rows);
  }
  expect(settings).toEqual([{ jit: "off" }, { jit: "off" }, { jit: "off" }]);
});

it.each(["Asia/Tokyo", "America/New_York"])("keeps times in UTC in a database with time zone: %s", async (zone) => {
  await using world = await createWorld();
  const name = new URL(world.databaseUrl).pathname.slice(1);
  await world.database.pool.query(`ALTER DATABASE "${name}" SET timezone TO '${zone}'`);
  const { url } = await world.serve();
  const ann = await world.user();
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();

  const made = await ask(`${url}/keys`, { key: ann.key, body: { name: "Short", expires_at: inAnHour } });
  const { key, created_at: createdAt } = made.body as { key: string; created_at: string };

  expect((await ask(`${url}/me`, { key })).status).toBe(200);
  expect(made.body).toMatchObject({ expires_at: inAnHour });
  expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
});

/** Citus copies the first one to its nodes with the text search configuration that it names; the previous version calls the other. */
const KEPT = ["word_form_configuration", "dated_search_hits"];

it("has only functions that something calls, and one of each name", async () => {
  await using world = await createWorld();
  const { rows: functions } = await world.database.pool.query<{ signature: string; name: string; body: string }>(
    `SELECT p.oid::regprocedure::text AS signature, proname AS name, coalesce(prosrc, '') || coalesce(pg_get_function_sqlbody(p.oid), '') AS body FROM pg_proc p
     WHERE pronamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')`,
  );
  const { rows: uses } = await world.database.pool.query<{ text: string }>(
    `SELECT pg_get_triggerdef(oid) AS text FROM pg_trigger WHERE NOT tgisinternal
     UNION ALL SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
     UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c'`,
  );
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join("src", file), "utf8"));
  const callers = [...uses.map(({ text }) => text), ...sources].join("\n");
  const isCalled = ({ name }: (typeof functions)[number]) => {
    const call = new RegExp(`\\b${name}\\b`);
    return call.test(callers) || functions.some((other) => other.name !== name && call.test(other.body));
  };
  expect(functions.length).toBeGreaterThan(20);
  const names = functions.map(({ name }) => name);
  expect(
    functions.filter((one) => !isCalled(one) && !KEPT.includes(one.name)).map(({ signature }) => signature),
    "DROP what no server calls any more.",
  ).toEqual([]);
  expect(
    functions.filter(({ name }, place) => names.indexOf(name) !== place).map(({ signature }) => signature),
    "DROP the function with the earlier parameters: CREATE OR REPLACE has added another one.",
  ).toEqual([]);
});
