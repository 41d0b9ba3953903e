import { randomBytes } from "node:crypto";
import pg from "pg";
import { expect, it } from "vitest";
import { program as graph } from "../../src/commands/graph.js";
import { program as user } from "../../src/commands/user.js";
import { signUp } from "../../src/features/access/sign-up.js";
import { viewer } from "../../src/features/access/viewer.js";
import { changeEmail } from "../../src/features/accounts/change-email.js";
import { updateAccount } from "../../src/features/accounts/update-account.js";
import { moveUserTo } from "../../src/features/accounts/manage-user.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { revokeInvitation } from "../../src/features/teams/invitations/revoke-invitation.js";
import { teamAudit } from "../../src/features/teams/list-audit.js";
import { teamInvitations } from "../../src/features/teams/invitations/list-invitations.js";
import { LIMITS } from "../../src/limits.js";
import { runHere } from "../support/commands.js";
import { ask } from "../support/http.js";
import { opens } from "../support/keys.js";
import { aMemory, miscounted } from "../support/memories.js";
import { columnsWith } from "../support/tables.js";
import { endTogether, startTcpProxy } from "../support/tcp-proxy.js";
import { aTeam } from "../support/teams.js";
import { type World, createWorld } from "../support/world.js";

const PROGRAMS = { user, graph };

/** Runs a command while others may use the database. */
async function run(
  { databaseUrl }: Pick<World, "databaseUrl">,
  name: keyof typeof PROGRAMS,
  ...words: readonly string[]
) {
  const ran = await runHere(PROGRAMS[name], words, { DATABASE_URL: databaseUrl });
  return { ...ran, json: () => JSON.parse(ran.output) as Record<string, unknown> };
}

const EMAIL = "ann@example.com";
const OF_ANN = ["--email", "Ann@Example.com", "--json"];
const MAYBE_DONE = "If it was making a change, look whether that was made before you repeat it.";

it("changes plan, name and verification beside a running server, and shows the result", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const made = (await run(world, "user", "create", ...OF_ANN)).json();
  const key = String(made["key"]);

  expect((await run(world, "user", "plan", ...OF_ANN, "--plan", "pro")).json()).toMatchObject({ plan: "pro" });
  expect((await run(world, "user", "rename", ...OF_ANN, "--name", " Ann ")).json()).toMatchObject({ name: "Ann" });
  expect((await run(world, "user", "verify", ...OF_ANN)).json()["email_verified_at"]).toEqual(expect.any(String));
  await ask(`${url}/v1/memories`, { key, body: { type: "general", title: "A note", content: "Something." } });
  const shown = (await run(world, "user", "show", ...OF_ANN)).json();

  expect(shown).toMatchObject({ user_id: made["user_id"], email: EMAIL, name: "Ann", plan: "pro" });
  expect(shown).toMatchObject({ keys: 1, team: null, memories: 1, suspended_at: null });
  expect((await ask(`${url}/me`, { key })).body).toMatchObject({ plan: "pro", name: "Ann" });
  const { output } = await run(world, "user", "show", "--email", EMAIL);
  expect(output).toMatch(/Address +ann@example.com, verified\nName +Ann\nPlan +pro\n/);
  const entries = await world.database.models.auditEntry.findMany({ where: { door: "operator" } });
  expect(entries.map(({ action }) => action).sort()).toEqual(["createUser", "renameUser", "setPlan", "verifyUser"]);
});

it("says that a change may have been made when the connection breaks while it is confirmed", async () => {
  await using world = await createWorld();
  await using cutting = await startTcpProxy(world.databaseUrl, (near, far) => {
    let isCommitted = false;
    near.on("data", (bytes) => {
      isCommitted ||= bytes.includes("COMMIT");
      far.write(bytes);
    });
    far.on("data", (bytes) => (isCommitted ? near.destroy() : near.write(bytes)));
    endTogether(near, far);
  });

  const { code, errors } = await run({ databaseUrl: cutting.url }, "user", "create", ...OF_ANN);

  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining(MAYBE_DONE) as string });
  expect(await world.database.models.user.count()).toBe(1);
  const wrong = await run({ databaseUrl: "postgres://nobody@127.0.0.1:1/none" }, "user", "create", ...OF_ANN);
  expect(wrong.errors).not.toContain(MAYBE_DONE);
});

