import { expect, it } from "vitest";
import { viewer } from "../../../src/features/access/viewer.js";
import { changeEmail } from "../../../src/features/accounts/change-email.js";
import { updateAccount } from "../../../src/features/accounts/update-account.js";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { invitation } from "../../../src/features/teams/invitations/get-invitation.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { teamInvitations } from "../../../src/features/teams/invitations/list-invitations.js";
import { sendAll, startMailServer } from "../../support/mail-server.js";
import { waitingForLocks } from "../../support/locks.js";
import { manyAtOnce } from "../../support/races.js";
import { aTeam, anInvitee, brokenInvariants, letExpire, manyOf } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

const NEW = "ann.new@example.com";
const CODE = "01234567";

it("changes and removes the caller's name, which invited people see", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, token } = await anInvitee(world, staff);

  expect(await staff.owner.did(updateAccount, { name: "Ann" })).toMatchObject({ name: "Ann", plan: "pro" });
  const { invitedBy } = await actor.did(invitation, { token });
  expect(await staff.owner.did(updateAccount, { name: null })).toMatchObject({ name: null });

  expect(invitedBy).toBe(`Ann (${staff.owner.email})`);
  for (const input of [{}, { name: " " }, { name: "x".repeat(101) }, { name: 1 }]) {
    expect(await staff.owner.does(updateAccount, input), JSON.stringify(input)).toBeRefused("bad_request");
  }
});

it("changes the address to one whose code the caller has, once, and keeps keys and team", async () => {
  await using world = await createWorld();
  const { owner, teamId } = await aTeam(world);
  const { email: before } = owner;
  await world.giveCode(NEW, CODE);

  expect(await owner.does(changeEmail, { email: NEW, code: "76543210" })).toBeRefused("bad_request", "code_invalid");
  expect(await owner.did(changeEmail, { email: "Ann.New@example.com", code: CODE })).toMatchObject({ email: NEW });
  expect(await owner.does(changeEmail, { email: NEW, code: CODE })).toBeRefused("bad_request", "code_invalid");

  const { email, emailVerifiedAt } = await owner.did(viewer);
  expect([email, emailVerifiedAt]).toEqual([NEW, expect.any(Date)]);
  expect((await owner.did(teamInvitations, { teamId })).invitations).toEqual([]);
  const audit = await world.database.models.auditEntry.findMany({ where: { action: "changeEmail" } });
  expect(audit).toMatchObject([{ actorId: owner.caller.userId, detail: before }]);
});

it("tells both addresses by mail, and an address that was never verified nothing", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const [ann, bob] = [await world.user(), await world.user()];
  await world.database.models.user.update({ where: { id: bob.caller.userId }, data: { emailVerifiedAt: null } });
  for (const [actor, address] of [
    [ann, NEW],
    [bob, "bob.new@example.com"],
  ] as const) {
    await world.giveCode(address, CODE);
    await actor.did(changeEmail, { email: address, code: CODE });
  }

  await sendAll(world, smtp.url);

  expect(smtp.mails.map(({ to }) => to).toSorted()).toEqual([ann.email, NEW, "bob.new@example.com"].toSorted());
  const told = smtp.mails.find(({ to }) => to === ann.email);
  expect(told?.text).toContain(`is now ${NEW}`);
  expect(told?.html).toContain("<p>If this was not you");
});

it("tells the old address the new one so that it cannot become a link", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const ann = await world.user();
  const address = "//evil.com/x@example.com";
  await world.giveCode(address, CODE);
  await ann.did(changeEmail, { email: address, code: CODE });

  await sendAll(world, smtp.url);

  const told = smtp.mails.find(({ to }) => to === ann.email);
  expect(told?.text).toContain("is now //evil[.]com/x@example[.]com.");
});

it("refuses an address that another account has, and keeps the code", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  await world.giveCode(bob.email, CODE);

  const verdict = await ann.does(changeEmail, { email: bob.email, code: CODE });

  expect(verdict).toBeRefused("conflict", "email_taken");
  expect(await ann.did(viewer)).toMatchObject({ email: ann.email });
  expect(await bob.did(changeEmail, { email: bob.email, code: CODE })).toMatchObject({ email: bob.email });
});

it("gives an address to only one of many simultaneous requests with the same code", async () => {
  await using world = await createWorld();
  const users = await manyOf(5, () => world.user());
  await world.giveCode(NEW, CODE);

  const verdicts = await manyAtOnce(async (index) => users[index % 5]?.does(changeEmail, { email: NEW, code: CODE }));

  expect(verdicts.filter((verdict) => verdict?.ok)).toHaveLength(1);
  expect(await world.database.models.user.count({ where: { email: NEW } })).toBe(1);
});

