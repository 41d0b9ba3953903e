import { expect, it } from "vitest";
import { acceptInvitation, declineInvitation } from "../../../../src/features/teams/invitations/answer-invitation.js";
import { invitationById } from "../../../../src/features/teams/invitations/invitation-by-id.js";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { mailInvitation } from "../../../../src/features/teams/invitations/mail-invitation.js";
import { markBounced } from "../../../../src/features/teams/invitations/mark-bounced.js";
import { newInvitationToken } from "../../../../src/features/teams/invitations/invitation-token.js";
import { resendInvitation } from "../../../../src/features/teams/invitations/resend-invitation.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { sendDueMails } from "../../../../src/features/mail/outbox.js";
import { LIMITS } from "../../../../src/limits.js";
import { sha256 } from "../../../../src/operation/sha256.js";
import type { Message } from "../../../../src/platform/mailer.js";
import { ask } from "../../../support/http.js";
import { tokenIn } from "../../../support/mail-server.js";
import { waitingForLocks } from "../../../support/locks.js";
import { CALLERS, deadlocks, manyAtOnce } from "../../../support/races.js";
import { aTeam, ageAllowances, anInvitee, letExpire, manyOf, tally } from "../../../support/teams.js";
import { type Verdict, type World, createWorld } from "../../../support/world.js";

const PUBLIC_URL = "https://memory.example.com/graph";
const [{ limit: HOURLY }, { limit: DAILY }] = LIMITS.invitations.mailsByLink;

it("gives an invitation the same link wherever it is shown, without its token or address", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ PUBLIC_URL, NODE_ENV: "production" });
  const staff = await aTeam(world);
  const key = staff.owner.key;
  const path = `${url}/teams/${staff.teamId}/invitations`;

  const { body: invited } = await ask(path, { key, body: { email: "bob@example.com", role: "member" } });
  const { id, link } = invited as { id: string; link: string };
  const { body: again } = await ask(`${path}/${id}/resend`, { key, body: {} });
  const { body: listed } = await ask(path, { key });
  const { body: exported } = await ask(`${url}/users/me/export`, { key });
  const query = `{ myTeam { invitations { link } } teamInvitations(teamId: "${staff.teamId}") { invitations { link } } }`;
  const { body: byGraphQL } = await ask(`${url}/graphql`, { key, body: { query } });

  expect(link).toBe(`${PUBLIC_URL}/invitations/by-id/${id}`);
  expect(again).toMatchObject({ id, link });
  expect(listed).toMatchObject({ invitations: [{ id, link }] });
  expect(exported).toMatchObject({ invitations_sent: [{ id, link }] });
  const both = [{ link }];
  expect(byGraphQL).toEqual({ data: { myTeam: { invitations: both }, teamInvitations: { invitations: both } } });
});

it("sends a new token to the invited address only, to anybody's request, and changes nothing else", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ NODE_ENV: "production" });
  const staff = await aTeam(world);
  await world.database.models.user.updateMany({ data: { name: "Ann" } });
  const { actor, invitation } = await anInvitee(world, staff);
  const [first] = await mailsOf(world);
  const path = `${url}/teams/invitations/by-id/${invitation.id}`;

  const shown = await ask(path);
  const answer = await ask(`${path}/mail`, { body: {} });
  const waiting = await world.database.models.mail.findMany();
  const [second] = await mailsOf(world);

  expect(shown).toMatchObject({ status: 200, body: { status: "pending", role: "member" } });
  const masked = (email: string) => `${email.slice(0, 1)}…@example.com`;
  expect(shown.body).toMatchObject({
    team_name: "Team",
    invited_by: `Ann (${masked(staff.owner.email)})`,
    masked_email: masked(actor.email),
    expires_at: invitation.expiresAt.toISOString(),
  });
  expect([answer.status, answer.body]).toEqual([202, shown.body]);
  expect(JSON.stringify([shown.body, answer.body])).not.toContain(actor.email);
  expect(waiting).toMatchObject([{ kind: "invitation", email: actor.email, invitationId: invitation.id }]);
  expect([first, second].map((mail) => mail?.to)).toEqual([actor.email, actor.email]);
  const [old, token] = [first, second].map((mail) => tokenIn({ text: mail?.text ?? "" }));
  expect(token).toHaveLength(43);
  expect(token).not.toBe(old);
  expect(await actor.did(acceptInvitation, { token })).toMatchObject({ status: "accepted" });
  // Only what has a known author is recorded.
  const audited = await world.database.models.auditEntry.findMany({ where: { subject: invitation.id } });
  expect(audited.map(({ action }) => action).sort()).toEqual(["acceptInvitation", "inviteMember"]);
});