it("stores names as the doors do: in NFC, with a length in characters", async () => {
  await using world = await createWorld();
  const ann = await world.user({ email: EMAIL });
  const rename = (name: string) => run(world, "user", "rename", ...OF_ANN, "--name", name);

  expect((await rename(" Zoe\u0308 ")).json()).toMatchObject({ name: "Zo\u00EB" });
  expect((await rename("\u{1F600}".repeat(100))).json()).toMatchObject({ name: "\u{1F600}".repeat(100) });
  for (const name of ["\u{1F600}".repeat(101), "\u200B", `a${"\u0301".repeat(31)}`]) {
    expect(await rename(name)).toMatchObject({ code: 2, output: "" });
    expect(await ann.does(updateAccount, { name })).toMatchObject({ ok: false });
  }
});

it("shows names without the signs that control a terminal", async () => {
  await using world = await createWorld();
  await world.user({ email: EMAIL });
  await run(world, "user", "rename", ...OF_ANN, "--name", "A\u001B]0;x\u0007\nB\u202E\u009Bm علی\u200Cرضا");

  const { output } = await run(world, "user", "show", "--email", EMAIL);

  expect(output).toContain("\nName       A ]0;x B m علی\u200Cرضا\n");
});

it("changes nothing while billing is configured in part: subscriptions would not be ended", async () => {
  await using world = await createWorld();
  await world.user({ email: EMAIL });
  const part = { DATABASE_URL: world.databaseUrl, STRIPE_SECRET_KEY: "sk_test_x", STRIPE_TEAM_PRICE_ID: "price_x" };

  const { code, errors } = await runHere(user, ["delete", ...OF_ANN, "--yes"], part);

  expect(code).not.toBe(0);
  expect(errors).toMatch(/STRIPE_WEBHOOK_SECRET must be set with the other STRIPE_ variables/);
  expect(await world.database.models.user.count({ where: { email: EMAIL } })).toBe(1);
});

it("suspends, unsuspends, revokes keys and deletes", async () => {
  await using world = await createWorld();
  const ann = await world.user({ email: EMAIL });
  await aMemory(ann);
  const mayEnter = () => opens(world, ann.key);

  expect((await run(world, "user", "suspend", ...OF_ANN)).json()["suspended_at"]).toEqual(expect.any(String));
  expect(await run(world, "user", "key", ...OF_ANN)).toMatchObject({ code: 1, output: "" });
  expect((await run(world, "user", "unsuspend", ...OF_ANN)).json()["suspended_at"]).toBeNull();
  expect(await mayEnter()).toBe(true);
  const unsure = await run(world, "user", "revoke-keys", ...OF_ANN);
  expect(unsure).toMatchObject({ code: 2, output: "" });
  expect(unsure.errors).toMatch(/^Nothing was done\. This would revoke 1 key of .*--yes/);
  expect((await run(world, "user", "revoke-keys", ...OF_ANN, "--yes")).json()).toEqual({ email: EMAIL, revoked: 1 });
  expect((await run(world, "user", "revoke-keys", ...OF_ANN, "--yes")).json()).toEqual({ email: EMAIL, revoked: 0 });
  expect(await mayEnter()).toBe(false);
  const asked = await run(world, "user", "delete", ...OF_ANN);
  expect(asked).toMatchObject({ code: 2, output: "" });
  expect(asked.errors).toMatch(/^Nothing was done\. .* with 1 memory permanently.*--yes/);
  const deleted = (await run(world, "user", "delete", ...OF_ANN, "--yes")).json();
  expect(deleted).toEqual({ user_id: ann.caller.userId, deleted: true });
  expect(await world.database.models.user.count()).toBe(0);
});

