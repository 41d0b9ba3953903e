import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { deleteAccount } from "../../src/features/accounts/delete-account.js";
import { type AccountExport, exportAccount } from "../../src/features/accounts/export-account.js";
import { memoryChores } from "../../src/features/memories/chores.js";
import { deleteTeam } from "../../src/features/teams/delete-team.js";
import { readDatabase, writeDatabase } from "../../src/platform/database/copy-database.js";
import { Meaning } from "../../src/platform/meaning/meaning.js";
import { createStripeWorld } from "../support/billing.js";
import { PATIENT, embedderOf } from "../support/meaning.js";
import { startEmbeddingsServer } from "../support/embeddings-server.js";
import { columnsWith, fillTables, rowsOf, tablesOf } from "../support/tables.js";
import { createWorld } from "../support/world.js";

/** Where ids of deleted accounts and teams stay, and why. */
const KEPT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["actor_id", "key_id", "subject", "team_id"].map((column) => [
      `audit_entry.${column}`,
      "The audit says who did what with what, also after these are gone.",
    ]),
  ),
  "billing_account.team_id": "The team still exists at the payment provider, whose late events name it.",
  "billing_operation.team_id": "It says what was asked of the payment provider for this team.",
  "billing_operation.request": "The same: the provider's customer has the team's id.",
};

/** Where the id of a deleted user stays as long as the team that they were in, which owns its memories. */
const KEPT_WITH_TEAM = [
  "memory.created_by",
  "memory.updated_by",
  "memory_version.changed_by",
  "relationship.created_by",
];

/** The part of an account's export that tells of the rows of each table. */
const EXPORTED: Readonly<Record<string, keyof AccountExport>> = {
  ...{ user_account: "profile", team: "membership", team_member: "membership", api_key: "keys" },
  ...{ invitation: "invitationsSent", audit_entry: "events" },
  ...{ memory: "memories", memory_version: "versions", relationship: "relationships" },
};

const OF_MEMORIES = "It is made from the memories.";
/** Tables with rows of an account that its export leaves out, and why. */
const NOT_EXPORTED: Readonly<Record<string, string>> = {
  ...{ graph: OF_MEMORIES, graph_root: OF_MEMORIES, graph_usage: OF_MEMORIES, graph_vectors: OF_MEMORIES },
  ...{ lexicon: OF_MEMORIES, lexicon_look: OF_MEMORIES, memory_vector: OF_MEMORIES },
  oauth_record: "It is the secret of a connection, whose key is exported.",
  idempotent_result: "It is what a change has answered, encrypted, for a day.",
  mail: "It waits to be sent to the user.",
  billing_operation: "It is the team's; the audit says who did it.",
};

/** A world in which every table has rows. */
async function fillWorld() {
  const server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client(), undefined, PATIENT);
  const world = await createStripeWorld({ meaning });
  const staff = await fillTables(world, embedderOf(world, meaning));
  return {
    ...{ world, staff },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

it("copies each table to another database", async () => {
  await using at = await fillWorld();
  await using target = await createWorld();
  const { pool } = at.world.database;
  const rows = await rowsOf(pool);
  const filled = new Set(rows.map((row) => row.split(" ")[0]));
  expect(
    (await tablesOf(pool)).filter((name) => !filled.has(name)),
    "Give it a row in `fillTables`.",
  ).toEqual([]);
  const between = new PassThrough();

  await Promise.all([
    writeDatabase({ url: at.world.databaseUrl, variable: "DATABASE_URL" }, between),
    readDatabase({ url: target.databaseUrl, variable: "DATABASE_URL" }, between),
  ]);

  expect(await rowsOf(target.database.pool)).toEqual(rows);
});

it("keeps ids of a deleted account and a deleted team only where there is a reason", async () => {
  await using at = await fillWorld();
  const { database, services } = at.world;
  const { teamId, owner, member } = at.staff;
  const { userId, keyId } = member.caller;
  const where = { OR: [{ teamId }, { userId }] };
  const graphs = await database.models.graph.findMany({ where });
  const ids = [teamId, userId, keyId, ...graphs.map(({ id }) => id)];
  const columnsWithIds = async () =>
    new Set((await Promise.all(ids.map((id) => columnsWith(database.pool, id)))).flat());
  const { rows } = await database.pool.query<{ column: string }>(
    `SELECT table_name || '.' || column_name AS column FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name IN ('graph_id', 'team_id', 'user_id')`,
  );
  const before = await columnsWithIds();
  expect(rows.length).toBeGreaterThan(10);
  expect(
    rows.filter(({ column }) => !before.has(column)),
    "Name these ids in `fillTables`.",
  ).toEqual([]);

  const empty = async () => {
    for (const { run } of memoryChores(services, undefined)) while (await run()) continue;
  };
  await member.did(deleteAccount, { email: member.email });
  await empty();
  const ofUser = (await Promise.all([userId, keyId].map((id) => columnsWith(database.pool, id)))).flat();
  const mayStay = new Set([...Object.keys(KEPT), ...KEPT_WITH_TEAM]);
  expect(ofUser.filter((column) => !mayStay.has(column))).toEqual([]);
  await owner.did(deleteTeam, { teamId });
  await empty();

  expect([...(await columnsWithIds())].sort()).toEqual(Object.keys(KEPT).sort());
});

it("exports the rows of an account from each table, unless there is a reason", async () => {
  await using at = await fillWorld();
  const { database } = at.world;
  const { owner, member } = at.staff;
  const ids = [owner, member].flatMap(({ email, caller }) => [
    email,
    caller.userId,
    caller.keyId,
    caller.personalGraphId,
  ]);
  const columns = (await Promise.all(ids.map((id) => columnsWith(database.pool, id)))).flat();
  const tables = new Set(columns.map((column) => column.split(".")[0] ?? ""));

  const told = [...Object.keys(EXPORTED), ...Object.keys(NOT_EXPORTED)];
  const advice = "Export it in src/features/accounts/, or say in NOT_EXPORTED why not.";
  expect([...tables].sort(), advice).toEqual(told.sort());
  const parts = Object.keys(await member.did(exportAccount));
  expect(Object.values(EXPORTED).filter((part) => !parts.includes(part))).toEqual([]);
});
