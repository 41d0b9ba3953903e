import { expect, it } from "vitest";
import { acceptInvitation } from "../../../../src/features/teams/invitations/answer-invitation.js";
import { invitation } from "../../../../src/features/teams/invitations/get-invitation.js";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { teamInvitations } from "../../../../src/features/teams/invitations/list-invitations.js";
import { removeMember } from "../../../../src/features/teams/members/remove-member.js";
import { updateMemberRole } from "../../../../src/features/teams/members/update-member-role.js";
import { deleteTeam } from "../../../../src/features/teams/delete-team.js";
import { leaveTeam } from "../../../../src/features/teams/leave-team.js";
import { teamAudit } from "../../../../src/features/teams/list-audit.js";
import { transferTeam } from "../../../../src/features/teams/transfer-team.js";
import { type Staff, aTeam, anInvitee, brokenInvariants, letExpire } from "../../../support/teams.js";
import { type World, createWorld } from "../../../support/world.js";

type Change = (world: World, staff: Staff) => Promise<unknown>;

const demotion: Change = (_world, { teamId, owner, admin }) =>
  owner.did(updateMemberRole, { teamId, userId: admin.caller.userId, role: "member" });

const WAYS: ReadonlyArray<[string, string | undefined, Change]> = [
  [
    "is removed",
    "removeMember",
    (_world, { teamId, owner, admin }) => owner.did(removeMember, { teamId, userId: admin.caller.userId }),
  ],
  ["is demoted", "updateMemberRole", demotion],
  ["leaves", "leaveTeam", (_world, { teamId, admin }) => admin.did(leaveTeam, { teamId })],
  [
    "is removed in the database",
    undefined,
    ({ database }, { admin }) => database.models.teamMember.delete({ where: { userId: admin.caller.userId } }),
  ],
];

it.each(WAYS)("withdraws the pending invitations of an admin who %s, and records it", async (_way, action, change) => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { teamId, owner, admin } = staff;
  const theirs = await anInvitee(world, { teamId, owner: admin }, "admin");
  const expired = await anInvitee(world, { teamId, owner: admin });
  const others = await anInvitee(world, staff);
  await letExpire(world, expired.invitation.id);

  await change(world, staff);

  const { invitations } = await owner.did(teamInvitations, { teamId });
  expect(invitations.map(({ status }) => status)).toEqual(["pending", "expired", "revoked"]);
  const refused = await theirs.actor.does(acceptInvitation, { token: theirs.token });
  expect(refused).toBeRefused("conflict", "invitation_revoked");
  expect(await others.actor.does(acceptInvitation, { token: others.token })).toMatchObject({ ok: true });
  const inviter = change === demotion ? admin.email : "somebody who has left";
  for (const { token } of [theirs, expired]) {
    expect(await theirs.actor.did(invitation, { token })).toMatchObject({ invitedBy: inviter });
  }
  if (action) {
    const { events } = await owner.did(teamAudit, { teamId, action });
    expect(events).toMatchObject([{ detail: expect.stringContaining("invitations withdrawn: 1") }]);
  }
  expect(await brokenInvariants(world)).toEqual([]);
});

it("refuses acceptances while the inviter is removed, unless they came first", async () => {
  await using world = await createWorld();
  for (let round = 0; round < 20; round++) {
    const staff = await aTeam(world);
    const { teamId, owner, admin } = staff;
    const { actor, token, invitation } = await anInvitee(world, { teamId, owner: admin }, "admin");

    const [accepted] = await Promise.all([
      actor.does(acceptInvitation, { token }),
      owner.did(removeMember, { teamId, userId: admin.caller.userId }),
    ]);

    if (!accepted.ok) expect(accepted).toBeRefused("conflict", "invitation_revoked");
    const row = await world.database.models.invitation.findUniqueOrThrow({ where: { id: invitation.id } });
    expect(row.status).toBe(accepted.ok ? "accepted" : "revoked");
  }
});

it("keeps the owner's invitations on a transfer, since an admin may invite, and withdraws them on a demotion", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { teamId, owner, admin } = staff;
  await anInvitee(world, staff);
  const statuses = async () => (await admin.did(teamInvitations, { teamId })).invitations.map(({ status }) => status);

  await owner.did(transferTeam, { teamId, userId: admin.caller.userId });
  const afterTransfer = await statuses();
  await admin.did(updateMemberRole, { teamId, userId: owner.caller.userId, role: "member" });

  expect([afterTransfer, await statuses()]).toEqual([["pending"], ["revoked"]]);
});

it("frees the seat and the address of a withdrawn invitation, and lets the team be deleted", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world, { maxMembers: 4 });
  const { teamId, owner, admin } = staff;
  const { actor } = await anInvitee(world, { teamId, owner: admin });
  await demotion(world, staff);

  expect(await owner.does(inviteMember, { teamId, email: actor.email, role: "member" })).toMatchObject({ ok: true });
  expect(await owner.does(deleteTeam, { teamId })).toMatchObject({ ok: true });
  expect(await world.database.models.invitation.count()).toBe(0);
});