it("forgets the address of somebody who was only invited or began to sign up, but of no user", async () => {
  await using world = await createWorld();
  const { owner, admin, teamId } = await aTeam(world);
  const { id: invitationId } = await owner.did(inviteMember, { teamId, email: EMAIL, role: "admin" });
  await admin.did(revokeInvitation, { teamId, invitationId });
  await admin.did(inviteMember, { teamId, email: EMAIL, role: "member" });
  await admin.did(signUp, { email: EMAIL });
  await world.giveCode(EMAIL, "01234567");
  const forget = (email: string, ...words: string[]) => run(world, "user", "forget", "--email", email, ...words);
  const { pool } = world.database;

  expect((await forget(EMAIL)).errors).toMatch(/^Nothing was done\. .*--yes/);
  expect(await forget(owner.email, "--yes")).toMatchObject({
    code: 1,
    errors: expect.stringContaining("user -- delete"),
  });
  expect((await columnsWith(pool, EMAIL)).length).toBeGreaterThan(3);
  expect((await forget("Ann@Example.com", "--yes")).output).toBe("Forgot Ann@Example.com. Invitations deleted: 2.\n");

  expect(await columnsWith(pool, EMAIL)).toEqual([]);
  const { events } = await owner.did(teamAudit, { teamId });
  const told = [
    "a deleted address, role: member",
    "a deleted address",
    "a deleted address, role: admin",
    "max_members: 10",
  ];
  expect(events.map(({ detail }) => detail)).toEqual(told);
  await moveUserTo(world.services, admin.email, "new@example.com");
  const { userId } = admin.caller;
  expect((await forget(admin.email, "--yes", "--json")).json()).toMatchObject({
    invitations: 0,
    earlier_address_of: [userId],
  });
  expect((await forget(admin.email, "--yes")).output).toContain(`the user ${userId}, whose audit keeps it`);
});

it("says in words what it has done", async () => {
  await using world = await createWorld();
  const say = async (command: string, ...words: string[]) =>
    (await run(world, "user", command, "--email", EMAIL, ...words)).output;

  const made = await say("create");
  const another = await say("key", "--name", "Laptop");
  const shown = await say("show");
  const done = [
    await say("plan", "--plan", "pro"),
    await say("rename", "--name", "Ann"),
    await say("verify"),
    await say("suspend"),
    (await say("show")).replace(/^[^]*\n(Suspended .*)\n[^]*$/, "$1\n"),
    await say("unsuspend"),
    await say("revoke-keys", "--yes"),
    await say("change-email", "--to", EMAIL),
    await say("delete", "--yes"),
  ];

  const key = String.raw`\n\n  User  \S{36}\n  Key   mg_live_\w{38}   \(shown only now\)\n\n$`;
  expect(made).toMatch(new RegExp(`^Created the user ${EMAIL}, plan free\\.${key}`));
  expect(another).toMatch(new RegExp(`^Created another key for ${EMAIL}\\.${key}`));
  expect(shown).toMatch(/\nAddress +ann@example\.com, not verified\nName +none\nPlan +free\n/);
  expect(shown).toMatch(/\nKeys +2\nTeam +none\nOwn graph +0 memories, 0 bytes\n/);
  expect(shown).toMatch(/\nmg_live_\w{4} +Laptop +never +never +\S{36}\nmg_live_\w{4} +First key +never +never /);
  expect(done).toEqual([
    `Plan pro: ${EMAIL}.\n`,
    `Renamed: ${EMAIL}.\n`,
    `Verified: ${EMAIL}.\n`,
    `Suspended: ${EMAIL}.\n`,
    expect.stringMatching(/^Suspended +since \d{4}-\d\d-\d\d \d\d:\d\d UTC\n$/),
    `No longer suspended: ${EMAIL}.\n`,
    `Revoked keys of ${EMAIL}: 2.\n`,
    `Changed: ${EMAIL}.\n`,
    `Deleted the user ${EMAIL}.\n`,
  ]);
  // No mail tells of what an operator does.
  expect(await world.database.models.mail.count()).toBe(0);
});

