import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { choresOf } from "../../src/chores.js";
import { readConfig } from "../../src/config.js";
import { signUp } from "../../src/features/access/sign-up.js";
import { changeEmail } from "../../src/features/accounts/change-email.js";
import { deleteAccount } from "../../src/features/accounts/delete-account.js";
import { type AccountExport, exportAccount } from "../../src/features/accounts/export-account.js";
import { updateAccount } from "../../src/features/accounts/update-account.js";
import { memoryChores } from "../../src/features/memories/chores.js";
import { deleteMemory } from "../../src/features/memories/delete-memory.js";
import { deleteTeam } from "../../src/features/teams/delete-team.js";
import { acceptInvitation } from "../../src/features/teams/invitations/answer-invitation.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { leaveTeam } from "../../src/features/teams/leave-team.js";
import { removeMember } from "../../src/features/teams/members/remove-member.js";
import { snakeCase } from "../../src/operation/names.js";
import { readDatabase, writeDatabase } from "../../src/platform/database/copy-database.js";
import { Meaning } from "../../src/platform/meaning/meaning.js";
import { createStripeWorld } from "../support/billing.js";
import { ask } from "../support/http.js";
import { PATIENT, embedderOf } from "../support/meaning.js";
import { aMemory } from "../support/memories.js";
import { type Invitee, aTeam, anInvitee } from "../support/teams.js";
import { startEmbeddingsServer } from "../support/embeddings-server.js";
import { age, columnsWith, fillTables, rowsOf, tablesOf } from "../support/tables.js";
import { type Actor, type World, createWorld } from "../support/world.js";

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

const OF_MEMORIES = "It is made from the memories.";
/** The part of an account's export that tells of the rows of each table. */
const EXPORTED: Readonly<Record<string, keyof AccountExport>> = {
  user_account: "profile",
  team: "membership",
  team_member: "membership",
  api_key: "keys",
  invitation: "invitationsSent",
  audit_entry: "events",
  memory: "memories",
  memory_version: "versions",
  relationship: "relationships",
};

/** Tables with rows of an account that its export leaves out, and why. */
const NOT_EXPORTED: Readonly<Record<string, string>> = {
  graph: OF_MEMORIES,
  graph_root: OF_MEMORIES,
  graph_usage: OF_MEMORIES,
  graph_vectors: OF_MEMORIES,
  lexicon: OF_MEMORIES,
  lexicon_look: OF_MEMORIES,
  memory_vector: OF_MEMORIES,
  oauth_record: "It is the secret of a connection, whose key is exported.",
  idempotent_result: "It is what a change has answered, encrypted, for a day.",
  mail: "It waits to be sent to the user.",
  billing_operation: "It is the team's; the audit says who did it.",
};

/** Why columns of the exported tables are left out. */
const COLUMNS_NOT_EXPORTED: ReadonlyArray<{ readonly why: string; readonly columns: readonly string[] }> = [
  {
    why: "It is always the user, or their own graph.",
    columns: [
      "api_key.user_id",
      "team_member.user_id",
      "relationship.created_by",
      "memory.updated_by",
      "memory.graph_id",
      "memory_version.graph_id",
      "relationship.graph_id",
    ],
  },
  {
    why: "It is the team's, or somebody else's.",
    columns: [
      "team.owner_id",
      "team.max_members",
      "team.member_count",
      "team.created_at",
      "invitation.team_id",
      "invitation.invited_by",
      "audit_entry.team_id",
    ],
  },
  { why: OF_MEMORIES, columns: ["memory.search", "memory.project"] },
  { why: "It is a secret.", columns: ["api_key.hash"] },
  { why: "While it is set, the user can export nothing.", columns: ["user_account.suspended_at"] },
];

/** A world in which every table has rows. */
async function fillWorld() {
  const server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client(), undefined, PATIENT);
  const world = await createStripeWorld({ meaning });
  const staff = await fillTables(world, embedderOf(world, meaning));
  return {
    world,
    staff,
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
  await letRetentionEnd(at.world);
  expect([...(await columnsWithIds())]).toEqual([]);
});

it("keeps ids of deleted memories and of their relationships only in the audit, and in what waits to be embedded", async () => {
  await using at = await fillWorld();
  const { pool, models } = at.world.database;
  const memories = await models.memory.findMany();
  const ids = [...memories, ...(await models.relationship.findMany())].map(({ id }) => id);
  expect(ids).toHaveLength(8);

  for (const graph of ["personal", "team"]) {
    for (const { id } of memories) await at.staff.member.does(deleteMemory, { id, graph });
  }

  expect(await models.memory.count()).toBe(0);
  const columns = new Set((await Promise.all(ids.map((id) => columnsWith(pool, id)))).flat());
  expect([...columns].sort()).toEqual(["audit_entry.subject", "embedding_due.memory_id"]);
});

