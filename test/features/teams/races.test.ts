import { describe, expect, it } from "vitest";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { removeMember } from "../../../src/features/teams/members/remove-member.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { leaveTeam } from "../../../src/features/teams/leave-team.js";
import { ask } from "../../support/http.js";
import { CALLERS, ROUNDS, deadlocks, manyAtOnce, pendingAgain } from "../../support/races.js";
import { aTeam, anInvitee, brokenInvariants, manyOf, tally } from "../../support/teams.js";
import { type Verdict, createWorld } from "../../support/world.js";

/** One world for all rounds: each round is a new race. */
describe(`${ROUNDS} times ${CALLERS} at once`, () => {
  it("create a team for the same user at two servers: one succeeds", async () => {
    await using world = await createWorld({ fresh: true });
    const servers = [await world.serve(), await world.serve()];
    // Several users in turn, since each has a rate limit.
    const people = await manyOf(10, () => world.user());

    for (let round = 0; round < ROUNDS; round++) {
      await world.database.pool.query("DELETE FROM team");
      const { key } = people[round % people.length] ?? { key: "" };
      const answers = await manyAtOnce((index) => {
        const { url } = servers[index % 2] ?? { url: "" };
        return ask(`${url}/teams`, { key, body: { name: "Team", max_members: 5 } });
      });

      const reasons = answers.flatMap(({ body }) => (body as { error?: { reason: string } }).error?.reason ?? []);
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(reasons).toEqual(Array<string>(CALLERS - 1).fill("already_in_team"));
      expect(await world.database.models.team.count()).toBe(1);
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(world.bugs).toEqual([]);
    expect(await deadlocks(world)).toBe(0);
  });

  it("leave the team: nobody is counted twice, and the owner stays", async () => {
    await using world = await createWorld({ fresh: true });
    const { teamId, owner } = await aTeam(world, { maxMembers: 50 });
    const people = await manyOf(5, () => world.user());

    for (let round = 0; round < ROUNDS; round++) {
      for (const person of people) await world.seat(person, teamId);
      const leaving = [...people, ...people, ...people].map((person) => person.does(leaveTeam, { teamId }));
      const removing = people.map(({ caller: { userId } }) => owner.does(removeMember, { teamId, userId }));
      const verdicts = await Promise.all([...leaving, ...removing]);

      const { ok, not_found: left = 0, no_such_member: removed = 0, ...others } = tally(verdicts);
      expect([ok, left + removed, others]).toEqual([people.length, CALLERS - people.length, {}]);
      expect(await world.database.models.teamMember.count({ where: { teamId } })).toBe(3);
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });

  it("join one team and create another: the user is in one of them", async () => {
    await using world = await createWorld({ fresh: true });
    const staff = await aTeam(world);
    const { actor, token } = await anInvitee(world, staff);

    for (let round = 0; round < ROUNDS; round++) {
      await world.database.pool.query("DELETE FROM team WHERE owner_id = $1", [actor.caller.userId]);
      await pendingAgain(world, staff.teamId);
      const verdicts = await manyAtOnce<Verdict<object>>((index) =>
        (index + round) % 2
          ? actor.does(acceptInvitation, { token })
          : actor.does(createTeam, { name: "Mine", maxMembers: 5 }),
      );

      const { ok, ...refusals } = tally(verdicts);
      expect(ok).toBe(1);
      expect(["already_in_team", "invitation_accepted"]).toEqual(expect.arrayContaining(Object.keys(refusals)));
      expect(await world.database.models.teamMember.count({ where: { userId: actor.caller.userId } })).toBe(1);
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });

  it("join a team that is deleted: everybody is without a team, and nothing is left of it", async () => {
    await using world = await createWorld({ fresh: true });
    const owner = await world.user();
    const people = await manyOf(5, () => world.user());

    for (let round = 0; round < ROUNDS; round++) {
      // Each is invited more often than the hourly limit allows.
      await world.database.models.invitationAllowance.deleteMany();
      const { id: teamId } = await owner.did(createTeam, { name: "Team", maxMembers: 10 });
      for (const { email } of people) {
        const { id } = await owner.did(inviteMember, { teamId, email, role: "member" });
        await world.giveToken(id, `${email} ${round}`);
      }
      const joining = [...people, ...people, ...people].map((person) =>
        person.does(acceptInvitation, { token: `${person.email} ${round}` }),
      );
      const deleting = people.map(() => owner.does(deleteTeam, { teamId }));
      const verdicts = await Promise.all([...joining, ...deleting]);

      const { ok, ...refusals } = tally(verdicts);
      expect(ok).toBeGreaterThan(0);
      expect(["not_found", "no_such_invitation", "invitation_accepted"]).toEqual(
        expect.arrayContaining(Object.keys(refusals)),
      );
      const { models } = world.database;
      const left = [await models.team.count(), await models.teamMember.count(), await models.invitation.count()];
      expect(left).toEqual([0, 0, 0]);
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });
});
