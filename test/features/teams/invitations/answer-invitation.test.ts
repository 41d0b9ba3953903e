import { describe, expect, it } from "vitest";
import { acceptInvitation, declineInvitation } from "../../../../src/features/teams/invitations/answer-invitation.js";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { createTeam } from "../../../../src/features/teams/create-team.js";
import { deleteTeam } from "../../../../src/features/teams/delete-team.js";
import { myTeam } from "../../../../src/features/teams/get-team.js";
import { leaveTeam } from "../../../../src/features/teams/leave-team.js";
import { ask } from "../../../support/http.js";
import { sized } from "../../../support/races.js";
import { type Invitee, type Staff, aTeam, anInvitee, brokenInvariants, letExpire } from "../../../support/teams.js";
import { type World, createWorld } from "../../../support/world.js";

it("joins the team with the role of the invitation", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const staff = await aTeam(world);
  const { actor, token, invitation } = await anInvitee(world, staff, "admin");

  const { status, body } = await ask(`${url}/teams/invitations/${token}/accept`, { key: actor.key, method: "POST" });

  expect(status).toBe(200);
  expect(body).toMatchObject({ id: invitation.id, email: actor.email, role: "admin", status: "accepted" });
  expect(JSON.stringify(body)).not.toMatch(/token|team/);
  expect(await actor.did(myTeam)).toMatchObject({ id: staff.teamId, memberCount: 4 });
  // The role of admin counts at once: they may invite.
  await anInvitee(world, { teamId: staff.teamId, owner: actor });
  expect(await brokenInvariants(world)).toEqual([]);
});

describe("an invitation", () => {
  const MOVES: Readonly<Record<string, (world: World, staff: Staff, invitee: Invitee) => Promise<{ ok: boolean }>>> = {
    accepted: (_world, _staff, { actor, token }) => actor.does(acceptInvitation, { token }),
    declined: (_world, _staff, { actor, token }) => actor.does(declineInvitation, { token }),
    revoked: (_world, { owner, teamId }, { invitation }) =>
      owner.does(revokeInvitation, { teamId, invitationId: invitation.id }),
    expired: async (world, _staff, { invitation }) => {
      await letExpire(world, invitation.id);
      return { ok: true };
    },
  };
  const ways = Object.keys(MOVES).flatMap((from) =>
    ["accepted", "declined", "revoked"].map((to) => [from, to] as const),
  );

  it.each(ways)("that is %s is never %s", async (from, to) => {
    await using world = await createWorld();
    const staff = await aTeam(world);
    const invitee = await anInvitee(world, staff);
    const statusOf = async () => (await world.database.models.invitation.findFirst())?.status;

    expect(await MOVES[from]?.(world, staff, invitee)).toMatchObject({ ok: true });
    const [before, membersBefore] = [await statusOf(), await world.database.models.teamMember.count()];
    const verdict = await MOVES[to]?.(world, staff, invitee);

    expect(verdict).toBeRefused("conflict", `invitation_${from}`);
    expect(await statusOf()).toBe(before);
    expect(await world.database.models.teamMember.count()).toBe(membersBefore);
    expect(membersBefore).toBe(from === "accepted" ? 4 : 3);
    expect(await brokenInvariants(world)).toEqual([]);
  });

  it("that was accepted is not accepted again by a former member", async () => {
    await using world = await createWorld();
    const staff = await aTeam(world);
    const { actor, token } = await anInvitee(world, staff);
    await actor.did(acceptInvitation, { token });
    await actor.did(leaveTeam, { teamId: staff.teamId });

    expect(await actor.does(acceptInvitation, { token })).toBeRefused("conflict", "invitation_accepted");

    expect(await actor.does(myTeam)).toBeRefused("not_found", "no_team");
  });

  it("expires by the database's clock, not by the service's", async () => {
    await using world = await createWorld();
    const staff = await aTeam(world);
    const { actor, token } = await anInvitee(world, staff);

    world.travel(30 * 24 * 3_600_000);

    expect(await actor.did(acceptInvitation, { token })).toMatchObject({ status: "accepted" });
  });

  it("can be answered with the token of each of its mails", async () => {
    await using world = await createWorld();
    const staff = await aTeam(world);
    const { actor, invitation } = await anInvitee(world, staff);
    await world.giveToken(invitation.id, "of the second mail");

    expect(await actor.did(acceptInvitation, { token: "of the second mail" })).toMatchObject({ id: invitation.id });
  });

  it("is deleted with its team", async () => {
    await using world = await createWorld();
    const staff = await aTeam(world);
    const { actor, token } = await anInvitee(world, staff);

    await staff.owner.did(deleteTeam, { teamId: staff.teamId });

    for (const answer of [acceptInvitation, declineInvitation]) {
      expect(await actor.does(answer, { token })).toBeRefused("not_found", "no_such_invitation");
    }
  });
});

