import { describe, expect, it } from "vitest";
import { createApiKey } from "../../../src/features/access/create-api-key.js";
import { viewer } from "../../../src/features/access/viewer.js";
import { deleteAccount } from "../../../src/features/accounts/delete-account.js";
import { deleteUser } from "../../../src/features/accounts/delete-user.js";
import { moveUserTo } from "../../../src/features/accounts/manage-user.js";
import { changeEmail } from "../../../src/features/accounts/change-email.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { reconcileAccount } from "../../../src/features/billing/reconcile.js";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { resendInvitation } from "../../../src/features/teams/invitations/resend-invitation.js";
import { revokeInvitation } from "../../../src/features/teams/invitations/revoke-invitation.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { invitation } from "../../../src/features/teams/invitations/get-invitation.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { forgetAbandonedGraph } from "../../../src/features/memories/abandoned-graphs.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { teamAudit } from "../../../src/features/teams/list-audit.js";
import { teamMembers } from "../../../src/features/teams/members/list-members.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { NOBODY } from "../../../src/operation/audit.js";
import { contextOf } from "../../../src/operation/context.js";
import { execute } from "../../../src/operation/execute.js";
import type { Operation } from "../../../src/operation/operation.js";
import { openDatabase } from "../../../src/platform/database/database.js";
import { createBillingWorld } from "../../support/billing.js";
import { failStatements } from "../../support/failing-statements.js";
import { ask } from "../../support/http.js";
import { opens } from "../../support/keys.js";
import { sendAll, startMailServer } from "../../support/mail-server.js";
import { waitingForLocks } from "../../support/locks.js";
import { aLink, aMemory, miscounted } from "../../support/memories.js";
import { PATIENT } from "../../support/patience.js";
import { countTrips } from "../../support/round-trips.js";
import { deadlocks, manyAtOnce } from "../../support/races.js";
import { roundsOf } from "../../support/rounds.js";
import { columnsWith } from "../../support/tables.js";
import { aTeam, anInvitee, brokenInvariants, tally } from "../../support/teams.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

const PERSONAL = { graph: "personal" };
const goes = (actor: Actor) => actor.does(deleteAccount, { email: actor.email });

it("deletes all personal data in every column of every table, and keeps the team's data", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, admin, member, teamId } = await aTeam(world);
  const email = "zoe.unmistakable@example.com";
  const { actor: zoe, token } = await invite(world, owner, teamId, email);
  await world.database.models.user.update({ where: { id: zoe.caller.userId }, data: { name: "Zoe Unmistakable" } });
  await ask(`${url}/teams/invitations/${token}/accept`, { key: zoe.key, method: "POST" });
  const shared = await aMemory(zoe, { title: "For all" });
  const [one, two] = [await aMemory(zoe, PERSONAL), await aMemory(zoe, PERSONAL)];
  await aLink(zoe, one, two, PERSONAL);
  await world.giveCode(email, "01234567");
  await ask(`${url}/signup`, { body: { email } });
  const note = { type: "general", title: "Zoe's", content: email, ...PERSONAL };
  await ask(`${url}/v1/memories`, { key: zoe.key, headers: { "idempotency-key": "one" }, body: note });
  const other = await world.user();
  const { id: otherTeam } = await other.did(createTeam, { name: "Other", maxMembers: 5 });
  const pending = await other.did(inviteMember, { teamId: otherTeam, email, role: "member" });
  await other.did(resendInvitation, { teamId: otherTeam, invitationId: pending.id });
  await other.did(revokeInvitation, { teamId: otherTeam, invitationId: pending.id });
  await admin.does(inviteMember, { teamId, email: `x${email}`, role: "member" });
  expect((await columnsWith(world.database.pool, email)).length).toBeGreaterThan(4);
  // A mail that is just being sent would store its code after the deletion.
  const { graph, mail } = world.database.models;
  await expect.poll(() => mail.count()).toBe(0);

  const answer = await ask(`${url}/users/me`, { key: zoe.key, method: "DELETE", body: { email: email.toUpperCase() } });
  // The server's own job may hold the graph.
  const emptied = async () => {
    while (await forgetAbandonedGraph(world.services));
    return graph.count({ where: { userId: null, teamId: null } });
  };
  await expect.poll(emptied).toBe(0);
  // The notice of the deletion.
  await expect.poll(() => mail.count()).toBe(0);

  expect(answer.status).toBe(204);
  expect(await opens(world, zoe.key)).toBe(false);
  expect(await columnsWith(world.database.pool, email)).toEqual([]);
  expect(await columnsWith(world.database.pool, "Zoe Unmistakable")).toEqual([]);
  expect(await world.database.models.memory.count()).toBe(1);
  expect(await member.did(memory, { id: shared.id })).toMatchObject({ createdBy: zoe.caller.userId });
  expect((await owner.did(teamMembers, { teamId })).members).toHaveLength(3);
  const { events } = await owner.did(teamAudit, { teamId });
  expect(events[0]).toMatchObject({ action: "deleteAccount", subject: zoe.caller.userId });
  expect(events.map(({ detail }) => detail)).toContain("a deleted address, role: member");
  expect(events.map(({ detail }) => detail)).toContain(`x${email}, role: member`);
  expect(await brokenInvariants(world)).toEqual([]);
  expect(await miscounted(world)).toEqual([]);
  expect(world.bugs).toEqual([]);
});

