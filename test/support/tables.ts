import { randomBytes } from "node:crypto";
import type pg from "pg";
import { createTeamCheckout } from "../../src/features/billing/create-team-checkout.js";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import type { StripeWorld } from "./billing.js";
import { aLink, aMemory } from "./memories.js";
import { type Staff, aTeam, anInvitee } from "./teams.js";

type Queryable = Pick<pg.Pool, "query"> | Pick<pg.Client, "query">;

/** The names of the service's tables. */
export async function tablesOf(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
       AND relname <> '_prisma_migrations' ORDER BY relname`,
  );
  return rows.map(({ name }) => name);
}

/** What is stored after an answer: the time of a key's last use, and when background jobs are to look at a graph's words. */
export const STORED_LATER: readonly string[] = ["last_used_at", "words_learnt_at", "words_doubted_at"];

/** Every row of every table as text, sorted: its table and its columns. Leaves out what may change meanwhile. */
export async function rowsOf(database: Queryable, leftOut: readonly string[] = []): Promise<string[]> {
  const tables = (await tablesOf(database)).filter((name) => !leftOut.includes(name));
  const all = tables.map((name) => `SELECT '${name} ' || (to_jsonb(t) - $1::text[])::text AS row FROM "${name}" t`);
  const { rows } = await database.query<{ row: string }>(`${all.join(" UNION ALL ")} ORDER BY row`, [STORED_LATER]);
  return rows.map(({ row }) => row);
}

/** The columns of all tables that contain this text, but not as the end of a longer word. */
export async function columnsWith(database: Queryable, text: string): Promise<string[]> {
  const each = (await tablesOf(database)).map(
    (name) =>
      `SELECT DISTINCT '${name}.' || key AS found FROM "${name}" t, jsonb_each_text(to_jsonb(t)) WHERE value ~* $1`,
  );
  const { rows } = await database.query<{ found: string }>(`${each.join(" UNION ALL ")} ORDER BY found`, [
    `(^|[^a-z])${text.replaceAll(".", "\\.")}`,
  ]);
  return rows.map(({ found }) => found);
}

/**
 * A team with rows in every table: a new table needs one here. Needs a world with a payment provider and embeddings;
 * `embed` does the work of their chores.
 */
export async function fillTables(world: StripeWorld, embed: () => Promise<void>): Promise<Staff> {
  const staff = await aTeam(world);
  const { teamId, owner, member } = staff;
  await anInvitee(world, staff);
  await world.giveCode("somebody@example.com", "01234567");
  await owner.did(createTeamCheckout);
  for (const graph of ["personal", "team"]) {
    const one = await aMemory(member, { graph });
    const two = await aMemory(member, { graph });
    await member.did(updateMemory, { id: one.id, title: "Changed", graph });
    await aLink(member, one, two, { graph });
    await embed();
    const repeatable = { key: graph, part: "", request: "" };
    await member.does(createMemory, { type: "general", title: "New", content: "Not embedded.", graph }, repeatable);
  }
  const { graph, lexiconLook, mail, oAuthRecord, paymentEvent } = world.database.models;
  const graphs = await graph.findMany({ where: { OR: [{ teamId }, { userId: member.caller.userId }] } });
  await lexiconLook.createMany({ data: graphs.map(({ id }) => ({ graphId: id, word: "one" })) });
  const connection = { kind: "AccessToken", hash: randomBytes(32), payload: {}, keyId: member.caller.keyId };
  await oAuthRecord.create({ data: { ...connection, expiresAt: new Date(Date.now() + 60_000) } });
  const notice = { kind: "notice", email: owner.email, subject: "A subject", body: "A body" };
  await mail.create({ data: { ...notice, id: world.services.newId(), teamId } });
  await paymentEvent.create({ data: { id: "evt_1", type: "invoice.paid" } });
  return staff;
}

/** Moves every stored time into the past, but not those of memories, as if so many days had passed. */
export async function age({ pool }: { readonly pool: Queryable }, days: number): Promise<void> {
  const { rows } = await pool.query<{ name: string; columns: string[] }>(
    `SELECT table_name AS name, array_agg(column_name::text) AS columns FROM information_schema.columns
     WHERE table_schema = 'public' AND data_type LIKE 'timestamp%' AND table_name NOT LIKE '\\_prisma%'
       AND table_name NOT IN ('memory', 'memory_version', 'relationship') GROUP BY 1`,
  );
  for (const { name, columns } of rows) {
    const moved = columns.map((column) => `${column} = ${column} - interval '${days} days'`);
    await pool.query(`UPDATE "${name}" SET ${moved.join(", ")}`);
  }
}