it("takes an id wherever it takes an address", async () => {
  await using world = await createWorld();
  const ann = await world.user({ email: EMAIL });
  const { userId } = ann.caller;
  const byId = (command: string, ...words: string[]) => run(world, "user", command, "--id", userId, "--json", ...words);

  expect((await byId("suspend")).json()).toMatchObject({ email: EMAIL, suspended_at: expect.any(String) });
  expect((await byId("unsuspend")).json()).toMatchObject({ suspended_at: null });
  expect((await byId("plan", "--plan", "pro")).json()).toMatchObject({ plan: "pro" });
  expect((await byId("rename", "--name", "Ann")).json()).toMatchObject({ name: "Ann" });
  expect((await byId("verify")).json()).toMatchObject({ email_verified_at: expect.any(String) });
  expect((await byId("change-email", "--to", "new@example.com")).json()).toMatchObject({ email: "new@example.com" });
  expect((await byId("key")).json()).toMatchObject({ user_id: userId });
  expect((await byId("revoke-keys")).errors).toContain("2 keys of new@example.com");
  expect((await byId("revoke-keys", "--yes")).json()).toEqual({ email: "new@example.com", revoked: 2 });
  expect((await byId("delete", "--yes")).json()).toEqual({ user_id: userId, deleted: true });
});

it("revokes the one key that the log names, with those that it made, and leaves the user's others", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ email: EMAIL });
  const bob = await world.user();
  const input = { name: "agent", scopes: ["memories:read", "keys:write"] };
  const made = async (key: string) => ((await ask(`${url}/keys`, { key, body: input })).body as { key: string }).key;
  const agents = await made(ann.key);
  const agentsOwn = await made(agents);
  await ask(`${url}/v1/memories`, { key: agents });
  const line = world.log.find((text) => text.includes('"operations":["memories"]')) ?? "";
  const { user_id: userId, key_id: keyId } = JSON.parse(line) as Record<string, string>;
  const revoke = (id: string, ...words: string[]) =>
    run(world, "user", "revoke-keys", "--id", id, "--key", String(keyId), "--json", ...words);
  expect((await run(world, "user", "show", "--email", EMAIL)).output).toMatch(new RegExp(`agent .* ${keyId}\n`));

  expect(await revoke(String(userId))).toMatchObject({
    code: 2,
    errors: expect.stringContaining("those that it made"),
  });
  expect(await revoke(bob.caller.userId, "--yes")).toMatchObject({
    code: 1,
    errors: expect.stringContaining("no key with the id"),
  });
  expect((await revoke(String(userId), "--yes")).json()).toEqual({ email: EMAIL, revoked: 2 });

  expect(await Promise.all([ann.key, agents, agentsOwn].map((key) => opens(world, key)))).toEqual([true, false, false]);
});

it("lets an operator hand over the team of a suspended owner, whose own keys stay useless", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, admin, teamId } = await aTeam(world);
  const of = (command: string, ...words: string[]) =>
    run(world, "user", command, "--email", owner.email, "--json", ...words);
  const handOver = (key: string) =>
    ask(`${url}/teams/${teamId}/transfer`, { key, body: { user_id: admin.caller.userId } });

  await of("suspend");
  expect((await handOver(owner.key)).body).toMatchObject({ error: { reason: "account_suspended" } });
  expect((await of("revoke-keys", "--yes")).json()).toMatchObject({ revoked: 1 });
  await of("unsuspend");
  const key = String((await of("key")).json()["key"]);
  const statuses = [(await handOver(owner.key)).status, (await handOver(key)).status];
  await of("suspend");

  expect(statuses).toEqual([401, 200]);
  expect((await ask(`${url}/me`, { key })).status).toBe(403);
  const { body } = await ask(`${url}/teams/${teamId}/members`, { key: admin.key });
  expect(body).toMatchObject({
    members: expect.arrayContaining([
      expect.objectContaining({ user_id: admin.caller.userId, role: "owner" }),
      expect.objectContaining({ user_id: owner.caller.userId, role: "admin" }),
    ]) as unknown,
  });
  const removed = await ask(`${url}/teams/${teamId}/members/${owner.caller.userId}`, {
    key: admin.key,
    method: "DELETE",
  });
  expect([removed.status, (await ask(`${url}/teams/${teamId}`, { key: admin.key, method: "DELETE" })).status]).toEqual([
    204, 204,
  ]);
});