it("answers a repetition as any key that is not valid, and names the deletion among the reasons", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key, email } = await world.user();
  const remove = async (secret: string) => {
    const { status, body } = await ask(`${url}/users/me`, { key: secret, method: "DELETE", body: { email } });
    return [status, body];
  };

  const answers = [await remove(key), await remove(key), await remove("mg_live_unknown")];

  const message = expect.stringMatching(/^Send a valid API key .* its account is deleted\.$/);
  const refused = [401, { error: { code: "unauthorized", message } }];
  expect(answers).toEqual([[204, ""], refused, refused]);
});

it("deletes the addresses that the account had before, but not what came to them after the change", async () => {
  await using world = await createWorld();
  const { owner, teamId } = await aTeam(world);
  const [first, second, last] = ["zoe.one@example.com", "zoe.two@example.com", "zoe.three@example.com"];
  const { actor: zoe, token } = await invite(world, owner, teamId, first);
  await zoe.did(acceptInvitation, { token });
  const heir = await world.user();
  const { id: otherTeam } = await heir.did(createTeam, { name: "Other", maxMembers: 5 });
  const { id: invitationId } = await heir.did(inviteMember, { teamId: otherTeam, email: first, role: "admin" });
  for (const email of [second, last]) {
    await world.giveCode(email, "01234567");
    await zoe.did(changeEmail, { email, code: "01234567" });
  }
  // The address is no longer theirs, but these entries are about an invitation of before.
  await heir.did(resendInvitation, { teamId: otherTeam, invitationId });
  await heir.did(revokeInvitation, { teamId: otherTeam, invitationId });
  await heir.did(inviteMember, { teamId: otherTeam, email: second, role: "member" });

  await zoe.did(deleteAccount, { email: last });
  await world.database.models.mail.deleteMany({ where: { kind: "notice" } });

  expect(await columnsWith(world.database.pool, first)).toEqual([]);
  expect(await columnsWith(world.database.pool, last)).toEqual([]);
  expect(await columnsWith(world.database.pool, second)).toEqual([
    "audit_entry.detail",
    "invitation.email",
    "mail.email",
  ]);
  const { events } = await owner.did(teamAudit, { teamId });
  expect(events.map(({ detail }) => detail)).toContain("a deleted address, role: member");
});

