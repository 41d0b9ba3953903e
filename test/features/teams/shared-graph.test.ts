import { expect, it } from "vitest";
import { removeMember } from "../../../src/features/teams/members/remove-member.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { relationships } from "../../../src/features/relationships/list-relationships.js";
import type { Operation } from "../../../src/operation/operation.js";
import { cursorOf } from "../../../src/operation/page.js";
import { leaveTeam } from "../../../src/features/teams/leave-team.js";
import { ask } from "../../support/http.js";
import { aLink, aMemory, memoriesTitled } from "../../support/memories.js";
import { aTeam, anInvitee } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

it("is the default graph of every member", async () => {
  await using world = await createWorld();
  const { owner, admin, member } = await aTeam(world);

  const [one, two] = await memoriesTitled(owner, "One", "Two");
  await aLink(admin, one, two);
  await member.did(updateMemory, { id: one.id, title: "Changed" });

  expect(await admin.did(memory, { id: one.id })).toMatchObject({ title: "Changed", relationshipsTotal: 1 });
  expect((await member.did(memories)).memories).toHaveLength(2);
  expect((await member.did(searchMemories, { query: "changed" })).memories).toMatchObject([{ memoryId: one.id }]);
  expect(await member.did(memory, { id: one.id, graph: "team" })).toMatchObject({ createdBy: owner.caller.userId });
});

it("keeps personal graphs available by name", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, token } = await anInvitee(world, staff);
  const { url } = await world.serve();
  const own = await aMemory(actor, { title: "Before joining" });
  const path = `${url}/v1/memories/${own.id}`;

  const accepted = await ask(`${url}/teams/invitations/${token}/accept`, { key: actor.key, method: "POST" });
  const asked = [path, `${path}?graph=personal`, `${path}?graph=team`].map((url) => ask(url, { key: actor.key }));

  expect(accepted.status).toBe(200);
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([404, 200, 404]);
  expect(await staff.owner.does(memory, { id: own.id })).toBeRefused("not_found");
  const other = await aMemory(actor, { graph: "personal" });
  expect((await actor.did(memories, { graph: "personal" })).memories.map(({ id }) => id)).toEqual([other.id, own.id]);
  expect((await actor.did(memories)).memories).toEqual([]);
});

const LISTS = [
  { list: memories, filter: {} },
  { list: memories, filter: { types: ["general"] } },
  { list: relationships, filter: {} },
  { list: relationships, filter: { types: ["RELATED_TO"] } },
].map(({ list, filter }) => ({ list: list as Operation<object, { nextCursor: string | null }>, filter }));

it("goes on with a list in the graph in which it began, also when its reader joins or leaves a team meanwhile", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world);
  // The team's are neither the oldest nor the newest.
  for (const [actor, graph] of [
    [member, "personal"],
    [owner, "team"],
    [member, "personal"],
  ] as const) {
    const [one, two] = [await aMemory(actor, { graph }), await aMemory(actor, { graph })];
    await aLink(actor, one, two, { graph });
    await aLink(actor, two, one, { graph });
  }
  const begin = () =>
    Promise.all(LISTS.map(async ({ list, filter }) => (await member.did(list, { ...filter, limit: 1 })).nextCursor));
  const goOn = (cursors: readonly unknown[], graph?: string) =>
    Promise.all(
      LISTS.map(({ list, filter }, index) => member.does(list, { ...filter, cursor: cursors[index], graph })),
    );
  const refused = { ok: false, failure: { message: expect.stringContaining("is of another graph") } };

  const ofTeam = await begin();
  await member.did(leaveTeam, { teamId });
  expect(await goOn(ofTeam)).toMatchObject(LISTS.map(() => refused));

  const own = await begin();
  const before = await goOn(own);
  await world.seat(member, teamId);
  expect(before).toMatchObject(LISTS.map(() => ({ ok: true })));
  expect(await goOn(own)).toEqual(before);
  expect(await goOn(own, "team")).toMatchObject(LISTS.map(() => refused));
  expect(await goOn(ofTeam)).toMatchObject(LISTS.map(() => ({ ok: true })));
});

it("takes cursors of earlier versions, which have no graph", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first, second] = await memoriesTitled(ann, "First", "Second", "Third");

  const { memories: rest } = await ann.did(memories, { cursor: cursorOf("memories", second.id) });

  expect(rest.map(({ id }) => id)).toEqual([first.id]);
});

it.each(["leaving", "removal"])(
  "refuses a former member from the next request after %s, at every server",
  async (way) => {
    await using world = await createWorld();
    const { teamId, owner, member } = await aTeam(world);
    const [here, there] = [await world.serve(), await world.serve()];
    const shared = await aMemory(owner);
    const read = (url: string, graph = "") => ask(`${url}/v1/memories/${shared.id}${graph}`, { key: member.key });
    const write = (url: string) =>
      ask(`${url}/v1/memories/${shared.id}`, { key: member.key, method: "PATCH", body: { title: "Mine" } });
    const before = [await read(here.url), await read(there.url)];

    const gone =
      way === "leaving"
        ? await ask(`${here.url}/teams/${teamId}/leave`, { key: member.key, method: "POST" })
        : await ask(`${here.url}/teams/${teamId}/members/${member.caller.userId}`, {
            key: owner.key,
            method: "DELETE",
          });
    const after = [
      await read(here.url),
      await read(there.url),
      await read(there.url, "?graph=team"),
      await write(there.url),
      await ask(`${there.url}/teams/${teamId}`, { key: member.key }),
    ];

    expect(before.map(({ status }) => status)).toEqual([200, 200]);
    expect(gone.status).toBe(204);
    expect(after.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect(await owner.did(memory, { id: shared.id })).toMatchObject({ title: shared.title, version: 1 });
  },
);

it("keeps what former members wrote", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin, member } = await aTeam(world);
  const [byMember, byAdmin] = [await aMemory(member), await aMemory(admin)];

  await member.did(leaveTeam, { teamId });
  await owner.did(removeMember, { teamId, userId: admin.caller.userId });

  for (const { id, createdBy } of [byMember, byAdmin]) {
    expect(await owner.did(memory, { id })).toMatchObject({ id, createdBy });
  }
});
