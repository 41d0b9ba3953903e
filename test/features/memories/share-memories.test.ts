import { expect, it } from "vitest";
import { restoreMemories } from "../../../src/features/bulk/restore-memories.js";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memoryVersions } from "../../../src/features/memories/list-memory-versions.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { createRelationship } from "../../../src/features/relationships/create-relationship.js";
import { removeMember } from "../../../src/features/teams/members/remove-member.js";
import { LIMITS } from "../../../src/limits.js";
import { ask, requestsLeft } from "../../support/http.js";
import { waitingForLocks } from "../../support/locks.js";
import {
  aLink,
  aMemory,
  everythingSaid,
  everythingSaidOfLink,
  manyLinks,
  manyMemories,
  miscounted,
} from "../../support/memories.js";
import { listenTo } from "../../support/statements.js";
import { aTeam, manyOf } from "../../support/teams.js";
import { type Actor, createWorld } from "../../support/world.js";

const TIME = "2020-01-01T00:00:00.000Z";
const PERSONAL = { graph: "personal" };
const own = (actor: Actor, title = "Own") => aMemory(actor, { title, ...PERSONAL });

it("moves memories and their links into the team's graph, and shows the team no earlier versions", async () => {
  await using world = await createWorld();
  const { owner, member } = await aTeam(world);
  const [one, two, kept] = [await own(member, "One"), await own(member, "Two"), await own(member, "Kept")];
  const link = await aLink(member, one, two, { ...PERSONAL, relationshipType: "SOLVES", strength: 0.9 });
  await member.did(updateMemory, { id: one.id, title: "One, changed", ...PERSONAL });

  const moved = await member.did(shareMemories, { ids: [one.id, two.id, one.id.toUpperCase()] });

  expect(moved).toEqual({ memories: 2, relationships: 1, droppedRelationships: 0, droppedVersions: 1 });
  expect(await owner.did(memory, { id: one.id })).toMatchObject({
    title: "One, changed",
    version: 2,
    createdBy: member.caller.userId,
    createdAt: one.createdAt,
    relationships: [{ relationshipId: link.id, type: "SOLVES", strength: 0.9, memory: { id: two.id } }],
  });
  const { versions } = await owner.did(memoryVersions, { id: one.id });
  expect(versions.map(({ title }) => title)).toEqual(["One, changed"]);
  expect(await world.database.models.memoryVersion.count({ where: { memoryId: one.id } })).toBe(0);
  expect((await owner.did(searchMemories, { query: "changed" })).memories).toMatchObject([{ memoryId: one.id }]);
  expect((await member.did(memories, PERSONAL)).memories.map(({ id }) => id)).toEqual([kept.id]);
  expect(await member.does(memory, { id: one.id, ...PERSONAL })).toBeRefused("not_found");
  expect(await owner.does(memory, { id: kept.id })).toBeRefused("not_found");
});

it("keeps every column of memories and relationships", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const from = await aMemory(member, { ...everythingSaid("one", 0.9), ...PERSONAL });
  await member.did(updateMemory, { id: from.id, title: "Changed", ...PERSONAL });
  await aLink(member, from, await own(member), { ...everythingSaidOfLink("one", 0.9), ...PERSONAL });
  const rows = async () => {
    const { rows: found } = await world.database.pool.query<{ row: object }>(
      `SELECT to_jsonb(m) - 'graph_id' AS row FROM memory m WHERE id = $1
       UNION ALL SELECT to_jsonb(r) - 'graph_id' FROM relationship r WHERE from_id = $1`,
      [from.id],
    );
    return found.map(({ row }) => row);
  };
  const before = await rows();

  await member.did(shareMemories, { all: true });

  expect(before.flatMap((row) => Object.values(row))).not.toContain(null);
  expect(await rows()).toEqual(before);
});