it("sends a mail that still waits at once, instead of another one", async () => {
  await using world = await createWorld();
  const { actor, invitation } = await anInvitee(world, await aTeam(world));
  const { mail } = world.database.models;
  await mail.updateMany({ data: { dueAt: new Date(Date.now() + 3_600_000), lastError: "refused" } });

  await actor.did(mailInvitation, { invitationId: invitation.id });

  const [waiting, ...others] = await mail.findMany();
  expect(others).toEqual([]);
  expect(waiting?.dueAt.getTime()).toBeLessThanOrEqual(Date.now());
  expect(waiting?.lastError).toBeNull();
});

it("says of one that has ended how it ended, and sends nothing", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { teamId, owner } = staff;
  const [accepted, declined, revoked, expired] = await manyOf(4, () => anInvitee(world, staff));
  await accepted?.actor.did(acceptInvitation, { token: accepted.token });
  await declined?.actor.did(declineInvitation, { token: declined.token });
  await owner.did(revokeInvitation, { teamId, invitationId: revoked?.invitation.id });
  await letExpire(world, expired?.invitation.id ?? "");
  await world.database.models.mail.deleteMany();

  const shown = [];
  for (const invitee of [accepted, declined, revoked, expired]) {
    const input = { invitationId: invitee?.invitation.id };
    const { status } = await owner.did(invitationById, input);
    shown.push(status);
    expect(await owner.does(mailInvitation, input)).toBeRefused("conflict", `invitation_${status}`);
  }
  for (const invitationId of [world.services.newId(), "no-id"]) {
    expect(await owner.does(invitationById, { invitationId })).toBeRefused("not_found", "no_such_invitation");
    expect(await owner.does(mailInvitation, { invitationId })).toBeRefused("not_found", "no_such_invitation");
  }

  expect(shown).toEqual(["accepted", "declined", "revoked", "expired"]);
  expect(await world.database.models.mail.count()).toBe(0);
  expect(world.bugs).toEqual([]);
});

it("sends few mails by one link, and leaves the inviter and others their own invitations", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { teamId, owner } = staff;
  const { actor, invitation } = await anInvitee(world, staff);
  const input = { invitationId: invitation.id };
  const sent = [];
  for (let hour = 0; hour < 2; hour++) {
    for (let n = 0; n <= HOURLY; n++) sent.push((await actor.does(mailInvitation, input)).ok);
    await ageAllowances(world, "1 hour");
  }
  const refused = await actor.does(mailInvitation, input);
  const other = await aTeam(world);

  expect(sent.filter((ok) => ok)).toHaveLength(DAILY);
  expect(sent.slice(0, HOURLY + 1)).toEqual([...Array.from({ length: HOURLY }, () => true), false]);
  expect(refused).toBeRefused("rate_limited", "too_many_mails");
  // The wait is rounded, so that it does not say when others used the link.
  expect(!refused.ok && (refused.failure.retryAfterSeconds ?? 1) % LIMITS.invitations.waitStepSeconds).toBe(0);
  expect((await owner.does(resendInvitation, { teamId, ...input })).ok).toBe(true);
  const invite = { teamId: other.teamId, email: actor.email, role: "member" };
  expect((await other.owner.does(inviteMember, invite)).ok).toBe(true);
});