it.each([
  ["accept", acceptInvitation],
  ["decline", declineInvitation],
] as const)("is for the invited person alone to %s, with the address verified", async (_word, answer) => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, token } = await anInvitee(world, staff);
  const stranger = await world.user();
  const verify = (emailVerifiedAt: Date | null) =>
    world.database.models.user.update({ where: { id: actor.caller.userId }, data: { emailVerifiedAt } });

  for (const other of [stranger, staff.owner, staff.member]) {
    expect(await other.does(answer, { token })).toBeRefused("forbidden", "invitation_email_mismatch");
  }
  await verify(null);
  expect(await actor.does(answer, { token })).toBeRefused("forbidden", "invitation_email_mismatch");
  await verify(new Date());
  expect(await actor.does(answer, { token })).toMatchObject({ ok: true });
  // Its status is not shown to others either.
  expect(await stranger.does(answer, { token })).toBeRefused("forbidden", "invitation_email_mismatch");
});

it("accepts only the token: not the id, a part of the token, or its hash", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, invitation, token } = await anInvitee(world, staff);
  const [stored] = await world.database.models.invitationToken.findMany();
  const hash = Buffer.from(stored?.hash ?? []);

  const wrong = [
    invitation.id,
    token.slice(1),
    `${token} `,
    token.toUpperCase(),
    hash.toString("hex"),
    "x".repeat(1_000),
  ];
  for (const other of [...wrong, hash.toString("base64url"), hash.toString("latin1").replaceAll("\0", " ")]) {
    expect(await actor.does(acceptInvitation, { token: other }), other).toBeRefused("not_found", "no_such_invitation");
  }
  for (const other of ["", "x".repeat(1_001), null, ["token"], 1]) {
    expect(await actor.does(acceptInvitation, { token: other })).toBeRefused("bad_request");
  }
});

it("refuses a user who is in a team, and keeps the invitation pending", async () => {
  await using world = await createWorld();
  const [first, second] = [await aTeam(world), await aTeam(world)];
  const { actor, token } = await anInvitee(world, first);
  const { id } = await second.owner.did(inviteMember, { teamId: second.teamId, email: actor.email, role: "member" });
  await world.giveToken(id, "to the second");
  await actor.did(acceptInvitation, { token: "to the second" });

  expect(await actor.does(acceptInvitation, { token })).toBeRefused("conflict", "already_in_team");
  expect(await actor.does(createTeam, { name: "Mine", maxMembers: 2 })).toBeRefused("conflict", "already_in_team");
  await actor.did(leaveTeam, { teamId: second.teamId });

  expect(await actor.did(acceptInvitation, { token })).toMatchObject({ status: "accepted" });
  expect(await actor.did(myTeam)).toMatchObject({ id: first.teamId });
  expect(await brokenInvariants(world)).toEqual([]);
});

it("keeps the invitation pending when the team is full, until there is a seat", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world, { maxMembers: 4 });
  const { actor, token } = await anInvitee(world, staff);
  await sized(world, staff.teamId, 3);

  const full = await actor.does(acceptInvitation, { token });
  expect(full).toBeRefused("conflict", "team_full");
  // To revoke an invitation would not help, and only members could.
  const message = expect.stringMatching(/^The team has no free seat\. Ask the person who invited you [^`]*$/);
  expect(full).toMatchObject({ failure: { message } });
  await staff.member.did(leaveTeam, { teamId: staff.teamId });

  expect(await actor.did(acceptInvitation, { token })).toMatchObject({ status: "accepted" });
  expect(await brokenInvariants(world)).toEqual([]);
});
