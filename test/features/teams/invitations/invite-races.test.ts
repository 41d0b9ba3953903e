import { describe, expect, it } from "vitest";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { createTeam } from "../../../../src/features/teams/create-team.js";
import { CALLERS, ROUNDS, deadlocks, manyAtOnce } from "../../../support/races.js";
import { aTeam, brokenInvariants, manyOf, tally } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

/** One world for all rounds: each round is a new race. */
describe(`${ROUNDS} times ${CALLERS} at once`, () => {
  it("invite one address in different spellings, with an expired invitation: one succeeds", async () => {
    await using world = await createWorld({ fresh: true });
    const { teamId, owner, admin } = await aTeam(world);
    const spellings = ["carol@example.com", "Carol@Example.com", "CAROL@EXAMPLE.COM", "cArOl@eXaMpLe.cOm"];

    for (let round = 0; round < ROUNDS; round++) {
      await world.database.pool.query("DELETE FROM invitation");
      await world.database.pool.query("DELETE FROM invitation_allowance");
      await world.database.pool.query(
        `INSERT INTO invitation (id, team_id, email, role, invited_by, created_at, expires_at)
         VALUES (gen_random_uuid(), $1, $2, 'member', $3, now() - interval '8 days', now() - interval '1 day')`,
        [teamId, spellings[0], owner.caller.userId],
      );
      const verdicts = await manyAtOnce((index) =>
        (index % 2 ? owner : admin).does(inviteMember, { teamId, email: spellings[index % 4], role: "member" }),
      );

      expect(tally(verdicts)).toEqual({ ok: 1, invitation_exists: CALLERS - 1 });
      expect(await world.database.models.mail.count()).toBe(1);
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });

  it("invite different people to the last seat: one is invited", async () => {
    await using world = await createWorld({ fresh: true });
    const { teamId, owner, admin } = await aTeam(world, { maxMembers: 4 });

    for (let round = 0; round < ROUNDS; round++) {
      await world.database.pool.query("DELETE FROM invitation");
      await world.database.pool.query("DELETE FROM invitation_allowance");
      const verdicts = await manyAtOnce((index) =>
        (index % 2 ? owner : admin).does(inviteMember, { teamId, email: `n${index}@example.com`, role: "member" }),
      );

      expect(tally(verdicts)).toEqual({ ok: 1, team_full: CALLERS - 1 });
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });

  it("invite one person from as many teams: five succeed, and nothing deadlocks", async () => {
    await using world = await createWorld({ fresh: true });
    const staffs = await manyOf(10, async () => {
      const owner = await world.user();
      return { owner, teamId: (await owner.did(createTeam, { name: "Team", maxMembers: 99 })).id };
    });

    for (let round = 0; round < 5; round++) {
      const verdicts = await Promise.all(
        staffs.map(({ owner, teamId }, index) =>
          owner.does(inviteMember, { teamId, email: `n+${index}@r${round}.co`, role: "member" }),
        ),
      );

      expect(tally(verdicts)).toEqual({ ok: 5, too_many_invitations: 5 });
    }
    expect(await deadlocks(world)).toBe(0);
  });
});
