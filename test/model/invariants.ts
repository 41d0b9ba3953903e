import { createHash } from "node:crypto";
import { accountOf } from "../../src/features/billing/account.js";
import { reconcileAccount } from "../../src/features/billing/reconcile.js";
import { stripeClient } from "../../src/platform/billing/stripe-client.js";
import { brokenBilling } from "../support/billing.js";
import { brokenInvariants } from "../support/teams.js";
import { Disagreement, difference } from "./agree.js";
import { KEPT_MS, type Memory, type Model, type Team, presentOf, versionOf } from "./model.js";
import type { World } from "../support/world.js";
import type { Real } from "./real.js";

/**
 * Checks the invariants of the database, and that it holds exactly what the model holds.
 * @throws Disagreement
 */
export async function assertInvariants(model: Model, real: Real): Promise<void> {
  const { world } = real;
  const broken = [await brokenInvariants(world), await brokenOfGraphs(world), await brokenBilling(world)].flat();
  if (broken.length > 0) throw new Disagreement(`In the database, or at the payment provider: ${broken.join("; ")}.`);
  for (const team of model.teams) await assertPayments(team, real);
  if (real.world.bugs.length > 0)
    throw new Disagreement(`It logged: ${JSON.stringify(real.world.bugs).slice(0, 2_000)}`);
  for (const [what, { stored, known }] of Object.entries(await bothStates(model, real))) {
    const differs = difference(known, stored, `${what} in the database`);
    if (differs) throw new Disagreement(differs);
  }
}

/** The broken invariants of graphs, and what is left to be done. */
export async function brokenOfGraphs({ database }: World): Promise<string[]> {
  const { rows } = await database.pool.query<{ broken: string }>(`
    SELECT 'versions of a memory at ' || m.version || ' are ' || string_agg(v.version::text, ', ') AS broken
      FROM memory m JOIN memory_version v ON v.graph_id = m.graph_id AND v.memory_id = m.id
      GROUP BY m.graph_id, m.id, m.version
      HAVING max(v.version) <> m.version - 1 OR count(*) <> max(v.version) - min(v.version) + 1
    UNION ALL
    SELECT 'a version has no memory' FROM memory_version v
      WHERE NOT EXISTS (SELECT FROM memory m WHERE m.graph_id = v.graph_id AND m.id = v.memory_id)
    UNION ALL
    SELECT 'a relationship leads out of its graph' FROM relationship r
      WHERE NOT EXISTS (SELECT FROM memory m WHERE m.graph_id = r.graph_id AND m.id = r.from_id)
        OR NOT EXISTS (SELECT FROM memory m WHERE m.graph_id = r.graph_id AND m.id = r.to_id)
    UNION ALL
    SELECT 'a memory is in no graph' FROM memory m WHERE NOT EXISTS (SELECT FROM graph g WHERE g.id = m.graph_id)
    UNION ALL
    SELECT 'a member is invited still' FROM invitation i JOIN user_account u ON u.email = i.email
      JOIN team_member m ON m.user_id = u.id AND m.team_id = i.team_id
      WHERE i.status = 'pending' AND i.expires_at > now()
    UNION ALL
    SELECT 'a user has ' || count(g.id) || ' graphs' FROM user_account u LEFT JOIN graph g ON g.user_id = u.id
      GROUP BY u.id HAVING count(g.id) <> 1
    UNION ALL
    SELECT 'a graph holds ' || held.memories || ' memories of ' || held.bytes || ' bytes and counts '
        || u.memories || ' of ' || u.bytes
      FROM graph g LEFT JOIN graph_usage u ON u.graph_id = g.id CROSS JOIN LATERAL measure_graph(g.id) held
      WHERE coalesce(g.user_id, g.team_id) IS NOT NULL
        AND (u.memories, u.bytes) IS DISTINCT FROM (held.memories, held.bytes)
    UNION ALL
    SELECT 'a word of a memory is not in the lexicon: ' || word
      FROM memory m JOIN graph g ON g.id = m.graph_id CROSS JOIN LATERAL lexicon_words(m.search) word
      WHERE coalesce(g.user_id, g.team_id) IS NOT NULL
        AND NOT EXISTS (SELECT FROM lexicon l WHERE l.graph_id = m.graph_id AND l.word = word)
    UNION ALL
    SELECT 'a mail is left' FROM mail
    UNION ALL
    -- After a transfer, the background job may just be asking.
    SELECT 'a request to the payment provider is open' FROM billing_operation WHERE outcome IS NULL AND kind <> 'payer'`);
  return rows.map(({ broken }) => broken);
}

/** How many invoices the provider lists at once. */
const INVOICES_MAX = 100;

/**
 * The team has paid for what it got, and for nothing twice. When the customer at the payment provider has been compared
 * with the team's owner, it has the owner's address.
 */
async function assertPayments({ id, billing, members, deleted }: Team, { world }: Real): Promise<void> {
  if (!billing.hasCustomer) return;
  const { customers, invoices } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const { customerId, seats } = await accountOf(world.services, id);
  const { data: paid } = await invoices.list({ customer: customerId ?? "", status: "paid", limit: INVOICES_MAX });
  if (paid.length !== Math.min(billing.invoices, INVOICES_MAX) || seats !== billing.seats)
    throw new Disagreement(
      `It has ${seats} seats by ${paid.length} paid invoices, not ${billing.seats} by ${billing.invoices}.`,
    );
  if (deleted) return;
  await reconcileAccount(world.services, id);
  const customer = await customers.retrieve(customerId ?? "");
  const owner = [...members.keys()].find((user) => members.get(user) === "owner");
  const address = "deleted" in customer ? null : customer.email;
  if (address !== owner?.email) throw new Disagreement(`${address} is told of payments, but ${owner?.email} owns.`);
}

