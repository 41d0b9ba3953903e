import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { startApp } from "../../src/app.js";
import { readConfig } from "../../src/config.js";
import { newApiKey } from "../../src/features/access/key-text.js";
import { sha256 } from "../../src/operation/sha256.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { isMigrated, migrate } from "../../src/platform/database/migrations.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { ask } from "../support/http.js";

/** The tables of the first version. */
const FIRST = [
  "20261120000000_memory_graph",
  "20261120010000_idempotent_result",
  "20261120020000_teams",
  "20261120030000_billing",
];
const MEMORIES = 300;
/** Every scope that keys had before any was added. */
const FIRST_SCOPES = [
  "memories:read",
  "memories:write",
  "teams:read",
  "teams:write",
  "billing:read",
  "billing:write",
  "keys:write",
];

it("upgrades a database of the first version and keeps all its data", async () => {
  const url = await databaseOfFirstVersion();
  const key = newApiKey();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await fill(client, key);

  await migrate(url);

  expect(await isMigrated(client)).toBe(true);
  const { rows } = await client.query<{ hash: string }>("SELECT unnest(former_payers) AS hash FROM billing_account");
  const addresses = ["ann@example.com", "cid@example.com", "old@example.com"];
  expect(rows.map(({ hash }) => hash).sort()).toEqual(addresses.map((one) => sha256(one).toString("hex")).sort());
  const invited = await client.query("SELECT detail FROM audit_entry WHERE action = 'inviteMember' ORDER BY detail");
  expect(invited.rows).toEqual([{ detail: "bob@example.com, role: member" }, { detail: null }]);
  await client.end();
  const log = loggerTo({ write: () => {} }, "silent");
  await using app = await startApp(readConfig({ PORT: "0", NODE_ENV: "test" }), url, log);
  const get = async (path: string) => (await ask(app.url + path, { key })).body as Record<string, unknown>;
  const { memories } = await get("/v1/memories/search?query=frobnication%207&graph=personal");
  expect(memories).toMatchObject([{ title: "Frobnication 7" }]);
  const misspelt = await get("/v1/memories/search?query=frobnicatoin&limit=5&graph=personal");
  expect(misspelt["memories"]).toHaveLength(5);
  const folded = await get("/v1/memories/search?query=strassenbahn%20api&graph=personal");
  expect(folded["memories"]).toMatchObject([{ title: "Straßenbahn ＡＰＩ" }]);
  expect(await get("/v1/memories/search?query=caf%C3%A9&graph=personal")).toMatchObject({ total: 1 });
  expect(await get("/v1/memories/search?query=decisions&graph=personal")).toMatchObject({ total: 1 });
  const [{ id }] = memories as [{ id: string }];
  expect(await get(`/v1/memories/${id}?graph=personal`)).toMatchObject({ version: 2, relationships_total: 1 });
  expect(await get(`/v1/memories/${id}/versions?graph=personal`)).toMatchObject({
    versions: [{ version: 2 }, { title: "Before" }],
  });
  expect(JSON.stringify(await get("/me"))).toContain(`"memories":${MEMORIES}`);
  expect(await get("/teams/me")).toMatchObject({ name: "Platform", member_count: 1 });
  const advice = "A key that had every scope lost that: give it the new one in a migration.";
  expect(await get("/users/me/export?limit=1"), advice).toHaveProperty("next_cursor");
});

