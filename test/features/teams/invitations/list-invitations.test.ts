import { expect, it } from "vitest";
import { acceptInvitation, declineInvitation } from "../../../../src/features/teams/invitations/answer-invitation.js";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { teamInvitations } from "../../../../src/features/teams/invitations/list-invitations.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { aTeam, anInvitee, letExpire, manyOf } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

it("lists newest first and filters by status, where the database's clock decides what has expired", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { teamId, owner, admin } = staff;
  const [accepted, declined, revoked, expired, pending] = [
    await anInvitee(world, staff),
    await anInvitee(world, staff),
    await anInvitee(world, staff),
    await anInvitee(world, staff),
    await anInvitee(world, staff),
  ];
  await accepted.actor.did(acceptInvitation, { token: accepted.token });
  await declined.actor.did(declineInvitation, { token: declined.token });
  await owner.did(revokeInvitation, { teamId, invitationId: revoked.invitation.id });
  await letExpire(world, expired.invitation.id);

  const all = await admin.did(teamInvitations, { teamId });
  const byStatus = { accepted, declined, revoked, expired, pending };

  expect(all.invitations.map(({ status }) => status)).toEqual([
    "pending",
    "expired",
    "revoked",
    "declined",
    "accepted",
  ]);
  for (const [status, { invitation }] of Object.entries(byStatus)) {
    expect(await admin.did(teamInvitations, { teamId, status })).toMatchObject({
      invitations: [{ id: invitation.id, status }],
    });
  }
  for (const status of ["gone", "", "PENDING"]) {
    expect(await admin.does(teamInvitations, { teamId, status })).toBeRefused("bad_request");
  }
});

it("shows each invitation once, page by page, while more are sent", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world, { maxMembers: 100 });
  const invite = (email: string) => owner.did(inviteMember, { teamId, email, role: "member" });
  const made = await manyOf(11, (index) => invite(`n${index}@x.co`));

  const read: string[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await owner.did(teamInvitations, { teamId, limit: 4, ...(cursor ? { cursor } : {}) });
    read.push(...page.invitations.map(({ id }) => id));
    cursor = page.nextCursor;
    await invite(`later${read.length}@x.co`);
  }

  expect(read).toEqual(made.map(({ id }) => id).toReversed());
});
