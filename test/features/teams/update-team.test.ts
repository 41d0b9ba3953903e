import { expect, it } from "vitest";
import { team } from "../../../src/features/teams/get-team.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

it("changes the given fields and keeps the rest", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world, { maxMembers: 5 });

  expect(await owner.did(updateTeam, { teamId, name: "Renamed" })).toMatchObject({ name: "Renamed", maxMembers: 5 });
  expect(await owner.did(updateTeam, { teamId, maxMembers: 3 })).toMatchObject({ name: "Renamed", maxMembers: 3 });

  expect(await member.did(team, { teamId })).toMatchObject({ name: "Renamed", maxMembers: 3, memberCount: 3 });
});

it("refuses no change and invalid values", async () => {
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

it("refuses a size below the number of members and invitations, and says this number", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  await owner.did(inviteMember, { teamId, email: "bob@example.com", role: "member" });

  const verdict = await owner.does(updateTeam, { teamId, name: "Smaller", maxMembers: 2 });

  expect(verdict).toBeRefused("conflict", "too_many_members");
  const message = expect.stringContaining("Members and pending invitations take 4 seats.") as string;
  expect(verdict).toMatchObject({ failure: { message } });
  expect(!verdict.ok && verdict.failure.details).toEqual({ memberCount: 3, pendingInvitations: 1 });
  expect(await owner.did(team, { teamId })).toMatchObject({ name: "Team", maxMembers: 10 });
});

it("lets maxMembers alone limit a team whose service no longer has a payment provider", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  await world.database.models.billingAccount.create({
    data: { teamId, subscriptionId: "sub_1", status: "active", seats: 10 },
  });

  expect(await owner.did(updateTeam, { teamId, maxMembers: 20 })).toMatchObject({ maxMembers: 20 });
});
