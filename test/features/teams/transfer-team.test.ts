import { expect, it } from "vitest";
import { suspendUser, unsuspendUser } from "../../../src/features/accounts/manage-user.js";
import { teamMembers } from "../../../src/features/teams/members/list-members.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { team } from "../../../src/features/teams/get-team.js";
import { leaveTeam } from "../../../src/features/teams/leave-team.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { ACCOUNT } from "../../../src/surfaces/navigation.js";
import { aTeam, brokenInvariants } from "../../support/teams.js";
import { type Actor, createWorld } from "../../support/world.js";

it("makes a member the owner and the owner an admin, who can then leave but not delete", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin, member } = await aTeam(world);

  const moved = await owner.did(transferTeam, { teamId, userId: member.caller.userId });

  expect(moved).toMatchObject({ id: teamId, ownerId: member.caller.userId, memberCount: 3 });
  const { members } = await member.did(teamMembers, { teamId });
  const roleOf = ({ caller }: Actor) => members.find(({ userId }) => userId === caller.userId)?.role;
  expect([owner, admin, member].map(roleOf)).toEqual(["admin", "admin", "owner"]);
  expect(await owner.does(deleteTeam, { teamId })).toBeRefused("forbidden", "role_too_small");
  await owner.did(leaveTeam, { teamId });
  expect(await member.does(leaveTeam, { teamId })).toBeRefused("conflict", "owner_must_transfer");
  expect(await brokenInvariants(world)).toEqual([]);
});

it("refuses anybody but another member, and then changes nothing", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  const stranger = await world.user();
  const another = await aTeam(world);
  const to = (userId: unknown) => owner.does(transferTeam, { teamId, userId });

  expect(await to(owner.caller.userId)).toBeRefused("bad_request");
  expect(await to(owner.caller.userId.toUpperCase())).toBeRefused("bad_request");
  expect(await to(stranger.caller.userId)).toBeRefused("not_found", "no_such_member");
  expect(await to(another.member.caller.userId)).toBeRefused("not_found", "no_such_member");
  expect(await to(world.services.newId())).toBeRefused("not_found", "no_such_member");
  expect(await to("not an id")).toBeRefused("not_found", "no_such_member");
  for (const nonsense of [undefined, null, 5, [another.member.caller.userId]]) {
    expect(await to(nonsense)).toBeRefused("bad_request");
  }

  const { members } = await owner.did(teamMembers, { teamId });
  expect(members.filter(({ role }) => role === "owner").map(({ userId }) => userId)).toEqual([owner.caller.userId]);
  expect(await brokenInvariants(world)).toEqual([]);
});

it("refuses a member who is suspended, and so could not manage the team", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world);
  const { userId } = member.caller;
  await suspendUser(world.services, member.email);

  expect(await owner.does(transferTeam, { teamId, userId })).toBeRefused("conflict", "member_suspended");
  expect(await owner.did(team, { teamId })).toMatchObject({ ownerId: owner.caller.userId });

  await unsuspendUser(world.services, member.email);
  expect(await owner.did(transferTeam, { teamId, userId })).toMatchObject({ ownerId: userId });
});

it("tells the new owner by mail, and nobody if it is refused", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world);
  const stranger = await world.user();
  const mails = () => world.database.models.mail.findMany({ where: { kind: "notice" } });
  await owner.does(transferTeam, { teamId, userId: stranger.caller.userId });
  expect(await mails()).toEqual([]);

  await owner.did(transferTeam, { teamId, userId: member.caller.userId });
  await owner.does(transferTeam, { teamId, userId: member.caller.userId });

  const [mail, ...others] = await mails();
  expect(mail).toMatchObject({ email: member.email, subject: "You are now the owner of your team on Memory Graph" });
  expect(mail?.body).toContain("The owner of your team has made you the owner");
  expect(mail?.body?.match(/https?:.*/g)).toEqual([world.services.publicUrl() + ACCOUNT.path]);
  expect(others).toEqual([]);
});
