import { expect, it, vi } from "vitest";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { forgetAbandonedGraph } from "../../../src/features/memories/abandoned-graphs.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { myTeam } from "../../../src/features/teams/get-team.js";
import { ask } from "../../support/http.js";
import { aLink, aMemory, memoriesTitled } from "../../support/memories.js";
import { columnsWith } from "../../support/tables.js";
import { aTeam, anInvitee, brokenInvariants } from "../../support/teams.js";
import { type World, createWorld } from "../../support/world.js";

it("deletes memberships, invitations and the team's graph, and keeps personal graphs", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { teamId, owner, admin, member } = staff;
  const { actor, token } = await anInvitee(world, staff);
  const own = await aMemory(member, { graph: "personal" });
  const [one, two] = await memoriesTitled(member, "One", "Two");
  await aLink(admin, one, two);

  await owner.did(deleteTeam, { teamId });

  expect(await owner.does(deleteTeam, { teamId })).toBeRefused("not_found");
  for (const one of [owner, admin, member]) expect(await one.does(myTeam)).toBeRefused("not_found", "no_team");
  expect(await actor.does(acceptInvitation, { token })).toBeRefused("not_found", "no_such_invitation");
  expect(await member.does(memory, { id: one.id })).toBeRefused("not_found");
  expect(await member.does(memory, { id: one.id, graph: "team" })).toBeRefused("not_found", "no_team");
  expect(await member.did(memory, { id: own.id })).toMatchObject({ title: own.title });
  await emptyGraphs(world);
  expect(await leftOf(world)).toEqual({ memories: 1, relationships: 0, abandoned: 0 });
  expect(await columnsWith(world.database.pool, actor.email)).toEqual(["user_account.email"]);
  expect(await member.did(createTeam, { name: "Another", maxMembers: 5 })).toMatchObject({ memberCount: 1 });
  expect(await brokenInvariants(world)).toEqual([]);
});

it("does not wait for its graph, which nobody can reach any more and which is deleted in the background", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  await fillGraph(world, teamId, 5_000);

  await owner.did(deleteTeam, { teamId });

  expect(await leftOf(world)).toEqual({ memories: 5_000, relationships: 4_999, abandoned: 1 });
  expect((await owner.did(memories)).memories).toEqual([]);
  expect(await owner.does(memories, { graph: "team" })).toBeRefused("not_found", "no_team");
  const { url } = await world.serve();
  await vi.waitFor(async () => expect(await leftOf(world)).toEqual({ memories: 0, relationships: 0, abandoned: 0 }), {
    timeout: 60_000,
    interval: 100,
  });
  expect((await ask(`${url}/teams/${teamId}`, { key: owner.key })).status).toBe(404);
  expect(world.bugs).toEqual([]);
});

it("is finished by another server when the first stops in between", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  await fillGraph(world, teamId, 5_000);
  await owner.did(deleteTeam, { teamId });

  for (let batch = 0; batch < 6; batch++) await forgetAbandonedGraph(world.services);

  expect(await leftOf(world)).toEqual({ memories: 4_000, relationships: 0, abandoned: 1 });
  await world.serve();
  await vi.waitFor(async () => expect(await leftOf(world)).toEqual({ memories: 0, relationships: 0, abandoned: 0 }), {
    timeout: 60_000,
    interval: 100,
  });
});

it("deletes a limited number of rows at a time, even for a memory with many relationships", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  const one = await aMemory(owner);
  const { graphId, id } = one;
  await world.database.pool.query(
    `INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, tags, importance, changed_by, changed_at)
     SELECT $1, $2, n, 'general', 'A note', 'Something.', '{}', 0.5, $2, now() FROM generate_series(1, 2500) n`,
    [graphId, id],
  );
  await owner.did(deleteTeam, { teamId });
  const counts: number[] = [];

  while (await forgetAbandonedGraph(world.services)) counts.push(await world.database.models.memoryVersion.count());

  expect(counts.slice(0, 3)).toEqual([1_500, 500, 0]);
  expect(await leftOf(world)).toEqual({ memories: 0, relationships: 0, abandoned: 0 });
});

it("is finished by several servers at once, without changes to other graphs", async () => {
  await using world = await createWorld();
  const [gone, kept] = [await aTeam(world), await aTeam(world)];
  await fillGraph(world, gone.teamId, 3_000);
  await fillGraph(world, kept.teamId, 10);
  await gone.owner.did(deleteTeam, { teamId: gone.teamId });

  await Promise.all([emptyGraphs(world), emptyGraphs(world), emptyGraphs(world)]);

  expect(await leftOf(world)).toEqual({ memories: 10, relationships: 9, abandoned: 0 });
});

it("does not wait for a request that still stores something there, and deletes that, too", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  const { graphId } = await aMemory(owner);
  await owner.did(deleteTeam, { teamId });
  const other = await world.database.pool.connect();
  await other.query("BEGIN");
  await other.query("SELECT FROM graph_root WHERE graph_id = $1 FOR KEY SHARE", [graphId]);

  const claims = await Promise.all([forgetAbandonedGraph(world.services), forgetAbandonedGraph(world.services)]);
  await other.query("COMMIT");
  other.release();

  expect(claims).toEqual([false, false]);
  await emptyGraphs(world);
  expect(await leftOf(world)).toEqual({ memories: 0, relationships: 0, abandoned: 0 });
});

it("is finished even if a crash of one of two nodes left the graph without its root row", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  await owner.did(deleteTeam, { teamId });
  await world.database.pool.query(
    "DELETE FROM graph_root r USING graph g WHERE g.id = r.graph_id AND g.user_id IS NULL",
  );

  await Promise.all([emptyGraphs(world), emptyGraphs(world), emptyGraphs(world)]);

  expect(await leftOf(world)).toEqual({ memories: 0, relationships: 0, abandoned: 0 });
});

/** Runs the chore until there is nothing left to do. */
async function emptyGraphs({ services }: World): Promise<void> {
  while (await forgetAbandonedGraph(services));
}

/** Inserts a chain of memories into a team's graph, without the service. */
async function fillGraph({ database }: World, teamId: string, count: number): Promise<void> {
  await database.pool.query(
    `WITH made AS (
       INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
       SELECT g.id, gen_random_uuid(), 'general', 'Note ' || n, 'Something.', '{}', t.owner_id, now(), t.owner_id, now()
       FROM team t JOIN graph g ON g.team_id = t.id, generate_series(1, $2::int) AS n WHERE t.id = $1
       RETURNING graph_id, id, created_by
     ), chained AS (
       SELECT *, lead(id) OVER (ORDER BY id) AS next FROM made
     )
     INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     SELECT graph_id, gen_random_uuid(), id, next, 'FOLLOWS', created_by, now() FROM chained WHERE next IS NOT NULL`,
    [teamId, count],
  );
}

interface Left {
  readonly memories: number;
  readonly relationships: number;
  readonly abandoned: number;
}

async function leftOf({ database }: World): Promise<Left> {
  const { rows } = await database.pool.query<Left>(
    `SELECT (SELECT count(*)::int FROM memory) AS memories, (SELECT count(*)::int FROM relationship) AS relationships,
       (SELECT count(*)::int FROM graph WHERE user_id IS NULL AND team_id IS NULL) AS abandoned`,
  );
  const [left] = rows;
  if (!left) throw new Error("A count answered nothing.");
  return left;
}
