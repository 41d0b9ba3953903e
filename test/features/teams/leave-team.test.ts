import { expect, it } from "vitest";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { leaveTeam } from "../../../src/features/teams/leave-team.js";
import { myTeam, team } from "../../../src/features/teams/get-team.js";
import { aTeam, brokenInvariants } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

it("frees the seat, which the same person can take again", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin, member } = await aTeam(world, { maxMembers: 3 });

  await member.did(leaveTeam, { teamId });
  await admin.did(leaveTeam, { teamId });

  expect(await owner.did(team, { teamId })).toMatchObject({ memberCount: 1 });
  expect(await member.does(myTeam)).toBeRefused("not_found", "no_team");
  expect(await member.does(leaveTeam, { teamId })).toBeRefused("not_found");
  await owner.did(inviteMember, { teamId, email: member.email, role: "admin" });
  expect(await brokenInvariants(world)).toEqual([]);
});

it("refuses the owner, even without other members", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin, member } = await aTeam(world);

  expect(await owner.does(leaveTeam, { teamId })).toBeRefused("conflict", "owner_must_transfer");
  for (const actor of [admin, member]) await actor.did(leaveTeam, { teamId });
  expect(await owner.does(leaveTeam, { teamId })).toBeRefused("conflict", "owner_must_transfer");

  expect(await owner.did(myTeam)).toMatchObject({ memberCount: 1 });
});
