import { expect, it } from "vitest";
import { teamMembers } from "../../../../src/features/teams/members/list-members.js";
import { ask } from "../../../support/http.js";
import { aTeam, manyOf } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

it("shows every member the others with role and time of joining, and nothing else", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { teamId, owner, admin, member } = await aTeam(world);
  await world.database.models.user.update({ where: { id: admin.caller.userId }, data: { name: "Ann" } });

  const { status, body } = await ask(`${url}/teams/${teamId}/members`, { key: member.key });

  const joined_at = expect.stringMatching(/Z$/) as string;
  expect(status).toBe(200);
  expect(body).toEqual({
    members: [
      { user_id: owner.caller.userId, email: owner.email, name: null, role: "owner", joined_at },
      { user_id: admin.caller.userId, email: admin.email, name: "Ann", role: "admin", joined_at },
      { user_id: member.caller.userId, email: member.email, name: null, role: "member", joined_at },
    ],
    next_cursor: null,
  });
});

it("shows each member once, page by page, while others join and leave", async () => {
  await using world = await createWorld();
  const { teamId, member } = await aTeam(world, { maxMembers: 100 });
  const others = await manyOf(12, () => world.user());
  for (const other of others) await world.seat(other, teamId);

  const read: string[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await member.did(teamMembers, { teamId, limit: 4, ...(cursor ? { cursor } : {}) });
    read.push(...page.members.map(({ userId }) => userId));
    cursor = page.nextCursor;
    await world.seat(await world.user(), teamId);
    const { userId } = others[0]?.caller ?? member.caller;
    await world.database.models.teamMember.deleteMany({ where: { userId } });
  }

  expect(new Set(read).size).toBe(read.length);
  expect(read).toEqual(expect.arrayContaining(others.slice(1).map(({ caller }) => caller.userId)));
  for (const limit of [0, 101]) expect(await member.does(teamMembers, { teamId, limit })).toBeRefused("bad_request");
});