it("tells by mail of the deletion, and of changes of the address before it, and then keeps no address", async () => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const { database } = world;
  const zoe = await world.user({ email: "zoe@example.com" });
  const bob = await world.user({ email: "bob@example.com" });
  await database.models.user.update({ where: { id: bob.caller.userId }, data: { emailVerifiedAt: null } });
  await world.giveCode("thief@example.com", "01234567");
  await zoe.did(changeEmail, { email: "thief@example.com", code: "01234567" });

  await zoe.did(deleteAccount, { email: "thief@example.com" });
  await bob.did(deleteAccount, { email: bob.email });
  expect(await columnsWith(database.pool, "thief@")).toEqual(["mail.body", "mail.email"]);
  await sendAll(world, smtp.url);

  const told = smtp.mails.map(({ to, subject }) => [to, subject]).toSorted();
  expect(told).toEqual([
    ["thief@example.com", "The address of your Memory Graph account has changed"],
    ["thief@example.com", "Your Memory Graph account has been deleted"],
    ["zoe@example.com", "The address of your Memory Graph account has changed"],
  ]);
  expect(await columnsWith(database.pool, "@example.com")).toEqual([]);
});

it("deletes thousands of earlier addresses with a few statements", async () => {
  await using world = await createWorld();
  await using way = await countTrips(world.databaseUrl);
  const { url } = await world.serve({}, way.url);
  const { owner, teamId } = await aTeam(world);
  await owner.did(inviteMember, { teamId, email: "old.2500@example.com", role: "member" });
  const zoe = await world.user();
  const { userId } = zoe.caller;
  await world.database.models.auditEntry.createMany({
    data: Array.from({ length: 2_500 }, (_, n) => ({
      id: world.services.newId(),
      actorId: userId,
      subject: userId,
      action: "changeEmail",
      door: "rest",
      detail: `old.${n + 1}@example.com`,
    })),
  });

  const before = way.trips;
  const answer = await ask(`${url}/users/me`, { key: zoe.key, method: "DELETE", body: { email: zoe.email } });

  expect(answer.status).toBe(204);
  // With those of background jobs, which may run meanwhile.
  expect(way.trips - before).toBeLessThan(500);
  expect(await columnsWith(world.database.pool, "old.")).toEqual([]);
});

it("deletes the address from requests to the payment provider, but for one that may have to be resent", async () => {
  await using world = await createWorld();
  const { member, teamId } = await aTeam(world);
  const { billingAccount, billingRequest } = world.database.models;
  await billingAccount.create({ data: { teamId } });
  const request = { params: { email: member.email } };
  const asked = { teamId, kind: "customer", request, actorId: member.caller.userId, door: "rest" };
  await billingRequest.create({ data: { ...asked, id: world.services.newId() } });
  await billingRequest.create({
    data: { ...asked, id: world.services.newId(), outcome: "done", endedAt: new Date() },
  });
  await billingRequest.create({
    data: { ...asked, id: world.services.newId(), kind: "checkout", outcome: "done", endedAt: new Date() },
  });

  await member.did(deleteAccount, { email: member.email });

  const requests = await billingRequest.findMany({ orderBy: { id: "asc" } });
  expect(requests.map((row) => row.request)).toEqual([request, {}, request]);
});

it("keeps the address in a request to the payment provider no longer than it may have to be resent", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, admin, teamId } = await aTeam(world);
  world.stripe.fail({ kind: "cut-before", times: 2, path: /^\/v1\/customers/ });
  expect(await owner.does(createTeamCheckout)).toBeRefused("payment_provider_error");
  await owner.did(transferTeam, { teamId, userId: admin.caller.userId });
  await owner.did(deleteAccount, { email: owner.email });
  await world.database.models.mail.deleteMany();
  expect(await columnsWith(world.database.pool, owner.email)).toEqual(["billing_operation.request"]);

  await reconcileAccount(world.services, teamId);

  expect(await columnsWith(world.database.pool, owner.email)).toEqual([]);
});

