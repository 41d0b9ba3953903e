import { describe, expect, it } from "vitest";
import { acceptInvitation, declineInvitation } from "../../../../src/features/teams/invitations/answer-invitation.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { updateTeam } from "../../../../src/features/teams/update-team.js";
import { ask } from "../../../support/http.js";
import { CALLERS, ROUNDS, deadlocks, manyAtOnce, pendingAgain, sized } from "../../../support/races.js";
import { aTeam, anInvitee, brokenInvariants, manyOf, tally } from "../../../support/teams.js";
import { type Verdict, createWorld } from "../../../support/world.js";

/** One world for all rounds: each round is a new race. */
describe(`${ROUNDS} times ${CALLERS} at once`, () => {
  it("take the last seat at two servers: one succeeds", async () => {
    await using world = await createWorld({ fresh: true });
    const servers = [await world.serve(), await world.serve()];
    const staff = await aTeam(world, { maxMembers: 50 });
    const invitees = await manyOf(CALLERS, () => anInvitee(world, staff));
    await sized(world, staff.teamId, 4);

    for (let round = 0; round < ROUNDS; round++) {
      await pendingAgain(world, staff.teamId);
      const answers = await Promise.all(
        invitees.map(({ actor, token }, index) => {
          const { url } = servers[index % 2] ?? { url: "" };
          return ask(`${url}/teams/invitations/${token}/accept`, { key: actor.key, method: "POST" });
        }),
      );

      expect(countOf(answers.map(({ status }) => status))).toEqual({ 200: 1, 409: CALLERS - 1 });
      const reasons = answers.flatMap(({ body }) => (body as { error?: { reason: string } }).error?.reason ?? []);
      expect(countOf(reasons)).toEqual({ team_full: CALLERS - 1 });
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(world.bugs).toEqual([]);
    expect(await deadlocks(world)).toBe(0);
  });

  it("click the same link: the person joins once, and every other click says that it was accepted", async () => {
    await using world = await createWorld({ fresh: true });
    const staff = await aTeam(world);
    const { actor, token } = await anInvitee(world, staff);

    for (let round = 0; round < ROUNDS; round++) {
      await pendingAgain(world, staff.teamId);
      const clicks = await manyAtOnce(() => actor.does(acceptInvitation, { token }));

      expect(tally(clicks)).toEqual({ ok: 1, invitation_accepted: CALLERS - 1 });
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });

  it("accept, decline and revoke: one succeeds, and the others get the new status", async () => {
    await using world = await createWorld({ fresh: true });
    const staff = await aTeam(world);
    const { teamId, owner, admin } = staff;
    const { actor, token, invitation } = await anInvitee(world, staff);
    const revoke = { teamId, invitationId: invitation.id };
    const ways = [
      () => actor.does(acceptInvitation, { token }),
      () => owner.does(revokeInvitation, revoke),
      () => actor.does(declineInvitation, { token }),
      () => admin.does(revokeInvitation, revoke),
    ];

    for (let round = 0; round < ROUNDS; round++) {
      await pendingAgain(world, teamId);
      // Each way is the first to start in some rounds.
      const verdicts = await manyAtOnce<Verdict<object>>(
        (index) => ways[(index + round) % ways.length]?.() ?? Promise.reject(ways),
      );

      const { status } = await world.database.models.invitation.findUniqueOrThrow({ where: { id: invitation.id } });
      expect(tally(verdicts)).toEqual({ ok: 1, [`invitation_${status}`]: CALLERS - 1 });
      const { userId } = actor.caller;
      expect(await world.database.models.teamMember.count({ where: { userId } })).toBe(status === "accepted" ? 1 : 0);
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });

  it("join while the owner makes the team smaller: it never has more members than seats", async () => {
    await using world = await createWorld({ fresh: true });
    const staff = await aTeam(world, { maxMembers: 50 });
    const { teamId, owner } = staff;
    const invitees = await manyOf(CALLERS / 2, () => anInvitee(world, staff));

    for (let round = 0; round < ROUNDS; round++) {
      await pendingAgain(world, teamId);
      await sized(world, teamId, 50);
      const attempts = invitees.flatMap(({ actor, token }, index) => [
        actor.does(acceptInvitation, { token }),
        owner.does(updateTeam, { teamId, maxMembers: 3 + ((index + round) % 10) }),
      ]);

      const { ok, ...refusals } = tally(await Promise.all(attempts));
      expect(ok).toBeGreaterThan(0);
      expect(["team_full", "too_many_members"]).toEqual(expect.arrayContaining(Object.keys(refusals)));
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });
});

const countOf = (values: ReadonlyArray<string | number>): Record<string, number> =>
  Object.fromEntries([...new Set(values)].map((value) => [value, values.filter((other) => other === value).length]));
