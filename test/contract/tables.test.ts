import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { deleteAccount } from "../../src/features/accounts/delete-account.js";
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

  await member.did(deleteAccount, { email: member.email });
  await owner.did(deleteTeam, { teamId });
  for (const { run } of memoryChores(services, undefined)) while (await run()) continue;

  expect([...(await columnsWithIds())].sort()).toEqual(Object.keys(KEPT).sort());
});