it("withdraws only the team's invitation to the new address, which holds a seat", async () => {
  await using world = await createWorld();
  const { owner, member, teamId } = await aTeam(world);
  const other = await aTeam(world);
  for (const team of [{ owner, teamId }, other])
    await team.owner.did(inviteMember, { teamId: team.teamId, email: NEW, role: "member" });
  await world.giveCode(NEW, CODE);

  await member.did(changeEmail, { email: NEW, code: CODE });

  const { invitations } = await owner.did(teamInvitations, { teamId });
  expect(invitations).toMatchObject([{ email: NEW, status: "revoked" }]);
  // Whoever leaves this team can still join another one that has invited them.
  const { invitations: others } = await other.owner.did(teamInvitations, { teamId: other.teamId });
  expect(others).toMatchObject([{ email: NEW, status: "pending" }]);
  expect(await brokenInvariants(world)).toEqual([]);
});

it("leaves an invitation to the old address to whoever has that address", async () => {
  await using world = await createWorld();
  const { actor, token } = await anInvitee(world, await aTeam(world));
  const { email: old } = actor;
  await world.giveCode(NEW, CODE);

  await actor.did(changeEmail, { email: NEW, code: CODE });

  expect(await actor.does(acceptInvitation, { token })).toBeRefused("forbidden", "invitation_email_mismatch");
  const next = await world.user({ email: old });
  expect(await next.did(acceptInvitation, { token })).toMatchObject({ email: old, status: "accepted" });
});

it("leaves an expired invitation to the new address as it was", async () => {
  await using world = await createWorld();
  const { owner, member, teamId } = await aTeam(world);
  const { id } = await owner.did(inviteMember, { teamId, email: NEW, role: "member" });
  await letExpire(world, id);
  await world.giveCode(NEW, CODE);

  await member.did(changeEmail, { email: NEW, code: CODE });

  expect((await owner.did(teamInvitations, { teamId })).invitations).toMatchObject([{ status: "expired" }]);
});

it("waits for changes of the team, and withdraws an invitation that is just being created", async () => {
  await using world = await createWorld();
  const { owner, member, teamId } = await aTeam(world);
  await world.giveCode(NEW, CODE);
  const other = await world.database.pool.connect();
  await other.query("BEGIN");
  await other.query("SELECT FROM team WHERE id = $1 FOR UPDATE", [teamId]);

  const inviting = owner.did(inviteMember, { teamId, email: NEW, role: "member" });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  const changing = member.did(changeEmail, { email: NEW, code: CODE });
  await expect.poll(() => waitingForLocks(world)).toBe(2);
  await other.query("COMMIT");
  other.release();
  await Promise.all([inviting, changing]);

  const { invitations } = await owner.did(teamInvitations, { teamId });
  expect(invitations).toMatchObject([{ email: NEW, status: "revoked" }]);
  expect(await brokenInvariants(world)).toEqual([]);
});

it("withdraws the team's invitation to the new address also if the user joins at the same moment", async () => {
  await using world = await createWorld();
  const { owner, teamId } = await aTeam(world);
  const ann = await world.user();
  await owner.did(inviteMember, { teamId, email: NEW, role: "member" });
  await world.giveCode(NEW, CODE);
  const joining = await world.database.pool.connect();
  await joining.query("BEGIN");
  const member = [ann.caller.userId, teamId];
  await joining.query("INSERT INTO team_member (user_id, team_id, role) VALUES ($1, $2, 'member')", member);

  const changing = ann.did(changeEmail, { email: NEW, code: CODE });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await joining.query("COMMIT");
  joining.release();
  await changing;

  const { invitations } = await owner.did(teamInvitations, { teamId });
  expect(invitations).toMatchObject([{ email: NEW, status: "revoked" }]);
});

it("lets nobody accept an invitation whose address they give up at the same moment", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, token } = await anInvitee(world, staff);
  await staff.owner.did(inviteMember, { teamId: staff.teamId, email: NEW, role: "member" });
  await world.giveCode(NEW, CODE);
  const other = await world.database.pool.connect();
  await other.query("BEGIN");
  await other.query("SELECT FROM team WHERE id = $1 FOR UPDATE", [staff.teamId]);

  const accepting = actor.does(acceptInvitation, { token });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await actor.did(changeEmail, { email: NEW, code: CODE });
  await other.query("COMMIT");
  other.release();

  expect(await accepting).toBeRefused("forbidden", "invitation_email_mismatch");
  const { invitations } = await staff.owner.did(teamInvitations, { teamId: staff.teamId, status: "pending" });
  expect(invitations).toHaveLength(2);
});