/** Runs all background jobs until they have nothing to do, after the end of every retention time. */
async function letRetentionEnd(world: World): Promise<void> {
  // Twice: the account of a deleted team is read from the payment provider once more, which counts from then on.
  for (let times = 0; times < 2; times++) {
    await age(world.database, 801);
    for (const { run } of choresOf(readConfig({}), world.services, undefined)) while (await run()) continue;
  }
}

const IN_AUDIT = "audit_entry.detail";
/** People by what they did, whose addresses begin with it, and where these addresses are in the end. */
const PEOPLE: Readonly<Record<string, { readonly stays: readonly string[]; readonly atLast?: readonly string[] }>> = {
  deleted: { stays: [] },
  moved: { stays: [IN_AUDIT, "invitation.email"] },
  elsewhere: { stays: ["user_account.email"], atLast: ["user_account.email"] },
  left: { stays: [IN_AUDIT, "invitation.email", "user_account.email"], atLast: ["user_account.email"] },
  removed: { stays: [IN_AUDIT, "invitation.email", "user_account.email"], atLast: ["user_account.email"] },
  invited: { stays: [IN_AUDIT, "invitation.email", "mail.email"] },
  "signed-up": { stays: ["mail.email", "sign_up_code.email"] },
};

it("keeps addresses, names and texts of people in no other column, and of who is gone at last in none", async () => {
  await using world = await createWorld();
  const { database } = world;
  const staff = await aTeam(world);
  const { owner, teamId } = staff;
  const addressOf = (name: string) => `${name}@people.example.com`;
  const comes = async (name: string): Promise<Invitee["actor"]> => {
    const { actor, token } = await anInvitee(world, staff, "member", addressOf(name));
    await actor.did(acceptInvitation, { token });
    return actor;
  };
  const [deleted, moved, left, removed] = [
    await comes("deleted"),
    await comes("moved"),
    await comes("left"),
    await comes("removed"),
  ];
  await deleted.did(updateAccount, { name: "Unmistakable" });
  await aMemory(deleted, { title: "Unforgettable", content: "Unforgettable", graph: "personal" });
  await owner.did(inviteMember, { teamId, email: addressOf("invited"), role: "member" });
  await owner.did(signUp, { email: addressOf("signed-up") });
  await world.giveCode(addressOf("signed-up"), "01234567");
  await world.giveCode(addressOf("elsewhere"), "76543210");

  await deleted.did(deleteAccount, { email: deleted.email });
  await moved.did(changeEmail, { email: addressOf("elsewhere"), code: "76543210" });
  await left.did(leaveTeam, { teamId });
  await owner.did(removeMember, { teamId, userId: removed.caller.userId });
  // These mails were sent.
  const sent = [{ kind: "notice" }, { invitation: { status: "accepted" } }] as const;
  await database.models.mail.deleteMany({ where: { OR: [...sent] } });
  for (const { run } of memoryChores(world.services, undefined)) while (await run()) continue;

  const found = async () => {
    const columns = Object.keys(PEOPLE).map(async (name) => [name, await columnsWith(database.pool, addressOf(name))]);
    return Object.fromEntries(await Promise.all(columns)) as object;
  };
  const told = (of: "stays" | "atLast") =>
    Object.fromEntries(Object.entries(PEOPLE).map(([name, where]) => [name, where[of] ?? []]));
  expect(await found()).toEqual(told("stays"));
  for (const mark of ["Unmistakable", "Unforgettable"]) expect(await columnsWith(database.pool, mark)).toEqual([]);
  await letRetentionEnd(world);
  expect(await found()).toEqual(told("atLast"));
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

it("exports each column of these tables, unless there is a reason", async () => {
  await using at = await fillWorld();
  const { url } = await at.world.serve();
  const { owner, member } = at.staff;
  const exportOf = async ({ key }: Actor) => (await ask(`${url}/users/me/export?limit=100`, { key })).body;
  const exports = (await Promise.all([owner, member].map(exportOf))) as Array<Record<string, object | object[]>>;
  const { rows } = await at.world.database.pool.query<{ table: string; column: string }>(
    `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = ANY ($1)`,
    [Object.keys(EXPORTED)],
  );

  const leftOut = rows.filter(({ table, column }) => {
    const part = exports.flatMap((one) => one[snakeCase(EXPORTED[table] ?? "")] ?? []);
    const names = [column, column.replace(/_id$/, ""), `${table}_${column}`];
    return !part.some((item) => names.some((name) => name in item));
  });
  const told = COLUMNS_NOT_EXPORTED.flatMap(({ columns }) => columns);
  const advice = "Export it in src/features/accounts/, or say in COLUMNS_NOT_EXPORTED why not.";
  expect(leftOut.map(({ table, column }) => `${table}.${column}`).sort(), advice).toEqual(told.sort());
});
