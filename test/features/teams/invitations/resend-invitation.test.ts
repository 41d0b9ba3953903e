import { expect, it } from "vitest";
import { acceptInvitation } from "../../../../src/features/teams/invitations/answer-invitation.js";
import { InvitationNotPending } from "../../../../src/features/teams/invitations/invitation.js";
import { resendInvitation } from "../../../../src/features/teams/invitations/resend-invitation.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { updateTeam } from "../../../../src/features/teams/update-team.js";
import { LIMITS } from "../../../../src/limits.js";
import { waitingForLocks } from "../../../support/locks.js";
import { aTeam, anInvitee, letExpire } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

const DAY_MS = 86_400_000;

it("sends another mail, and lets the invitation be answered for another week by either link", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, invitation, token } = await anInvitee(world, staff);
  const { mail, invitation: invitations } = world.database.models;
  await mail.deleteMany();
  const aged = { expiresAt: new Date(Date.now() + DAY_MS), bouncedAt: new Date() };
  await invitations.update({ where: { id: invitation.id }, data: aged });

  const input = { teamId: staff.teamId, invitationId: invitation.id };
  const again = await staff.admin.did(resendInvitation, input);
  await staff.admin.did(resendInvitation, input);

  expect(again).toMatchObject({ id: invitation.id, status: "pending", bouncedAt: null });
  expect(again.expiresAt.getTime()).toBeGreaterThan(Date.now() + 6 * DAY_MS);
  expect(await mail.findMany()).toMatchObject([
    { kind: "invitation", email: actor.email, invitationId: invitation.id },
  ]);
  expect(await actor.did(acceptInvitation, { token })).toMatchObject({ status: "accepted" });
});

it("refuses one that is answered, revoked, expired or another team's, and members", async () => {
  await using world = await createWorld();
  const [staff, others] = [await aTeam(world), await aTeam(world)];
  const { invitation } = await anInvitee(world, staff);
  const input = { teamId: staff.teamId, invitationId: invitation.id };

  expect(await staff.member.does(resendInvitation, input)).toBeRefused("forbidden", "role_too_small");
  const foreign = { teamId: others.teamId, invitationId: invitation.id };
  expect(await others.owner.does(resendInvitation, foreign)).toBeRefused("not_found", "no_such_invitation");
  await staff.owner.did(revokeInvitation, input);
  expect(await staff.owner.does(resendInvitation, input)).toBeRefused("conflict", "invitation_revoked");
  const late = await anInvitee(world, staff);
  await letExpire(world, late.invitation.id);
  const expired = { teamId: staff.teamId, invitationId: late.invitation.id };
  expect(await staff.owner.does(resendInvitation, expired)).toBeRefused("conflict", "invitation_expired");
  // Also where somebody has sent it again since an answer was refused.
  expect(new InvitationNotPending("pending").reason).toBe("invitation_expired");
  expect(await world.database.models.mail.count({ where: { attempts: { gt: 0 } } })).toBe(0);
});

it.each(["declined", "revoked"])("sends no mail of an invitation that is %s at the same moment", async (status) => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { invitation } = await anInvitee(world, staff);
  await world.database.models.mail.deleteMany();
  const other = await world.database.pool.connect();
  await other.query("BEGIN");
  await other.query(`UPDATE invitation SET status = '${status}' WHERE id = $1`, [invitation.id]);

  const sending = staff.owner.does(resendInvitation, { teamId: staff.teamId, invitationId: invitation.id });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await other.query("COMMIT");
  other.release();

  expect(await sending).toBeRefused("conflict", `invitation_${status}`);
  expect(await world.database.models.mail.count()).toBe(0);
});

it("counts with the invitations to the same address", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { invitation } = await anInvitee(world, staff);
  const input = { teamId: staff.teamId, invitationId: invitation.id };
  const perHour = Math.min(...LIMITS.invitations.perRecipient.map(({ limit }) => limit));

  for (let sent = 1; sent < perHour; sent++) await staff.owner.did(resendInvitation, input);

  expect(await staff.owner.does(resendInvitation, input)).toBeRefused("rate_limited", "too_many_invitations");
});

it("keeps a seat for each pending invitation when the team becomes smaller", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { teamId, owner } = staff;
  const { invitation } = await anInvitee(world, staff);

  const verdict = await owner.does(updateTeam, { teamId, maxMembers: 3 });
  expect(verdict).toBeRefused("conflict", "too_many_members");
  expect(!verdict.ok && verdict.failure.details).toEqual({ memberCount: 3, pendingInvitations: 1 });
  expect(await owner.did(updateTeam, { teamId, maxMembers: 4 })).toMatchObject({ maxMembers: 4 });
  await owner.did(revokeInvitation, { teamId, invitationId: invitation.id });

  expect(await owner.did(updateTeam, { teamId, maxMembers: 3 })).toMatchObject({ maxMembers: 3 });
});
