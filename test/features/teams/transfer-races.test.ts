import { describe, expect, it } from "vitest";
import { removeMember } from "../../../src/features/teams/members/remove-member.js";
import { updateMemberRole } from "../../../src/features/teams/members/update-member-role.js";
import { leaveTeam } from "../../../src/features/teams/leave-team.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { CALLERS, ROUNDS, deadlocks, manyAtOnce } from "../../support/races.js";
import { aTeam, brokenInvariants, manyOf, tally } from "../../support/teams.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

/** One world for all rounds: each round is a new race. */
describe(`${ROUNDS} times ${CALLERS} at once`, () => {
  it("transfer the team to different members: one succeeds, the others are not the owner's any more", async () => {
    await using world = await createWorld({ fresh: true });
    const { teamId, owner, admin, member } = await aTeam(world, { maxMembers: 50 });
    const others = await manyOf(CALLERS - 2, () => world.user());
    for (const other of others) await world.seat(other, teamId);
    const people = new Map([owner, admin, member, ...others].map((actor) => [actor.caller.userId, actor]));

    for (let round = 0; round < ROUNDS; round++) {
      const { ownerId } = await world.database.models.team.findUniqueOrThrow({ where: { id: teamId } });
      const targets = [...people.keys()].filter((userId) => userId !== ownerId);
      const from = people.get(ownerId) ?? owner;
      const verdicts = await Promise.all(targets.map((userId) => from.does(transferTeam, { teamId, userId })));

      expect(tally(verdicts)).toEqual({ ok: 1, role_too_small: CALLERS - 1 });
      expect(await brokenInvariants(world)).toEqual([]);
    }
    expect(await deadlocks(world)).toBe(0);
  });

  it.each(["leaves", "is removed", "is made an admin"])(
    "transfer the team to a member who at the same time %s",
    async (fate) => {
      await using world = await createWorld({ fresh: true });
      const { teamId, owner, admin, member } = await aTeam(world);
      const { userId } = member.caller;
      const befall = {
        leaves: () => member.does(leaveTeam, { teamId }),
        "is removed": () => admin.does(removeMember, { teamId, userId }),
        "is made an admin": () => admin.does(updateMemberRole, { teamId, userId, role: "admin" }),
      }[fate];

      for (let round = 0; round < ROUNDS; round++) {
        await restoreTeam(world, { teamId, owner, member });
        const verdicts = await manyAtOnce(async (index) =>
          (index + round) % 2 ? owner.does(transferTeam, { teamId, userId }) : befall?.(),
        );

        const { ownerId, memberCount } = await world.database.models.team.findUniqueOrThrow({ where: { id: teamId } });
        const transferred = verdicts.some((verdict, index) => (index + round) % 2 && verdict?.ok);
        // The owner is always a member.
        expect(ownerId).toBe(transferred ? userId : owner.caller.userId);
        if (fate !== "is made an admin") {
          expect(verdicts.filter((verdict) => verdict?.ok)).toHaveLength(1);
          expect(memberCount).toBe(transferred ? 3 : 2);
        }
        expect(await brokenInvariants(world)).toEqual([]);
      }
      // Whether a race was won by the transfer is chance; without a rival it succeeds.
      await restoreTeam(world, { teamId, owner, member });
      expect(await owner.does(transferTeam, { teamId, userId })).toMatchObject({ ok: true });
      expect(await deadlocks(world)).toBe(0);
    },
  );
});

/** Returns the team to its first owner, with the member in the role of member. */
async function restoreTeam(world: World, { teamId, owner, member }: { teamId: string; owner: Actor; member: Actor }) {
  await world.database.transaction(async ({ models }) => {
    const userId = owner.caller.userId;
    await models.teamMember.deleteMany({ where: { userId: member.caller.userId, role: { not: "owner" } } });
    await models.teamMember.updateMany({ where: { teamId, role: "owner" }, data: { role: "admin" } });
    await models.teamMember.update({ where: { userId }, data: { role: "owner" } });
    await models.team.update({ where: { id: teamId }, data: { ownerId: userId } });
    await models.teamMember.deleteMany({ where: { userId: member.caller.userId } });
    await models.teamMember.create({ data: { teamId, userId: member.caller.userId, role: "member" } });
  });
}