interface Both {
  readonly stored: unknown;
  readonly known: unknown;
}

/** What is stored about the users of this model and their teams, and what the model expects. */
async function bothStates(model: Model, { world }: Real): Promise<Record<string, Both>> {
  const query = async (text: string, values: unknown[]) => (await world.database.pool.query(text, values)).rows;
  const users = model.users.map(({ id }) => id);
  const teams = model.teams.map(({ id }) => id);
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
  const memories = await query(
    `SELECT m.id, m.version, m.title, g.user_id AS owner, g.team_id AS team
     FROM memory m JOIN graph g ON g.id = m.graph_id WHERE g.user_id = ANY($1) OR g.team_id = ANY($2)
     ORDER BY m.id, g.user_id NULLS LAST, g.team_id`,
    [users, teams],
  );
  const links = await query(
    `SELECT r.id, r.from_id AS from, r.to_id AS to, r.type, r.strength, r.confidence, r.context
     FROM relationship r JOIN graph g ON g.id = r.graph_id
     WHERE g.user_id = ANY($1) OR g.team_id = ANY($2) ORDER BY r.id`,
    [users, teams],
  );
  const people = await query(`SELECT id, email, name FROM user_account WHERE id = ANY($1) ORDER BY id`, [users]);
  const called = await query(`SELECT id, name FROM team WHERE id = ANY($1) ORDER BY id`, [teams]);
  const invitations = await query(
    `SELECT id, CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status::text END AS status,
       extract(epoch FROM expires_at)::float8 * 1000 AS ends FROM invitation
     WHERE team_id = ANY($1) ORDER BY id`,
    [teams],
  );
  const members = await query(
    `SELECT user_id AS id, team_id AS team, role::text FROM team_member WHERE user_id = ANY($1) ORDER BY user_id`,
    [users],
  );
  const keys = await query(
    `SELECT id, encode(hash, 'hex') AS hash, revoked_at IS NOT NULL AS revoked FROM api_key
     WHERE user_id = ANY($1) ORDER BY id`,
    [users],
  );
  const audit = await query(
    `SELECT action, actor_id AS "actorId", key_id AS "keyId", door, team_id AS "teamId", subject, detail
     FROM audit_entry WHERE actor_id = ANY($1) OR team_id = ANY($2) ORDER BY id`,
    [users, teams],
  );
  const { results, unclear } = resultsOf(model);
  const kept = await query(
    `SELECT user_id AS id, count(*)::int FROM idempotent_result
     WHERE user_id = ANY($1) AND created_at > now() - interval '24 hours' GROUP BY user_id ORDER BY user_id`,
    [users.filter((id) => !unclear.has(id))],
  );
  return {
    memories: { stored: memories, known: model.memories.map(placed(model)).sort(byPlace) },
    relationships: {
      stored: links,
      known: model.links.map(({ from, to, ...link }) => ({ ...link, from: from.id, to: to.id })).sort(byId),
    },
    users: { stored: people, known: model.users.map(({ id, email, name }) => ({ id, email, name })).sort(byId) },
    teams: {
      stored: called,
      known: model.teams.flatMap(({ id, name, deleted }) => (deleted ? [] : { id, name })).sort(byId),
    },
    invitations: { stored: invitations, known: invitationsOf(model).sort(byId) },
    members: { stored: members, known: membersOf(model).sort(byId) },
    keys: { stored: keys, known: keysOf(model).sort(byId) },
    audit: { stored: audit, known: model.audit },
    "results that are kept": { stored: kept, known: results.sort(byId) },
  };
}

const placed = (model: Model) => (memory: Memory) => ({
  id: memory.id,
  version: versionOf(memory),
  title: presentOf(memory).title,
  owner: model.users.find(({ personal }) => personal === memory.graph)?.id ?? null,
  team: memory.graph.team?.id ?? null,
});

/** Memories that were restored into two graphs have the same id in both. */
function byPlace(one: Placed, other: Placed): number {
  const places = [one, other].map(({ id, owner, team }) => `${id} ${owner ?? "~"} ${team ?? "~"}`);
  return (places[0] ?? "") < (places[1] ?? "") ? -1 : 1;
}

type Placed = ReturnType<ReturnType<typeof placed>>;

const invitationsOf = (model: Model) =>
  model.invitations.map((invitation) => {
    const { id, endsAt } = invitation;
    return { id, status: model.statusOf(invitation), ends: endsAt - model.travelledMs };
  });

const membersOf = ({ teams }: Model) =>
  teams.flatMap(({ id: team, members }) => Array.from(members, ([{ id }, role]) => ({ id, team, role })));

const keysOf = ({ users }: Model) =>
  users.flatMap(({ keys }) =>
    keys.map(({ id, secret, revoked }) => ({ id, revoked, hash: createHash("sha256").update(secret).digest("hex") })),
  );

/** The model learns of a result so much later than it is stored, at most. */
const LEARNT_MS = 30_000;

/** How many results are kept of each user; and the users of whom one may have ended, who are left out. */
function resultsOf(model: Model) {
  const live = model.kept.flatMap(({ user: { id }, keptAt }) => {
    const msLeft = keptAt + KEPT_MS - model.now();
    return msLeft > 0 ? [{ id, msLeft }] : [];
  });
  const unclear = new Set(live.filter(({ msLeft }) => msLeft < LEARNT_MS).map(({ id }) => id));
  const users = [...new Set(live.map(({ id }) => id))].filter((id) => !unclear.has(id));
  return { unclear, results: users.map((id) => ({ id, count: live.filter((result) => result.id === id).length })) };
}
