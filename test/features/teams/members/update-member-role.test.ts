import { expect, it } from "vitest";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { teamAudit } from "../../../../src/features/teams/list-audit.js";
import { teamMembers } from "../../../../src/features/teams/members/list-members.js";
import { updateMemberRole } from "../../../../src/features/teams/members/update-member-role.js";
import { type Staff, aTeam, brokenInvariants } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

it("makes a member an admin and an admin a member, with effect from the next request", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin, member } = await aTeam(world);

  const raised = await admin.did(updateMemberRole, { teamId, userId: member.caller.userId, role: "admin" });
  const lowered = await member.did(updateMemberRole, { teamId, userId: admin.caller.userId, role: "member" });

  expect(raised).toMatchObject({ userId: member.caller.userId, role: "admin", email: member.email });
  expect(lowered).toMatchObject({ userId: admin.caller.userId, role: "member" });
  const back = { teamId, userId: admin.caller.userId, role: "admin" };
  expect(await admin.does(updateMemberRole, back)).toBeRefused("forbidden", "role_too_small");
  expect(await owner.did(updateMemberRole, back)).toMatchObject({ role: "admin" });
  // Nothing is withdrawn from those who may still invite, nor recorded as such.
  await admin.did(inviteMember, { teamId, email: "ann@example.com", role: "member" });
  expect(await owner.did(updateMemberRole, back)).toMatchObject({ role: "admin" });
  const { events } = await owner.did(teamAudit, { teamId, action: "updateMemberRole", limit: 2 });
  expect(events.map(({ detail }) => detail)).toEqual([null, "role: member → admin"]);
});

it("refuses to assign or change the role of owner", async () => {
  await using world = await createWorld();
  const team = await aTeam(world);
  const { teamId, owner, admin, member } = team;
  const before = await roles(team);
  const demoted = { teamId, userId: owner.caller.userId, role: "member" };

  expect(await admin.does(updateMemberRole, demoted)).toBeRefused("forbidden", "owner_is_protected");
  expect(await owner.does(updateMemberRole, demoted)).toBeRefused("conflict", "owner_must_transfer");
  expect(await member.does(updateMemberRole, demoted)).toBeRefused("forbidden", "role_too_small");
  for (const actor of [owner, admin]) {
    const raised = { teamId, userId: admin.caller.userId, role: "owner" };
    expect(await actor.does(updateMemberRole, raised)).toBeRefused("bad_request");
  }

  expect(await roles(team)).toEqual(before);
  expect(await brokenInvariants(world)).toEqual([]);
});

it("accepts only admin and member as roles, and only members of this team", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world);
  const another = await aTeam(world);
  const { userId } = member.caller;

  for (const role of [undefined, null, "", "Admin", "ADMIN", "root", ["admin"], 1, {}]) {
    const verdict = await owner.does(updateMemberRole, { teamId, userId, role });
    expect(verdict, JSON.stringify(role)).toBeRefused("bad_request");
  }
  for (const nobody of [another.member.caller.userId, world.services.newId(), "nobody", member.email]) {
    const verdict = await owner.does(updateMemberRole, { teamId, userId: nobody, role: "admin" });
    expect(verdict).toBeRefused("not_found", "no_such_member");
  }
});

async function roles({ teamId, owner }: Staff): Promise<string[]> {
  return (await owner.did(teamMembers, { teamId })).members.map(({ role }) => role);
}