async function databaseOfFirstVersion(): Promise<string> {
  const { url, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  await onServer(url, async (server) => void (await server.query(`CREATE DATABASE ${name}`)));
  onTestFinished(() =>
    onServer(url, async (server) => void (await server.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  );
  const database = databaseOn(url, name);
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  // Prisma's migration table.
  await client.query(`CREATE TABLE _prisma_migrations (id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL,
    finished_at timestamptz, migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz,
    started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`);
  for (const migration of FIRST) {
    const script = readFileSync(`prisma/migrations/${migration}/migration.sql`, "utf8");
    await client.query(script);
    const checksum = createHash("sha256").update(script).digest("hex");
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
       VALUES ($1, $2, now(), $3, 1)`,
      [randomUUID(), checksum, migration],
    );
  }
  await client.end();
  return database;
}

/** Creates a user with a key, a team with an invitation, and a graph of memories, versions and relationships. */
async function fill(client: pg.Client, key: string): Promise<void> {
  const [user, former, graph, team] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await client.query("BEGIN");
  await client.query("INSERT INTO user_account (id, email, email_verified_at) VALUES ($1, 'ann@example.com', now())", [
    user,
  ]);
  await client.query("INSERT INTO graph (id, user_id) VALUES ($1, $2)", [graph, user]);
  await client.query(
    `INSERT INTO api_key (id, user_id, name, prefix, hash, scopes)
     VALUES ($1, $2, 'Key', 'mg_live_xxxx', $3, $4)`,
    [randomUUID(), user, sha256(key), FIRST_SCOPES],
  );
  await client.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, version, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), 'general', 'Frobnication ' || n,
       'Something about number ' || n || repeat(' with getUserById, retries and 日本語', 20), '{old}', 1, $2, now(), $2, now()
     FROM generate_series(1, $3::int) n`,
    [graph, user, MEMORIES],
  );
  await client.query(
    `UPDATE memory SET type = 'decision', title = 'Straßenbahn ＡＰＩ', content = 'Café — “closed”…' WHERE title = 'Frobnication 9'`,
  );
  await client.query("UPDATE memory SET version = 2 WHERE title = 'Frobnication 7'");
  await client.query(
    `INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, tags, importance, changed_by, changed_at)
     SELECT graph_id, id, 1, type, 'Before', content, tags, importance, $1, now() FROM memory WHERE title = 'Frobnication 7'`,
    [user],
  );
  await client.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     SELECT a.graph_id, gen_random_uuid(), a.id, b.id, 'SOLVES', $1, now()
     FROM memory a JOIN memory b ON a.title = 'Frobnication 7' AND b.title = 'Frobnication 8'`,
    [user],
  );
  await client.query("INSERT INTO team (id, name, owner_id, max_members) VALUES ($1, 'Platform', $2, 5)", [team, user]);
  await client.query("INSERT INTO team_member (user_id, team_id, role) VALUES ($1, $2, 'owner')", [user, team]);
  await client.query("INSERT INTO graph (id, team_id) VALUES ($1, $2)", [randomUUID(), team]);
  await client.query(
    `INSERT INTO invitation (id, team_id, email, role, invited_by, expires_at)
     VALUES ($1, $2, 'bob@example.com', 'member', $3, now() + interval '7 days')`,
    [randomUUID(), team, user],
  );
  // Of this team and of one that was deleted.
  await client.query(
    `INSERT INTO audit_entry (id, team_id, actor_id, door, action, detail)
     VALUES (gen_random_uuid(), $1, $2, 'rest', 'inviteMember', 'bob@example.com, role: member'),
       (gen_random_uuid(), gen_random_uuid(), $2, 'rest', 'inviteMember', 'dan@example.com, role: member')`,
    [team, user],
  );
  await client.query(
    "INSERT INTO audit_entry (id, team_id, actor_id, door, action) VALUES ($1, $2, $3, 'rest', 'createTeam')",
    [randomUUID(), team, user],
  );
  // A team that was bought by another owner, and whose owner has changed their address since.
  await client.query("INSERT INTO user_account (id, email) VALUES ($1, 'cid@example.com')", [former]);
  await client.query("INSERT INTO billing_account (team_id, customer_id) VALUES ($1, 'cus_1')", [team]);
  await client.query(
    `INSERT INTO audit_entry (id, team_id, actor_id, door, action, subject, detail) VALUES
       ($1, $2, $3, 'rest', 'transferTeam', $5, NULL), ($4, NULL, $6, 'rest', 'changeEmail', $5, 'old@example.com')`,
    [randomUUID(), team, former, randomUUID(), user, user],
  );
  await client.query("COMMIT");
}
