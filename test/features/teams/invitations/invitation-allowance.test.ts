import { expect, it } from "vitest";
import { mailboxOf } from "../../../../src/operation/mailbox.js";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { createTeam } from "../../../../src/features/teams/create-team.js";
import { deleteTeam } from "../../../../src/features/teams/delete-team.js";
import { ask } from "../../../support/http.js";
import { ageAllowances } from "../../../support/teams.js";
import { type Actor, createWorld } from "../../../support/world.js";

const BOB = "bob@example.com";

it("lets an address get five an hour and ten a day, from all teams and with any status", async () => {
  await using world = await createWorld();
  const [ann, eve] = [await world.user(), await world.user()];
  const hour: boolean[] = [];
  for (const actor of [ann, eve, ann, eve, ann]) hour.push((await inviteAndDelete(actor, BOB)).ok);
  const sixth = await inviteAndDelete(eve, "Bob@Example.com");
  await ageAllowances(world, "1 hour");
  for (let n = 0; n < 5; n++) hour.push((await inviteAndDelete(ann, BOB)).ok);
  await ageAllowances(world, "1 hour");
  const eleventh = await inviteAndDelete(eve, BOB);
  await ageAllowances(world, "22 hours");

  expect(hour).toEqual(Array.from({ length: 10 }, () => true));
  for (const refused of [sixth, eleventh]) expect(refused).toBeRefused("rate_limited", "too_many_invitations");
  // The first five are a day old now.
  const last = [];
  for (let n = 0; n < 6; n++) last.push((await inviteAndDelete(eve, BOB)).ok);
  expect(last).toEqual([true, true, true, true, true, false]);
});

it("keeps the times of one day, not all there ever were", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let day = 0; day < 3; day++) {
    for (let n = 0; n < 2; n++) await inviteAndDelete(ann, BOB);
    const kept = await world.database.models.invitationAllowance.findMany();
    expect(kept.map(({ sentAt }) => sentAt.length)).toEqual([2, 2]);
    await ageAllowances(world, "25 hours");
  }
});

it("counts no longer what was sent while the database's clock was ahead", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let n = 0; n < 5; n++) await inviteAndDelete(ann, BOB);
  await ageAllowances(world, "-30 seconds");
  expect(await inviteAndDelete(ann, BOB)).toMatchObject({ failure: { retryAfterSeconds: 3_600 } });

  await ageAllowances(world, "-1 year");

  expect((await inviteAndDelete(ann, BOB)).ok).toBe(true);
  const kept = await world.database.models.invitationAllowance.findMany();
  expect(kept.map(({ sentAt }) => sentAt.length)).toEqual([1, 1]);
});

it("limits any 60 minutes, not hours of the clock", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await inviteAndDelete(ann, BOB);
  await ageAllowances(world, "59 minutes");
  for (let n = 0; n < 4; n++) await inviteAndDelete(ann, BOB);
  await ageAllowances(world, "2 minutes");

  expect([(await inviteAndDelete(ann, BOB)).ok, (await inviteAndDelete(ann, BOB)).ok]).toEqual([true, false]);
});

it("lets a user send a hundred a day, including those of deleted teams and revoked ones", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await inviteAndDelete(ann, "n@x.co");
  // Simulates 98 earlier invitations.
  await world.database.pool.query("UPDATE invitation_allowance SET sent_at = array_fill(now(), ARRAY[98])");
  const { id: teamId } = await ann.did(createTeam, { name: "Team", maxMembers: 500 });
  const { id: invitationId } = await ann.did(inviteMember, { teamId, email: "a@x.co", role: "member" });
  await ann.did(revokeInvitation, { teamId, invitationId });
  const send = (email: string) =>
    ask(`${url}/teams/${teamId}/invitations`, { key: ann.key, body: { email, role: "member" } });

  const hundredth = await send("b@x.co");
  const refused = await send("c@x.co");

  expect([hundredth.status, refused.status]).toEqual([201, 429]);
  expect(refused.body).toMatchObject({ error: { code: "rate_limited", reason: "too_many_invitations" } });
  expect(JSON.stringify(refused.body)).toMatch(/At most 100 invitations of one user in a day/);
  const wait = Number(refused.headers.get("retry-after"));
  expect(wait).toBeGreaterThan(86_000);
  expect(wait).toBeLessThanOrEqual(86_400);
  expect(await world.database.models.mail.count({ where: { email: "c@x.co" } })).toBe(0);
});

it("rounds the wait, to hide when others invited the address, and counts no refused invitation", async () => {
  await using world = await createWorld();
  const [ann, eve] = [await world.user(), await world.user()];
  for (let n = 0; n < 5; n++) await inviteAndDelete(eve, BOB);
  await ageAllowances(world, "10 minutes");

  const verdict = await inviteAndDelete(ann, BOB);

  expect(verdict).toBeRefused("rate_limited", "too_many_invitations");
  expect(!verdict.ok && verdict.failure).toMatchObject({ retryAfterSeconds: 3_600 });
  const rows = await world.database.models.invitationAllowance.findMany();
  expect(rows.map(({ sentAt }) => sentAt.length)).toEqual([5, 5]);
});

it("counts addresses that differ only in their +label as one inbox", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const sent = [];
  for (let n = 0; n < 6; n++) sent.push((await inviteAndDelete(ann, `bob+${n}@example.com`)).ok);

  expect(sent).toEqual([true, true, true, true, true, false]);
  expect(
    ["a@x.co", "a+b@x.co", "a+b+c@x.co", "+b@x.co", "a.b@x.co", "a.b+c@gmail.com", "ab@googlemail.com"].map(mailboxOf),
  ).toEqual(["a@x.co", "a@x.co", "a@x.co", "+b@x.co", "a.b@x.co", "ab@gmail.com", "ab@googlemail.com"]);
});

/** Invites from a new team, which is deleted afterwards. */
async function inviteAndDelete(actor: Actor, email: string) {
  const { id: teamId } = await actor.did(createTeam, { name: "Team", maxMembers: 9 });
  const verdict = await actor.does(inviteMember, { teamId, email, role: "member" });
  await actor.did(deleteTeam, { teamId });
  return verdict;
}