it("moves all memories if requested, also repeatedly", async () => {
  await using world = await createWorld();
  const { owner, member } = await aTeam(world);
  const chain = await manyOf(4, (index) => own(member, `Note ${index}`));
  for (const [index, from] of chain.entries()) {
    const to = chain[index + 1];
    if (to) await aLink(member, from, to, PERSONAL);
  }

  const first = await member.did(shareMemories, { all: true });
  const second = await member.did(shareMemories, { all: true });

  expect(first).toEqual({ memories: 4, relationships: 3, droppedRelationships: 0, droppedVersions: 0 });
  expect(second).toEqual({ memories: 0, relationships: 0, droppedRelationships: 0, droppedVersions: 0 });
  expect((await owner.did(memories)).memories).toHaveLength(4);
});

it("refuses to lose relationships, says how many, and drops them only if requested", async () => {
  await using world = await createWorld();
  const { owner, member } = await aTeam(world);
  const [shared, also, kept] = [await own(member, "Shared"), await own(member, "Also"), await own(member, "Kept")];
  await aLink(member, shared, kept, PERSONAL);
  await aLink(member, kept, also, PERSONAL);
  await aLink(member, shared, also, PERSONAL);
  const ids = [shared.id, also.id];

  const refused = await member.does(shareMemories, { ids });
  expect(refused).toBeRefused("conflict", "relationships_would_be_lost");
  expect(!refused.ok && refused.failure.details).toEqual({ relationships: 2 });
  expect(await member.did(memory, { id: shared.id, ...PERSONAL })).toMatchObject({ relationshipsTotal: 2 });

  const moved = await member.did(shareMemories, { ids, dropRelationships: true });
  expect(moved).toEqual({ memories: 2, relationships: 1, droppedRelationships: 2, droppedVersions: 0 });
  expect(await owner.did(memory, { id: shared.id })).toMatchObject({ relationshipsTotal: 1 });
  expect(await member.did(memory, { id: kept.id, ...PERSONAL })).toMatchObject({ relationshipsTotal: 0 });
});

it("moves and drops no more relationships at once than its limit, and does not lock more", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const created = (await manyMemories(world, member, 1_005)).map(({ id }) => id).sort();
  const [hubs, others] = [created.slice(0, 5), created.slice(5)];
  for (let type = 0; type < LIMITS.bulk.relationshipsRemoved / 2 / 1_000; type++) {
    const pairs = hubs.flatMap((hub) => others.map((id) => [hub, id] as const));
    await manyLinks(world, member, pairs, `TYPE_${type}`);
  }
  using ear = listenTo(world);

  // All relationships join two of them, or none does.
  for (const choice of [{ all: true }, { ids: hubs.slice(0, 3) }]) {
    const verdict = await member.does(shareMemories, { ...choice, dropRelationships: true });
    expect(verdict).toBeRefused("conflict", "too_many_memories");
  }
  expect(ear.heard(/measure_memories/)).toEqual([]);
  expect(await member.did(shareMemories, { ids: hubs.slice(0, 2), dropRelationships: true })).toMatchObject({
    memories: 2,
    droppedRelationships: LIMITS.bulk.relationshipsRemoved,
  });
});

it("moves all requested memories or none", async () => {
  await using world = await createWorld();
  const { owner, member } = await aTeam(world);
  const [mine, theirs, shared] = [await own(member), await own(owner), await aMemory(member, { graph: "team" })];

  for (const id of [theirs.id, shared.id, world.services.newId(), "no id"]) {
    expect(await member.does(shareMemories, { ids: [mine.id, id] })).toBeRefused("not_found");
  }

  expect((await member.did(memories, PERSONAL)).memories.map(({ id }) => id)).toEqual([mine.id]);
  expect(await owner.did(memory, { id: theirs.id, ...PERSONAL })).toMatchObject({ id: theirs.id });
});