it("gives a user the address back that a thief has changed, and forgets the thief's with the account", async () => {
  await using world = await createWorld();
  const thief = "thief@example.com";
  const ann = await world.user({ email: EMAIL });
  const { owner, teamId } = await aTeam(world);
  await world.seat(ann, teamId);
  await world.giveCode(thief, "01234567");
  await ann.did(changeEmail, { email: thief, code: "01234567" });
  await owner.did(inviteMember, { teamId, email: EMAIL, role: "member" });
  const restore = (to: string) => run(world, "user", "change-email", "--email", thief, "--to", to, "--json");

  expect(await restore(owner.email)).toMatchObject({
    code: 1,
    output: "",
    errors: expect.stringContaining("already a user"),
  });
  expect((await restore("Ann@Example.com")).json()).toMatchObject({ user_id: ann.caller.userId, email: EMAIL });

  expect(await ann.did(viewer)).toMatchObject({ email: EMAIL, emailVerifiedAt: expect.any(Date) });
  expect((await owner.did(teamInvitations, { teamId })).invitations).toMatchObject([{ status: "revoked" }]);
  await run(world, "user", "delete", ...OF_ANN, "--yes");
  const details = await world.database.models.auditEntry.findMany({ where: { action: "changeEmail" } });
  expect(details.map(({ detail }) => detail)).toEqual([null, null]);
});

it("refuses with one sentence what it cannot do, with exit code 2 if it was called wrongly", async () => {
  await using world = await createWorld();
  const ann = await world.user({ email: EMAIL });
  const { id } = await ann.did(createTeam, { name: "Team", maxMembers: 5 });
  expect((await run(world, "user", "show", "--email", EMAIL)).output).toContain(`\nTeam       Team (owner), ${id}\n`);
  const attempts: [number, string[]][] = [
    [1, ["show", "--email", "bob@example.com"]],
    [2, ["plan", "--email", EMAIL]],
    [2, ["plan", "--email", EMAIL, "--plan", "team"]],
    [2, ["rename", "--email", EMAIL, "--name", "x".repeat(101)]],
    [2, ["suspend"]],
    [2, ["show"]],
    [2, ["show", "--id", "ann"]],
    [2, ["show", "--id", world.services.newId(), "--email", EMAIL]],
    [1, ["show", "--id", world.services.newId()]],
    [2, ["change-email", "--email", EMAIL, "--to", "bob"]],
    [1, ["change-email", "--email", "bob@example.com", "--to", "cid@example.com"]],
    [1, ["delete", "--email", EMAIL, "--yes"]],
  ];

  const answers = [];
  for (const [, args] of attempts) answers.push(await run(world, "user", ...args));

  for (const [index, { code, output, errors }] of answers.entries()) {
    const lines = errors.trim().split("\n").length;
    expect({ code, output, lines }).toEqual({ code: attempts[index]?.[0], output: "", lines: 1 });
  }
  expect(answers.at(-1)?.errors).toMatch(/owns a team.* a key of theirs, which `npm run user -- key` makes/);
});