it("needs the caller's own address, in any case, and changes nothing for another one", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user({ email: "ann@example.com" }), await world.user()];

  for (const email of [bob.email, "", "ann@example.co", "\u212aann@example.com"]) {
    expect(await ann.does(deleteAccount, { email })).toBeRefused("bad_request");
  }

  expect((await ann.did(viewer)).email).toBe("ann@example.com");
  expect((await ann.does(deleteAccount, { email: "Ann@Example.COM" })).ok).toBe(true);
});

it("refuses the owner of a team until it is transferred or deleted, and a key that lacks a scope", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id: teamId } = await ann.did(createTeam, { name: "Team", maxMembers: 5 });
  const { key } = await ann.did(createApiKey, { name: "Most", scopes: ["keys:write", "memories:write"] });

  expect(await goes(ann)).toBeRefused("conflict", "owner_must_transfer");
  expect(await goes(await ann.withKey(key))).toBeRefused("forbidden", "scope_missing");
  await ann.did(deleteTeam, { teamId });
  expect((await goes(ann)).ok).toBe(true);
  await expect(goes(ann)).resolves.toMatchObject({ ok: false, failure: { kind: "unauthorized" } });
});

it("lets the same address sign up again, as a new user", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ email: "ann@example.com" });
  await aMemory(ann);
  await ann.did(deleteAccount, { email: ann.email });

  await world.giveCode(ann.email, "01234567");
  const { body } = await ask(`${url}/signup/confirm`, { body: { email: ann.email, code: "01234567" } });

  const { key, user_id: userId } = body as { key: string; user_id: string };
  expect(userId).not.toBe(ann.caller.userId);
  expect((await ask(`${url}/v1/memories`, { key })).body).toEqual({ memories: [], next_cursor: null });
});

it("revokes the invitations that the user sent, which can still be read", async () => {
  await using world = await createWorld();
  const { admin, teamId } = await aTeam(world);
  const { actor, token } = await anInvitee(world, { teamId, owner: admin });

  await goes(admin);

  expect(await actor.did(invitation, { token })).toMatchObject({
    status: "revoked",
    invitedBy: "somebody who has left",
  });
});

describe("at the same moment", () => {
  it("deletes once, even with many requests", async () => {
    await using world = await createWorld();
    const { owner, member, teamId } = await aTeam(world);

    const verdicts = await manyAtOnce(() => goes(member));

    expect(tally(verdicts)["ok"]).toBe(1);
    expect(Object.keys(tally(verdicts)).sort()).toEqual(["ok", "unauthorized"]);
    expect((await owner.did(teamMembers, { teamId })).members).toHaveLength(2);
    expect(await brokenInvariants(world)).toEqual([]);
  });

  it("completes the user's requests before the deletion, and refuses later ones like an unknown key", async () => {
    for (let round = 0; round < roundsOf(5); round++) {
      await using world = await createWorld();
      const { owner, teamId } = await aTeam(world);
      const { actor, token } = await anInvitee(world, { teamId, owner });
      const { url } = await world.serve();
      const post = (path: string, body?: object) =>
        ask(url + path, { key: actor.key, method: "POST", headers: { "idempotency-key": path }, body: body ?? {} });

      const answers = await Promise.all([
        post("/v1/memories", { type: "general", title: "A note", content: "Something." }),
        post("/keys", { name: "Another" }),
        ask(`${url}/users/me`, { key: actor.key, method: "DELETE", body: { email: actor.email } }),
        post(`/teams/invitations/${encodeURIComponent(token)}/accept`),
        post("/teams", { name: "Mine", max_members: 3 }),
        ask(`${url}/me`, { key: actor.key }),
      ]);

      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => ![200, 201, 204, 401, 404, 409, 503].includes(status))).toEqual([]);
      expect(await brokenInvariants(world)).toEqual([]);
      expect(world.bugs).toEqual([]);
    }
  });

  it("takes the user out of a team that they are just joining", async () => {
    await using world = await createWorld();
    const { owner, teamId } = await aTeam(world);
    const ann = await world.user();
    const joining = await world.database.pool.connect();
    await joining.query("BEGIN");
    const member = [ann.caller.userId, teamId];
    await joining.query("INSERT INTO team_member (user_id, team_id, role) VALUES ($1, $2, 'member')", member);

    const going = goes(ann);
    await expect.poll(() => waitingForLocks(world)).toBe(1);
    await joining.query("COMMIT");
    joining.release();

    expect((await going).ok).toBe(true);
    const { events } = await owner.did(teamAudit, { teamId });
    expect(events[0]).toMatchObject({ action: "deleteAccount", subject: ann.caller.userId });
    expect(await brokenInvariants(world)).toEqual([]);
  });

  it("causes no deadlock while members and owner join and leave", async () => {
    await using world = await createWorld({ fresh: true });
    const { owner, admin, member } = await aTeam(world);

    await Promise.all([goes(member), goes(admin), goes(owner)]);

    expect(await deadlocks(world)).toBe(0);
    expect(await brokenInvariants(world)).toEqual([]);
  });
});