it("counts with the invitations to the same address, and all links of one inviter together", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const [bob, carol] = [await anInvitee(world, staff), await anInvitee(world, staff)];
  const ofBob = { teamId: staff.teamId, invitationId: bob.invitation.id };
  const { perInviter, perRecipient } = LIMITS.invitations;
  for (let sent = 1; sent < perRecipient[0].limit; sent++) await staff.owner.did(resendInvitation, ofBob);

  const toBob = await bob.actor.does(mailInvitation, { invitationId: bob.invitation.id });
  // Simulates mails by the links of other invitations.
  const times = Array.from({ length: perInviter[0].limit - 1 }, () => new Date());
  const subject = sha256(`links\n${staff.owner.caller.userId}`);
  await world.database.pool.query(
    "INSERT INTO invitation_allowance (subject, sent_at, last_sent_at) VALUES ($1, $2, now())",
    [subject, times],
  );
  const toCarol = [];
  for (let n = 0; n < 2; n++) {
    toCarol.push(await carol.actor.does(mailInvitation, { invitationId: carol.invitation.id }));
  }

  expect(toCarol.map(({ ok }) => ok)).toEqual([true, false]);
  for (const refused of [toBob, toCarol[1]]) expect(refused).toBeRefused("rate_limited", "too_many_mails");
});

it("makes no token for an invitation that has expired or was settled", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const [open, late, revoked] = await manyOf(3, () => anInvitee(world, staff));
  await letExpire(world, late?.invitation.id ?? "");
  await staff.owner.did(revokeInvitation, { teamId: staff.teamId, invitationId: revoked?.invitation.id });

  const made = [];
  for (const one of [open, late, revoked])
    made.push((await newInvitationToken(world.services, one?.invitation.id ?? "")) !== null);

  expect(made).toEqual([true, false, false]);
});

it("sends nothing of an invitation that is deleted at the same moment", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { database, services } = world;
  const ways = [
    (invitationId: string) => staff.member.does(mailInvitation, { invitationId }),
    (invitationId: string) => newInvitationToken(services, invitationId),
  ];

  const outcomes = [];
  for (const begin of ways) {
    const { invitation } = await anInvitee(world, staff);
    const other = await database.pool.connect();
    await other.query("BEGIN");
    await other.query("DELETE FROM invitation WHERE id = $1", [invitation.id]);
    const begun = begin(invitation.id);
    await expect.poll(() => waitingForLocks(world)).toBe(1);
    await other.query("COMMIT");
    other.release();
    outcomes.push(await begun);
  }

  expect(outcomes).toEqual([expect.objectContaining({ ok: false }), null]);
  expect(outcomes[0]).toBeRefused("not_found", "no_such_invitation");
  expect(await database.models.mail.count()).toBe(0);
});

it(`sends as many of ${CALLERS} simultaneous requests as are allowed, without deadlocks`, async () => {
  await using world = await createWorld({ fresh: true });
  const staff = await aTeam(world);
  const { invitation } = await anInvitee(world, staff);
  const input = { teamId: staff.teamId, invitationId: invitation.id };
  await world.database.models.mail.deleteMany();

  const verdicts = await manyAtOnce<Verdict<object>>((index) =>
    index === 0
      ? staff.owner.does(resendInvitation, input)
      : staff.member.does(mailInvitation, { invitationId: invitation.id }),
  );

  expect(tally(verdicts)).toEqual({ ok: HOURLY + 1, too_many_mails: CALLERS - HOURLY - 1 });
  expect(await world.database.models.mail.count()).toBe(1);
  expect(await deadlocks(world)).toBe(0);
});

it("tells the inviter once that the address refuses mails, however often a link sends them", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { actor, invitation } = await anInvitee(world, staff);
  const { mail } = world.database.models;
  const notices = () => mail.count({ where: { kind: "notice", email: staff.owner.email } });

  await markBounced(world.services, invitation.id, "refused");
  await actor.did(mailInvitation, { invitationId: invitation.id });
  await markBounced(world.services, invitation.id, "refused");
  const told = await notices();
  await staff.owner.did(resendInvitation, { teamId: staff.teamId, invitationId: invitation.id });
  await markBounced(world.services, invitation.id, "refused");

  expect([told, await notices()]).toEqual([1, 2]);
});

/** Sends the mails that wait, and returns them. */
async function mailsOf({ database, services }: World): Promise<Message[]> {
  const sent: Message[] = [];
  const mailer = { send: async (message: Message) => void sent.push(message) };
  await sendDueMails({ ...services, database, mailer });
  return sent;
}
