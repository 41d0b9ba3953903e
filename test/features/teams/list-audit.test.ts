import { expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { revokeInvitation } from "../../../src/features/teams/invitations/revoke-invitation.js";
import { removeMember } from "../../../src/features/teams/members/remove-member.js";
import { updateMemberRole } from "../../../src/features/teams/members/update-member-role.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { leaveTeam } from "../../../src/features/teams/leave-team.js";
import { type AuditEntry, teamAudit } from "../../../src/features/teams/list-audit.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { DAY_MS } from "../../../src/durations.js";
import { ask } from "../../support/http.js";
import { callTool } from "../../support/mcp.js";
import { aMemory } from "../../support/memories.js";
import { rowsRead } from "../../support/rows-read.js";
import { aTeam, anInvitee, manyOf } from "../../support/teams.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

it("shows who did what to whom, with which key and at which door", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const bob = await world.user();
  const { id: secondKeyId, key: secondKey } = await ann.did(createApiKey, { name: "Second" });
  const query = "mutation($input: CreateTeamInput!) { createTeam(input: $input) { id } }";
  const variables = { input: { name: "Team", maxMembers: 5 } };

  const made = await ask(`${url}/graphql`, { key: secondKey, body: { query, variables } });
  const { id: teamId } = (made.body as { data: { createTeam: { id: string } } }).data.createTeam;
  const { id: invitationId } = await ann.did(inviteMember, { teamId, email: bob.email, role: "member" });
  await world.giveToken(invitationId, "token");
  await bob.did(acceptInvitation, { token: "token" });
  await ann.did(updateMemberRole, { teamId, userId: bob.caller.userId, role: "admin" });
  await ann.did(updateTeam, { teamId, maxMembers: 6 });
  const { id: memoryId } = await aMemory(bob);
  await callTool(url, bob.key, "delete_memory", { id: memoryId });
  await ann.did(removeMember, { teamId, userId: bob.caller.userId });

  const { events } = await ann.did(teamAudit, { teamId });
  const told = events.toReversed().map(({ id: _id, createdAt: _createdAt, ...rest }) => rest);
  const [byAnn, byBob] = [ann, bob].map(({ caller }) => ({
    actorId: caller.userId,
    keyId: caller.keyId,
    door: "rest",
    teamId,
  }));
  expect(told).toEqual([
    { ...byAnn, keyId: secondKeyId, door: "graphql", action: "createTeam", subject: teamId, detail: "max_members: 5" },
    { ...byAnn, action: "inviteMember", subject: invitationId, detail: `${bob.email}, role: member` },
    { ...byBob, action: "acceptInvitation", subject: invitationId, detail: "role: member" },
    { ...byAnn, action: "updateMemberRole", subject: bob.caller.userId, detail: "role: member → admin" },
    { ...byAnn, action: "updateTeam", subject: teamId, detail: "max_members: 5 → 6" },
    { ...byBob, door: "mcp", action: "deleteMemory", subject: memoryId, detail: null },
    { ...byAnn, action: "removeMember", subject: bob.caller.userId, detail: null },
  ]);
});

it("shows deleted memories of the team's graph, and none of personal graphs", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world);
  const own = await aMemory(member, { graph: "personal" });
  const shared = await aMemory(member, { graph: "team" });

  await member.did(deleteMemory, { id: own.id, graph: "personal" });
  await member.did(deleteMemory, { id: shared.id });
  await member.did(leaveTeam, { teamId });
  const later = await aMemory(member);
  await member.did(deleteMemory, { id: later.id });

  const { events } = await owner.did(teamAudit, { teamId, action: "deleteMemory" });
  expect(events).toMatchObject([{ subject: shared.id, actorId: member.caller.userId }]);
});