it("shows by id or address who a user is: keys without secrets, last use, mails that wait", async () => {
  await using world = await createWorld();
  const made = (await run(world, "user", "create", ...OF_ANN)).json();
  const key = String(made["key"]);
  const id = String(made["user_id"]);
  const { mail, apiKey } = world.database.models;
  const usedAt = new Date("2030-01-02T03:04:05Z");
  await apiKey.updateMany({ data: { lastUsedAt: usedAt } });
  const waiting = { kind: "sign_up", lastError: "550 no", attempts: 3 };
  await mail.create({ data: { id: world.services.newId(), email: EMAIL, ...waiting } });
  await mail.create({ data: { id: world.services.newId(), email: "bob@example.com", ...waiting } });

  const byId = await run(world, "user", "show", "--id", id, "--json");
  const byEmail = await run(world, "user", "show", ...OF_ANN);
  const { output } = await run(world, "user", "show", "--id", id.toUpperCase());

  expect(byId.output).toBe(byEmail.output);
  expect(byId.json()).toMatchObject({
    user_id: id,
    keys: 1,
    last_used_at: usedAt.toISOString(),
    active_keys: [{ prefix: key.slice(0, 12), client: null, last_used_at: usedAt.toISOString(), expires_at: null }],
    mails: [{ kind: "sign_up", attempts: 3, last_error: "550 no" }],
  });
  expect(output).toContain("Last used  2030-01-02 03:04 UTC\n");
  expect(output).toMatch(/\nmg_live_\w{4} +First key +2030-01-02 03:04 UTC +never +\S{36}\n/);
  expect(output).toMatch(/\nsign_up +\d{4}-.* 3 +550 no\n/);
  for (const text of [byId.output, output]) expect(text).not.toContain(key);
});

it("shows all keys of a user, and says how many mails it leaves out", async () => {
  await using world = await createWorld();
  const ann = await world.user({ email: EMAIL });
  const { database, services } = world;
  const { apiKey, mail } = database.models;
  const ids = Array.from({ length: LIMITS.keys.activeWithReplaced }, () => services.newId());
  const key = { userId: ann.caller.userId, name: "Key", prefix: "mg_live_", scopes: [] };
  await apiKey.createMany({ data: ids.slice(1).map((id) => ({ ...key, id, hash: randomBytes(32) })) });
  await mail.createMany({
    data: ids.slice(0, 103).map((id) => ({ id, kind: "notice", email: EMAIL, subject: "One", body: "Two" })),
  });

  const shown = (await run(world, "user", "show", "--email", EMAIL, "--json")).json();
  const { output } = await run(world, "user", "show", "--email", EMAIL);

  expect(shown).toMatchObject({ keys: ids.length, mails_total: 103 });
  expect([shown["active_keys"], shown["mails"]].map((list) => (list as object[]).length)).toEqual([ids.length, 100]);
  expect(output.match(/^mg_live_/gm)).toHaveLength(ids.length);
  expect(output).toMatch(/\n3 more mails wait: `npm run mail -- list` lists those of everybody\.\n$/);
});

it("shows the largest graphs, and whose they are", async () => {
  await using world = await createWorld();
  const ann = await world.user({ email: EMAIL });
  const { owner, teamId } = await aTeam(world);
  expect((await run(world, "graph", "largest")).output).toBe("No graph has a memory.\n");
  await aMemory(ann);
  const teamGraph = await world.database.models.graph.findFirstOrThrow({ where: { teamId } });
  await world.database.models.graphUsage.update({ where: { graphId: teamGraph.id }, data: { memories: 5 } });

  const found = (await run(world, "graph", "largest", "--json")).json();
  const one = await run(world, "graph", "largest", "--limit", "1");

  const graph_id = ann.caller.personalGraphId;
  expect(found["graphs"]).toMatchObject([
    { graph_id: teamGraph.id, memories: 5, team_id: teamId, email: owner.email },
    { graph_id, memories: 1, user_id: ann.caller.userId, team_id: null, email: EMAIL },
  ]);
  expect(one.output).toMatch(
    new RegExp(`^GRAPH +MEMORIES +BYTES +OWNER\n${teamGraph.id} +5 +\\d+ +team .* of ${owner.email}\n\n(.*)\n$`),
  );
  expect(one.output).toContain("\nThere are more: --limit shows up to 1000 of them.\n");
  expect([found["more"], (await run(world, "graph", "largest", "--limit", "1", "--json")).json()["more"]]).toEqual([
    false,
    true,
  ]);
  await world.database.models.graph.update({ where: { id: graph_id }, data: { userId: null } });
  expect((await run(world, "graph", "largest")).output).toMatch(new RegExp(`\n${graph_id} +1 +\\d+ +deleted\n$`));
  for (const limit of ["0", "1001", "x"]) {
    expect(await run(world, "graph", "largest", "--limit", limit)).toMatchObject({ code: 2, output: "" });
  }
});

