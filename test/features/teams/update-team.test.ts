import { expect, it } from "vitest";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { team } from "../../../src/features/teams/get-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { aTeam, anInvitee, brokenInvariants } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

it("changes what it is given and leaves the rest", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world, { maxMembers: 5 });

  expect(await owner.did(updateTeam, { teamId, name: "Renamed" })).toMatchObject({ name: "Renamed", maxMembers: 5 });
  expect(await owner.did(updateTeam, { teamId, maxMembers: 3 })).toMatchObject({ name: "Renamed", maxMembers: 3 });

  expect(await member.did(team, { teamId })).toMatchObject({ name: "Renamed", maxMembers: 3, memberCount: 3 });
});

it("refuses what is no change and what no team may be", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  const before = await owner.did(team, { teamId });

  for (const change of [
    {},
    { name: null },
    { name: " " },
    { name: "x".repeat(101) },
    { maxMembers: null },
    { maxMembers: 0 },
    { maxMembers: 1_001 },
    { maxMembers: 4.5 },
    { ownerId: owner.caller.userId, name: "x" },
    { memberCount: 1 },
  ]) {
    expect(await owner.does(updateTeam, { teamId, ...change }), JSON.stringify(change)).toBeRefused("bad_request");
  }

  expect(await owner.did(team, { teamId })).toEqual(before);
});

it("never makes a team smaller than it is, and says how large that is", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);

  const verdict = await owner.does(updateTeam, { teamId, name: "Smaller", maxMembers: 2 });

  expect(verdict).toBeRefused("conflict", "too_many_members");
  expect(!verdict.ok && verdict.failure.details).toEqual({ memberCount: 3 });
  expect(await owner.did(team, { teamId })).toMatchObject({ name: "Team", maxMembers: 10 });
});

it("may make a team too small for those who are invited: they find it full", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, token } = await anInvitee(world, staff);

  await staff.owner.did(updateTeam, { teamId: staff.teamId, maxMembers: 3 });

  expect(await actor.does(acceptInvitation, { token })).toBeRefused("conflict", "team_full");
  await staff.owner.did(updateTeam, { teamId: staff.teamId, maxMembers: 4 });
  expect(await actor.did(acceptInvitation, { token })).toMatchObject({ status: "accepted" });
  expect(await brokenInvariants(world)).toEqual([]);
});