it("has no entry for a failed change, and lets no change succeed without its entry", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world, { maxMembers: 3 });
  const { teamId, owner, admin, member } = staff;
  const before = await entries(world);

  const refused = [
    await owner.does(inviteMember, { teamId, email: "carol@example.com", role: "member" }),
    await owner.does(updateTeam, { teamId, maxMembers: 1 }),
    await admin.does(removeMember, { teamId, userId: owner.caller.userId }),
    await owner.does(leaveTeam, { teamId }),
    await owner.does(transferTeam, { teamId, userId: world.services.newId() }),
    await member.does(createTeam, { name: "Mine", maxMembers: 5 }),
    await owner.does(revokeInvitation, { teamId, invitationId: teamId }),
  ];
  expect(refused.map(({ ok }) => ok)).toEqual(refused.map(() => false));
  expect(await entries(world)).toEqual(before);

  const removal = () => owner.does(removeMember, { teamId, userId: member.caller.userId });
  await world.database.pool.query(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$;
    CREATE CONSTRAINT TRIGGER at_commit AFTER DELETE ON team_member DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION refuse();`);
  await expect(removal()).rejects.toThrow();
  expect(await entries(world)).toEqual(before);

  await world.database.pool.query(`
    DROP TRIGGER at_commit ON team_member;
    CREATE TRIGGER at_once BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse();`);
  await expect(removal()).rejects.toThrow();
  expect(await world.database.models.teamMember.count({ where: { teamId } })).toBe(3);
});

it("shows each entry once, page by page, while new ones are added", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  await manyOf(24, (index) => owner.did(updateTeam, { teamId, name: `Name ${index}` }));

  const read: AuditEntry[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await owner.did(teamAudit, { teamId, limit: 10, ...(cursor ? { cursor } : {}) });
    read.push(...page.events);
    cursor = page.nextCursor;
    await owner.did(updateTeam, { teamId, name: "Meanwhile" });
  }

  // 24 updates and the creation.
  expect(read).toHaveLength(25);
  expect(new Set(read.map(({ id }) => id)).size).toBe(25);
  expect(read.map(({ id }) => id)).toEqual(
    read
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  );
});

it("can be filtered by operation, user and time", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin } = await aTeam(world);
  await owner.did(updateTeam, { teamId, name: "One" });
  await admin.did(inviteMember, { teamId, email: "carol@example.com", role: "member" });
  const [invited] = (await owner.did(teamAudit, { teamId, action: "inviteMember" })).events;
  const actions = async (filter: object) =>
    (await owner.did(teamAudit, { teamId, ...filter })).events.map(({ action }) => action);
  const at = invited?.createdAt.toISOString();
  await world.database.pool.query(
    "UPDATE audit_entry SET created_at = created_at - interval '1 hour' WHERE action <> 'inviteMember'",
  );

  expect(await actions({})).toEqual(["inviteMember", "updateTeam", "createTeam"]);
  expect(await actions({ action: "updateTeam" })).toEqual(["updateTeam"]);
  expect(await actions({ action: "update" })).toEqual([]);
  expect(await actions({ actorId: admin.caller.userId.toUpperCase() })).toEqual(["inviteMember"]);
  expect(await actions({ actorId: owner.caller.userId })).toEqual(["updateTeam", "createTeam"]);
  expect(await actions({ actorId: "nobody" })).toEqual([]);
  expect(await actions({ createdAfter: at })).toEqual(["inviteMember"]);
  expect(await actions({ createdBefore: at })).toEqual(["updateTeam", "createTeam"]);
  expect(await owner.does(teamAudit, { teamId, cursor: "bm8tcGxhY2U" })).toBeRefused("bad_request");
});

it("reads little more than it shows, however many entries a team has", async () => {
  await using world = await createWorld({ fresh: true });
  const { pool } = world.database;
  const { teamId, owner, admin } = await aTeam(world);
  const [ann, bob] = [owner.caller.userId, admin.caller.userId];
  // One in a minute until now, the actions of each by turns.
  await pool.query(
    `INSERT INTO audit_entry (id, team_id, actor_id, door, action, created_at)
     SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || left(md5(n::text), 20))::uuid,
       $1, CASE n % 2 WHEN 0 THEN $2::uuid ELSE $3::uuid END, 'rest',
       CASE n % 2 WHEN 0 THEN 'updateTeam' ELSE 'leaveTeam' END, at
     FROM generate_series(1, 6000) n,
       LATERAL (SELECT date_trunc('second', now()) - make_interval(mins => n) AS at) times`,
    [teamId, ann, bob],
  );
  // Another team has as many in the last minutes, which an index of times alone would read.
  const other = await aTeam(world);
  await pool.query(
    `INSERT INTO audit_entry (id, team_id, actor_id, door, action, created_at)
     SELECT gen_random_uuid(), $1, $2, 'rest', 'updateTeam', now() - n * interval '0.1 s' FROM generate_series(1, 6000) n`,
    [other.teamId, other.owner.caller.userId],
  );
  await pool.query("ANALYZE audit_entry");
  const lately = new Date(Date.now() - 10.5 * 60_000).toISOString();
  const longAgo = new Date(Date.now() - 4 * DAY_MS).toISOString();
  const filters = [
    { action: "none" },
    { action: "leaveTeam", actorId: ann },
    { actorId: world.services.newId() },
    { action: "none", createdAfter: longAgo },
    { createdAfter: "2100-01-01T00:00:00Z" },
  ];
  // Entries of a day more may be looked through.
  const all = [
    ...filters.map((filter) => ({ filter, found: 0, most: 10 })),
    { filter: { createdBefore: longAgo }, found: 20, most: 1_500 },
    { filter: { createdAfter: lately, action: "updateTeam" }, found: 5, most: 1_500 },
    { filter: { createdAfter: lately, actorId: bob }, found: 5, most: 1_500 },
  ];
  for (const { filter, found, most } of all) {
    for (const _time of PLANNED) {
      const before = await entriesRead(world);
      expect((await owner.did(teamAudit, { teamId, ...filter })).events).toHaveLength(found);
      expect((await entriesRead(world)) - before, JSON.stringify(filter)).toBeLessThan(most);
    }
  }
});

/** PostgreSQL plans the first five executions for their values, and then decides. */
const PLANNED = Array.from({ length: 7 });

async function entriesRead(world: World): Promise<number> {
  await rowsRead(world);
  const { rows } = await world.database.pool.query<{ read: number }>(
    "SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_user_tables WHERE relname = 'audit_entry'",
  );
  return rows[0]?.read ?? 0;
}

it("is separate for each team, and refuses a former admin", async () => {
  await using world = await createWorld();
  const [one, other] = [await aTeam(world), await aTeam(world)];
  await anInvitee(world, other);
  const read = (actor: Actor, teamId: string) => actor.does(teamAudit, { teamId });

  expect(await one.admin.did(teamAudit, { teamId: one.teamId })).toMatchObject({ events: [{ action: "createTeam" }] });
  expect(await read(one.owner, other.teamId)).toBeRefused("not_found");
  await one.owner.did(updateMemberRole, { teamId: one.teamId, userId: one.admin.caller.userId, role: "member" });
  expect(await read(one.admin, one.teamId)).toBeRefused("forbidden", "role_too_small");
});

async function entries({ database }: World): Promise<unknown[]> {
  return (await database.pool.query("SELECT * FROM audit_entry ORDER BY id")).rows;
}