it("finds graphs with wrong stored sizes, and corrects them with --repair", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann);
  const graphId = ann.caller.personalGraphId;
  await world.database.models.graphUsage.update({ where: { graphId }, data: { memories: 5 } });

  const found = await run(world, "graph", "verify", "--json");
  const shown = await run(world, "graph", "verify");
  const repaired = await run(world, "graph", "verify", "--repair");

  expect(found.code).toBe(1);
  expect(found.json()).toMatchObject({ repaired: false, graphs: [{ graph_id: graphId, counted: { memories: 5 } }] });
  expect(shown).toMatchObject({ code: 1, output: expect.stringContaining("Wrong: 1. --repair corrects them.") });
  expect(repaired.output).toMatch(
    /^\S{36}  stored: 5 memories, \d+ bytes; real: 1 memory, \d+ bytes\nCorrected: 1\.\n$/,
  );
  expect(repaired.code).toBe(0);
  expect(await miscounted(world)).toEqual([]);
  expect(await run(world, "graph", "verify")).toMatchObject({
    code: 0,
    output: "The stored sizes of all graphs are correct.\n",
  });
});

it("says that a busy server may hold what a deletion needs, and deletes nothing", async () => {
  await using world = await createWorld();
  const { email, caller } = await world.user();
  const server = new pg.Client(world.databaseUrl);
  await server.connect();
  await using _connection = { [Symbol.asyncDispose]: () => server.end() };
  await server.query("BEGIN");
  await server.query("SELECT FROM user_account WHERE id = $1 FOR UPDATE", [caller.userId]);

  const { code, errors } = await run(world, "user", "delete", "--email", email, "--yes");

  expect([code, errors]).toEqual([1, expect.stringMatching(/^Other work has locked .* a change on a busy server, /)]);
  expect(await world.database.models.user.count({ where: { email } })).toBe(1);
});

it("says which sizes it has corrected when a later graph is locked", async () => {
  await using world = await createWorld();
  for (const actor of [await world.user(), await world.user()]) await aMemory(actor);
  const { graphUsage } = world.database.models;
  await graphUsage.updateMany({ data: { memories: 5 } });
  const graphs = await graphUsage.findMany({ orderBy: { graphId: "asc" } });
  const [first, last] = [graphs[0]?.graphId, graphs.at(-1)?.graphId];
  const other = new pg.Client(world.databaseUrl);
  await other.connect();
  try {
    await other.query("BEGIN");
    await other.query("SELECT FROM graph_usage WHERE graph_id = $1 FOR UPDATE", [last]);

    const { code, output, errors } = await run(world, "graph", "verify", "--repair");

    expect([code, output]).toEqual([1, expect.stringMatching(new RegExp(`^${first}  stored: 5 .*\n$`))]);
    expect(errors).toMatch(/^Other work has locked /);
  } finally {
    await other.end();
  }
  const { output } = await run(world, "graph", "verify", "--repair");
  expect(output).toMatch(new RegExp(`^${last}  .*\nCorrected: 1[.]\n$`));
});
