import { expect, it } from "vitest";
import { createUser } from "../../../src/features/access/create-user.js";
import { suspendUser, unsuspendUser } from "../../../src/features/accounts/manage-user.js";
import { invitation } from "../../../src/features/teams/invitations/get-invitation.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { teamInvitations } from "../../../src/features/teams/invitations/list-invitations.js";
import { LIMITS } from "../../../src/limits.js";
import { ask } from "../../support/http.js";
import { aMemory } from "../../support/memories.js";
import { waitingForLocks } from "../../support/locks.js";
import { aTeam, anInvitee, letExpire } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

it("refuses every key of a suspended user at every door, from the next request on, until unsuspended", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await aMemory(ann);
  const query = "{ viewer { id } }";
  const byRest = () => ask(`${url}/v1/memories`, { key: ann.key });
  const byGraphQL = () => ask(`${url}/graphql`, { key: ann.key, body: { query } });

  await suspendUser(world.services, ann.email.toUpperCase());
  const [rest, graphql] = [await byRest(), await byGraphQL()];
  await unsuspendUser(world.services, ann.email);

  expect(rest.status).toBe(403);
  expect(rest.body).toMatchObject({ error: { code: "forbidden", reason: "account_suspended" } });
  expect(graphql.status).toBe(403);
  expect(graphql.body).toMatchObject({
    errors: [{ extensions: { code: "FORBIDDEN", reason: "account_suspended" } }],
  });
  expect((await byRest()).body).toMatchObject({ memories: [{ title: "A note" }] });
  expect((await byGraphQL()).status).toBe(200);
  expect(world.bugs).toEqual([]);
});

it("gives a suspended address no key by signing up, and says so only to the reader of its mail", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const email = "ann@example.com";
  const ann = await world.user({ email });
  await suspendUser(world.services, email);
  await world.giveCode(email, "01234567");
  const confirm = (code: string) => ask(`${url}/signup/confirm`, { body: { email, code } });

  expect((await confirm("76543210")).body).toMatchObject({ error: { reason: "code_invalid" } });
  expect(await confirm("01234567")).toMatchObject({ status: 403, body: { error: { reason: "account_suspended" } } });
  expect(await world.database.models.apiKey.count({ where: { userId: ann.caller.userId } })).toBe(1);
  // For strangers, this answer would reveal who is a user.
  expect((await ask(`${url}/signup`, { body: { email } })).status).toBe(202);
});

it("revokes the pending invitations of a suspended user, whose mails are then not sent", async () => {
  await using world = await createWorld();
  const { admin, teamId } = await aTeam(world);
  const { actor, token } = await anInvitee(world, { teamId, owner: admin });

  await suspendUser(world.services, admin.email);

  expect(await actor.did(invitation, { token })).toMatchObject({ status: "revoked" });
});

it("lets no invitation through that a suspended user is just sending", async () => {
  await using world = await createWorld();
  const { admin, teamId } = await aTeam(world);
  const other = await world.database.pool.connect();
  await other.query("BEGIN");
  await other.query("SELECT FROM team WHERE id = $1 FOR UPDATE", [teamId]);
  const invite = (email: string) => admin.does(inviteMember, { teamId, email, role: "member" });

  const before = invite("bob@example.com");
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  const suspending = suspendUser(world.services, admin.email);
  await expect.poll(() => waitingForLocks(world)).toBe(2);
  const after = invite("cid@example.com");
  await expect.poll(() => waitingForLocks(world)).toBe(3);
  await other.query("COMMIT");
  other.release();
  await suspending;

  expect([(await before).ok, await after]).toEqual([true, expect.objectContaining({ ok: false })]);
  expect(await after).toBeRefused("forbidden", "account_suspended");
  const rows = await world.database.models.invitation.findMany({ where: { teamId } });
  expect(rows).toMatchObject([{ email: "bob@example.com", status: "revoked" }]);
});

it("leaves the invitations of a suspended user that had expired as they were", async () => {
  await using world = await createWorld();
  const { admin, teamId, owner } = await aTeam(world);
  const { invitation: old } = await anInvitee(world, { teamId, owner: admin });
  await letExpire(world, old.id);

  await suspendUser(world.services, admin.email);

  const { invitations } = await owner.did(teamInvitations, { teamId });
  expect(invitations).toMatchObject([{ status: "expired" }]);
});

it("counts the requests of a suspended user as failed authentications of their address", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await suspendUser(world.services, ann.email);
  const statuses: number[] = [];

  for (let attempt = 0; attempt <= LIMITS.budgets.failedKeysPerAddress; attempt++) {
    statuses.push((await ask(`${url}/me`, { key: ann.key })).status);
  }

  expect(statuses.at(-2)).toBe(403);
  expect(statuses.at(-1)).toBe(429);
});

it("refuses an unknown address, and suspends nobody", async () => {
  await using world = await createWorld();
  await createUser(world.services, { email: "bob@example.com", plan: "free", verified: true });
  await expect(suspendUser(world.services, "ann@example.com")).rejects.toThrow(
    /no user "ann@example.com"\. .*`npm run user -- create`/,
  );
  expect(await world.database.models.user.count({ where: { suspendedAt: { not: null } } })).toBe(0);
});
