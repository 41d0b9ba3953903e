import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/platform/database/database.js";
import { isMigrated, migrate } from "../../src/platform/database/migrations.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

/** PostgreSQL's name for each type that the models use. */
const TYPES: Readonly<Record<string, string>> = {
  String: "text",
  "String @db.Uuid": "uuid",
  "String[]": "_text",
  Int: "int4",
  BigInt: "int8",
  Float: "float8",
  Boolean: "bool",
  Bytes: "bytea",
  Json: "jsonb",
  "Json @db.Json": "json",
  "DateTime @db.Timestamptz(3)": "timestamptz",
  "DateTime[] @db.Timestamptz(3)": "_timestamptz",
  'Unsupported("tsvector")': "tsvector",
};

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly nullable: boolean;
}

it("has exactly the columns of the models", async () => {
  await using world = await createWorld();
  const { rows } = await world.database.pool.query<Column>(
    `SELECT table_name AS table, column_name AS column, udt_name AS type, is_nullable = 'YES' AS nullable
     FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE '\\_prisma%'`,
  );
  const declared = columnsOfModels(readFileSync("prisma/schema.prisma", "utf8"));
  const byName = (one: Column, other: Column) =>
    `${one.table}.${one.column}` < `${other.table}.${other.column}` ? -1 : 1;
  expect(declared.length).toBeGreaterThan(40);
  expect(rows.sort(byName)).toEqual(declared.sort(byName));
});

it("has the unique constraints of the models", async () => {
  await using world = await createWorld();
  const { rows } = await world.database.pool.query<{ index: string }>(
    `SELECT t.relname || '(' || string_agg(a.attname, ',' ORDER BY k.place) || ')' AS index
     FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
     CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)
     JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum
     WHERE i.indisunique AND i.indpred IS NULL AND n.nspname = 'public' AND t.relname NOT LIKE '\\_prisma%'
     GROUP BY t.relname, i.indexrelid`,
  );
  const declared = uniquesOfModels(readFileSync("prisma/schema.prisma", "utf8"));
  expect(declared.length).toBeGreaterThan(8);
  expect(rows.map(({ index }) => index).sort()).toEqual(declared.sort());
});

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

it("refuses to start when an applied migration was changed since, and when a migration failed", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  await pool.query("UPDATE _prisma_migrations SET checksum = 'another'");
  await expect(migrate(world.databaseUrl)).rejects.toThrow(/was changed after it had been applied/);
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

/** The columns of the models in schema.prisma: every field that is no relation, with its type. */
function columnsOfModels(schema: string): Column[] {
  return modelsIn(schema).flatMap(({ table, fields, enums }) =>
    fields.flatMap(([name, type, rest]): Column[] => {
      const plain = type.replace("?", "");
      const named = [plain, /@db\.\w+(\(\d\))?/.exec(rest)?.[0]].filter(Boolean).join(" ");
      const known = TYPES[named] ?? enums.get(plain);
      if (known === undefined) return [];
      return [{ table, column: columnOf(name, rest), type: known, nullable: type.endsWith("?") }];
    }),
  );
}

function uniquesOfModels(schema: string): string[] {
  return modelsIn(schema).flatMap(({ table, body, fields }) => {
    const columns = new Map(fields.map(([name, , rest]) => [name, columnOf(name, rest)]));
    const single = fields.filter(([, , rest]) => /@(id|unique)\b/.test(rest)).map(([name]) => [name]);
    const several = Array.from(body.matchAll(/@@(?:id|unique)\(\[([^\]]+)\]/g), ([, list = ""]) => list.split(/,\s*/));
    return [...single, ...several].map((names) => `${table}(${names.map((name) => columns.get(name)).join(",")})`);
  });
}

function modelsIn(schema: string) {
  const enums = new Map(
    Array.from(schema.matchAll(/^enum (\w+) \{[\s\S]*?@@map\("(\w+)"\)/gm), ([, name = "", type = ""]) => [name, type]),
  );
  return Array.from(schema.matchAll(/^model \w+ \{\n([\s\S]*?)^\}/gm), ([, body = ""]) => {
    const fields = Array.from(
      body.matchAll(/^ {2}(\w+)\s+(\S+)(.*)$/gm),
      ([, name = "", type = "", rest = ""]): [string, string, string] => [name, type, rest],
    );
    return { table: /@@map\("(\w+)"\)/.exec(body)?.[1] ?? "", body, fields, enums };
  });
}

const columnOf = (name: string, rest: string): string => /@map\("(\w+)"\)/.exec(rest)?.[1] ?? name;

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

/** Citus copies it to its nodes with the text search configuration that it names. */
const KEPT = "word_form_configuration";

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
    functions.filter((one) => !isCalled(one) && one.name !== KEPT).map(({ signature }) => signature),
    "DROP what no server calls any more.",
  ).toEqual([]);
  expect(
    functions.filter(({ name }, place) => names.indexOf(name) !== place).map(({ signature }) => signature),
    "DROP the function with the earlier parameters: CREATE OR REPLACE has added another one.",
  ).toEqual([]);
});
