import { expect, it } from "vitest";
import { removeMember } from "../../../../src/features/teams/members/remove-member.js";
import { createTeam } from "../../../../src/features/teams/create-team.js";
import { myTeam } from "../../../../src/features/teams/get-team.js";
import { aTeam, brokenInvariants } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

it("frees the seat, and lets the removed member create a team", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin, member } = await aTeam(world);
  const removed = { teamId, userId: member.caller.userId };

  expect(await admin.did(removeMember, removed)).toMatchObject({ userId: member.caller.userId, role: "member" });

  expect(await owner.did(myTeam)).toMatchObject({ memberCount: 2 });
  expect(await admin.does(removeMember, removed)).toBeRefused("not_found", "no_such_member");
  expect(await member.does(myTeam)).toBeRefused("not_found", "no_team");
  expect(await member.did(createTeam, { name: "Mine", maxMembers: 2 })).toMatchObject({ memberCount: 1 });
  expect(await brokenInvariants(world)).toEqual([]);
});

it("lets owner and admins remove admins; nobody removes the owner", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin, member } = await aTeam(world);
  const { userId: ownerId } = owner.caller;

  expect(await admin.does(removeMember, { teamId, userId: ownerId })).toBeRefused("forbidden", "owner_is_protected");
  expect(await owner.does(removeMember, { teamId, userId: ownerId })).toBeRefused("conflict", "owner_must_transfer");
  expect(await member.does(removeMember, { teamId, userId: ownerId })).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(removeMember, { teamId, userId: member.caller.userId })).toBeRefused(
    "forbidden",
    "role_too_small",
  );
  expect(await admin.did(removeMember, { teamId, userId: admin.caller.userId })).toMatchObject({ role: "admin" });

  expect(await owner.did(myTeam)).toMatchObject({ memberCount: 2, ownerId });
  expect(await brokenInvariants(world)).toEqual([]);
});

it("refuses users who are not in this team", async () => {
  await using world = await createWorld();
  const [one, other] = [await aTeam(world), await aTeam(world)];
  const { teamId, owner } = one;

  for (const userId of [other.member.caller.userId, world.services.newId(), "nobody", owner.email]) {
    expect(await owner.does(removeMember, { teamId, userId })).toBeRefused("not_found", "no_such_member");
  }
  const intoOther = { teamId: other.teamId, userId: other.member.caller.userId };
  expect(await owner.does(removeMember, intoOther)).toBeRefused("not_found");

  expect(await other.member.did(myTeam)).toMatchObject({ id: other.teamId, memberCount: 3 });
});