it("refuses the running requests of a deleted user like an unknown key", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const context = contextOf(world.services, { caller: ann.caller, door: "rest", clientAddress: "127.0.0.1" });
  await goes(ann);

  const began = <Input extends object>(operation: Operation<Input>, input: Input) =>
    execute(operation, context, Object.assign(new operation.input(), input));
  const refused = { kind: "unauthorized" };

  await expect(began(viewer, {})).rejects.toMatchObject(refused);
  await expect(began(createTeam, { name: "Team", maxMembers: 5 })).rejects.toMatchObject(refused);
  await expect(began(createApiKey, { name: "Another" })).rejects.toMatchObject(refused);
});

async function invite(world: World, owner: Actor, teamId: string, email: string) {
  const actor = await world.user({ email });
  const { id } = await owner.did(inviteMember, { teamId, email, role: "member" });
  const token = `token of ${id}`;
  await world.giveToken(id, token);
  return { actor, token };
}

it("forgets the address that a user has at the end, wherever it pauses while that changes, and nobody else's", async () => {
  await using world = await createWorld();
  const { services, database } = world;
  const { mail, signUpCode, user } = database.models;
  let meanwhile = async () => {};
  await using way = await failStatements(world.databaseUrl, { meanwhile: () => meanwhile() });
  await using slow = openDatabase(way.url, () => {}, PATIENT);
  // What it needs may be locked by the paused deletion.
  await using hasty = openDatabase(world.databaseUrl, () => {}, { ...PATIENT, lockWaitMs: 100 });
  const moved = new Set<boolean>();

  for (let number = 1; ; number++) {
    const [address, later] = [`ann.${number}@example.com`, `later.${number}@example.com`];
    const { userId } = (await world.user({ email: address })).caller;
    let hasMoved = false;
    const move = async () => {
      await moveUserTo({ ...services, database: hasty }, userId, later);
      hasMoved = true;
      await world.giveCode(later, "01234567");
      // Somebody else signs up by the address.
      await world.giveCode(address, "01234567");
    };
    meanwhile = () => move().catch(() => {});
    way.fail("late", number);
    const deletion = { action: "deleteAccount", actor: NOBODY, isTold: true } as const;
    await deleteUser({ ...services, database: slow, door: "rest" }, userId, deletion);
    const statement = way.stop();

    const left = await signUpCode.findMany({ where: { email: { in: [address, later] } }, select: { email: true } });
    const told = await mail.findMany({ where: { email: { in: [address, later] } }, select: { email: true } });
    expect({ statement, left, told }).toEqual({
      statement,
      left: hasMoved ? [{ email: address }] : [],
      told: [{ email: hasMoved ? later : address }],
    });
    expect(await user.count({ where: { id: userId } })).toBe(0);
    moved.add(hasMoved);
    if (statement === undefined) break;
  }

  expect(moved.size).toBe(2);
});