it("refuses a memory that was also restored into the team's graph", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const { id } = await own(member);
  const record = { id, type: "general", title: "Own", content: "Restored.", createdAt: TIME, updatedAt: TIME };
  await member.did(restoreMemories, { memories: [record], graph: "team" });

  expect(await member.does(shareMemories, { ids: [id] })).toBeRefused("conflict", "memory_exists");

  expect((await member.did(memory, { id, ...PERSONAL })).content).toBe("Something.");
  expect((await member.did(memory, { id })).content).toBe("Restored.");
});

it("needs a team, and either `ids` or `all`", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const loner = await world.user();
  const { id } = await own(member);

  expect(await loner.does(shareMemories, { all: true })).toBeRefused("not_found", "no_team");
  for (const neither of [
    {},
    { all: false },
    { ids: [id], all: true },
    { ids: [] },
    { ids: id },
    { all: null },
    { ids: [null] },
  ]) {
    expect(await member.does(shareMemories, neither), JSON.stringify(neither)).toBeRefused("bad_request");
  }
  const tooMany = Array.from({ length: 2_001 }, () => id);
  expect(await member.does(shareMemories, { ids: tooMany })).toBeRefused("bad_request");
});

it("moves two thousand at once, and refuses one more", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const [first] = await manyMemories(world, member, 2_001);

  expect(await member.does(shareMemories, { all: true })).toBeRefused("conflict", "too_many_memories");
  await member.did(deleteMemory, { id: first?.id, ...PERSONAL });

  expect(await member.did(shareMemories, { all: true })).toMatchObject({ memories: 2_000 });
  const elsewhere = { graphId: { not: member.caller.personalGraphId } };
  expect(await world.database.models.memory.count({ where: elsewhere })).toBe(2_000);
});

it("loses no relationship that is created at the same moment: it exists in one graph, or was refused", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const hub = await own(member, "Hub");

  for (let round = 0; round < 25; round++) {
    const spokes = await manyOf(4, () => own(member));
    const [shared, ...links] = await Promise.all([
      member.does(shareMemories, { ids: spokes.map(({ id }) => id) }),
      ...spokes.map(({ id }) =>
        member.does(createRelationship, {
          fromMemoryId: hub.id,
          toMemoryId: id,
          relationshipType: "CAUSES",
          ...PERSONAL,
        }),
      ),
    ]);

    const linked = links.filter(({ ok }) => ok).length;
    // Either all moved and no link was created, or a link came first and kept all of them in place.
    if (shared.ok) expect([shared.output.memories, linked]).toEqual([4, 0]);
    else expect(shared).toBeRefused("conflict", "relationships_would_be_lost");
    for (const link of links) if (!link.ok) expect(link).toBeRefused("not_found");
    expect(await member.did(memory, { id: hub.id, ...PERSONAL })).toMatchObject({ relationshipsTotal: linked });
    await world.database.pool.query("DELETE FROM relationship");
  }
});

it.each([
  ["is deleted", "DELETE FROM team WHERE id = $1"],
  ["is left", "DELETE FROM team_member WHERE team_id = $1 AND role = 'member'"],
])("leaves everything where it is when the team %s at the same moment", async (_fate, change) => {
  await using world = await createWorld();
  const { teamId, member } = await aTeam(world);
  const { id } = await own(member);
  const connection = await world.database.pool.connect();

  await connection.query("BEGIN");
  await connection.query("SELECT id FROM team WHERE id = $1 FOR UPDATE", [teamId]);
  await connection.query(change, [teamId]);
  const sharing = member.does(shareMemories, { all: true });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await connection.query("COMMIT");
  connection.release();

  expect(await sharing).toBeRefused("not_found", "no_team");
  expect(await member.did(memory, { id })).toMatchObject({ id });
});

it("moves no memory that lost the client id by which it was named at the same moment", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const [named, other] = [await own(member), await own(member)];
  await member.did(updateMemory, { id: named.id, clientId: "one", ...PERSONAL });
  const connection = await world.database.pool.connect();
  await connection.query("BEGIN");
  await connection.query("UPDATE memory SET client_id = NULL WHERE id = $1", [named.id]);
  await connection.query("UPDATE memory SET client_id = 'one' WHERE id = $1", [other.id]);

  const sharing = member.does(shareMemories, { ids: ["one"] });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await connection.query("COMMIT");
  connection.release();

  expect(await sharing).toBeRefused("not_found");
  for (const { id } of [named, other]) expect(await member.did(memory, { id, ...PERSONAL })).toMatchObject({ id });
});

it("moves and counts a memory once when it is shared twice at the same moment", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { owner } = staff;
  await aMemory(owner, { graph: "personal" });
  const holder = await world.database.pool.connect();
  await holder.query("BEGIN");
  await holder.query("SELECT FROM memory FOR UPDATE");

  const both = Promise.all([owner.did(shareMemories, { all: true }), owner.did(shareMemories, { all: true })]);
  await expect.poll(() => waitingForLocks(world)).toBe(2);
  await holder.query("COMMIT");
  holder.release();

  expect((await both).map(({ memories }) => memories).toSorted()).toEqual([0, 1]);
  expect(await miscounted(world)).toEqual([]);
});

it("holds up no change of the team while it copies: a member may be removed meanwhile, who then moves nothing", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world);
  const { id } = await own(member);
  const { userId } = member.caller;
  const holder = await world.database.pool.connect();
  await holder.query("BEGIN");
  // The last that a share changes.
  await holder.query(
    "SELECT FROM graph_usage u JOIN graph g ON g.id = u.graph_id WHERE g.team_id = $1 FOR UPDATE OF u",
    [teamId],
  );

  const sharing = member.does(shareMemories, { all: true });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await owner.did(removeMember, { teamId, userId });
  await holder.query("COMMIT");
  holder.release();

  expect(await sharing).toBeRefused("not_found", "no_team");
  expect(await member.did(memory, { id })).toMatchObject({ id });
  expect(await miscounted(world)).toEqual([]);
});

it("moves no more text than it can copy in time, and counts as requests by its size", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { member } = await aTeam(world);
  const { bytesPerRequest, sharedBytes } = LIMITS.bulk;
  const rows = await manyMemories(world, member, 1 + sharedBytes / bytesPerRequest, "Text".repeat(bytesPerRequest / 4));
  const ids = rows.slice(0, 3).map(({ id }) => id);
  const share = async (body: object) => {
    const answer = await ask(`${url}/v1/memories/share`, { key: member.key, body });
    return { answer: answer.body, left: requestsLeft(answer) };
  };

  const all = await share({ all: true });
  const some = await share({ ids });

  expect(all.answer).toMatchObject({ error: { code: "conflict", reason: "too_many_memories" } });
  expect(some.answer).toMatchObject({ memories: 3 });
  // The titles make it a little more than three times as much.
  expect(all.left - some.left).toBe(4);
});

it("copies nothing into a team's graph that has no room for the texts", async () => {
  const full = { memories: 10, bytes: 1_000 };
  await using world = await createWorld({ storage: { free: full, pro: full, team: full } });
  const { member } = await aTeam(world);
  await manyMemories(world, member, 2, "Text".repeat(150));
  using ear = listenTo(world);
  const { url } = await ear.serve();

  const answer = await ask(`${url}/v1/memories/share`, { key: member.key, body: { all: true } });

  expect(answer.body).toMatchObject({ error: { reason: "graph_full" } });
  expect(ear.heard(/INSERT INTO memory /)).toEqual([]);
});

it("says where one's own memories are found, since searches look in the team's graph", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);
  const shared = await aMemory(member);

  const message = expect.stringMatching(/^No memory of your own graph has the id at ids\.0\. .* the personal `graph` /);
  expect(await member.does(shareMemories, { ids: [shared.id] })).toMatchObject({ failure: { message } });
});
