import { expect, it } from "vitest";
import { inviteMember } from "../../../../src/features/teams/invitations/invite-member.js";
import { teamInvitations } from "../../../../src/features/teams/invitations/list-invitations.js";
import { revokeInvitation } from "../../../../src/features/teams/invitations/revoke-invitation.js";
import { leaveTeam } from "../../../../src/features/teams/leave-team.js";
import { ask } from "../../../support/http.js";
import { aTeam, brokenInvariants, letExpire } from "../../../support/teams.js";
import { createWorld } from "../../../support/world.js";

it("invites for seven days and queues the mail; no answer contains the token", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { teamId, owner, admin } = await aTeam(world);
  const body = { email: "carol@example.com", role: "member" };

  const answer = await ask(`${url}/teams/${teamId}/invitations`, { key: admin.key, body });

  expect(answer.status).toBe(201);
  const { id, created_at, expires_at } = answer.body as Record<"id" | "created_at" | "expires_at", string>;
  const link = `${url}/invitations/by-id/${id}`;
  expect(answer.body).toEqual({ id, ...body, status: "pending", bounced_at: null, created_at, expires_at, link });
  expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(7 * 24 * 3_600_000);
  expect(await world.database.models.mail.findMany()).toMatchObject([
    { kind: "invitation", email: body.email, invitationId: id },
  ]);
  const queries = [
    "{ viewer { team { invitations { id email } } } }",
    `{ teamInvitations(teamId: "${teamId}") { invitations { id } } }`,
  ];
  const read = [
    await ask(`${url}/teams/${teamId}/invitations`, { key: owner.key }),
    await ask(`${url}/teams/${teamId}/audit`, { key: owner.key }),
    ...(await Promise.all(queries.map((query) => ask(`${url}/graphql`, { key: owner.key, body: { query } })))),
  ];
  expect(read.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(JSON.stringify([answer.body, ...read.map((each) => each.body)])).not.toMatch(/token|hash/i);
  expect(
    (await ask(`${url}/graphql`, { key: owner.key, body: { query: "{ viewer { team { invitations { token } } } }" } }))
      .status,
  ).toBe(400);
});

const LABEL = "x".repeat(63);

it("stores an address in lower case", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  const rightly = {
    "A+b@X.CO": "a+b@x.co",
    "o'hara@example.com": "o'hara@example.com",
    [`${"A".repeat(64)}@example.com`]: `${"a".repeat(64)}@example.com`,
    [`a@${LABEL}.co`]: `a@${LABEL}.co`,
    "a@xn--bcher-kva.example.com": "a@xn--bcher-kva.example.com",
  };

  const stored: Record<string, string> = {};
  for (const email of Object.keys(rightly)) {
    stored[email] = (await owner.did(inviteMember, { teamId, email, role: "member" })).email;
  }

  expect(stored).toEqual(rightly);
});

it("refuses invalid addresses, and those that look like another one", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world);
  const wrongly: Readonly<Record<string, unknown>> = {
    "a line break and a header": "a@x.co\r\nBcc: v@z.co",
    "a line break at its end": "a@x.co\n",
    "a tab": "a\t@x.co",
    "two addresses with a comma": "a@x.co,b@y.co",
    "two addresses with a semicolon": "a@x.co;b@y.co",
    "two addresses with a space": "a@x.co b@y.co",
    "a display name": "Name <a@x.co>",
    "angle brackets": "<a@x.co>",
    "a label of 64 characters": `a@${"x".repeat(64)}.co`,
    "a local part of 65 characters": `${"a".repeat(65)}@example.com`,
    "255 characters": `${"a".repeat(64)}@${`${LABEL}.`.repeat(2)}${"x".repeat(59)}.co`,
    "10,000 characters": `${"a".repeat(10_000)}@x.co`,
    "the Kelvin sign": "\u212A@x.co",
    "the Kelvin sign in its domain": "a@\u212A.co",
    "a Greek grave accent": "a\u1FEF@x.co",
    "a full-width letter": "\uFF41@x.co",
    "a zero-width space": "a\u200b@x.co",
    "a soft hyphen": "a\u00ad@x.co",
    "a Cyrillic look-alike": "\u0430nn@x.co",
    "a mark that turns its direction": "\u202ea@x.co",
    "a NUL": "a\0@x.co",
    "a lone surrogate": "a\ud800@x.co",
    "no domain": "a@",
    "no local part": "@x.co",
    "two signs": "a@b@x.co",
    "two dots": "a..b@x.co",
    "the address of a machine": "a@[127.0.0.1]",
    "a path": "../../a@x.co/../b",
    "spaces around": " a@x.co ",
    nothing: "",
    null: null,
    "a number": 1,
    "a list": ["a@x.co"],
    "an object": { not: "a" },
  };

  const accepted: string[] = [];
  for (const [what, email] of Object.entries(wrongly)) {
    const verdict = await owner.does(inviteMember, { teamId, email, role: "member" });
    if (verdict.ok) accepted.push(what);
    else expect(verdict, what).toBeRefused("bad_request");
  }

  expect(accepted).toEqual([]);
  expect(await world.database.models.mail.count()).toBe(0);
});

it("accepts the roles admin and member, but not owner", async () => {
  await using world = await createWorld();
  const { teamId, admin } = await aTeam(world);

  expect(await admin.did(inviteMember, { teamId, email: "a@x.co", role: "admin" })).toMatchObject({ role: "admin" });
  for (const role of [undefined, null, "owner", "OWNER", "ADMIN", "Member", "guest", "", ["member"], 1]) {
    const verdict = await admin.does(inviteMember, { teamId, email: "b@x.co", role });
    expect(verdict, JSON.stringify(role)).toBeRefused("bad_request");
  }
});

it("allows one pending invitation for an address, however it is written", async () => {
  await using world = await createWorld();
  const { teamId, owner, admin } = await aTeam(world);
  const invite = (email: string) => admin.does(inviteMember, { teamId, email, role: "admin" });
  const first = await owner.did(inviteMember, { teamId, email: "carol@example.com", role: "member" });

  for (const email of ["carol@example.com", "CAROL@Example.com"]) {
    expect(await invite(email)).toBeRefused("conflict", "invitation_exists");
  }
  expect(await invite("carol+tag@example.com")).toMatchObject({ ok: true });
  await owner.did(revokeInvitation, { teamId, invitationId: first.id });
  expect(await invite("Carol@example.com")).toMatchObject({ ok: true });

  const another = await aTeam(world);
  const elsewhere = { teamId: another.teamId, email: "carol@example.com", role: "member" };
  expect(await another.owner.did(inviteMember, elsewhere)).toMatchObject({ status: "pending" });
  expect(await brokenInvariants(world)).toEqual([]);
});

it("refuses members, but invites members of other teams and former members", async () => {
  await using world = await createWorld();
  const { teamId, owner, member } = await aTeam(world);
  const another = await aTeam(world);
  const invite = (email: string) => owner.does(inviteMember, { teamId, email, role: "member" });

  expect(await invite(owner.email)).toBeRefused("conflict", "already_member");
  expect(await invite(member.email.toUpperCase())).toBeRefused("conflict", "already_member");
  expect(await invite(another.member.email)).toMatchObject({ ok: true });
  await member.did(leaveTeam, { teamId });
  expect(await invite(member.email)).toMatchObject({ ok: true });
});

it("needs a seat that no member and no pending invitation takes", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world, { maxMembers: 4 });
  const invite = (email: string) => owner.does(inviteMember, { teamId, email, role: "member" });
  const { id: invitationId } = await owner.did(inviteMember, { teamId, email: "a@x.co", role: "member" });

  expect(await invite("b@x.co")).toBeRefused("conflict", "team_full");
  await owner.did(revokeInvitation, { teamId, invitationId });
  expect(await invite("b@x.co")).toMatchObject({ ok: true });
  expect(await invite("c@x.co")).toBeRefused("conflict", "team_full");
});

it("frees the seat and the address when it expires", async () => {
  await using world = await createWorld();
  const { teamId, owner } = await aTeam(world, { maxMembers: 4 });
  const invite = (email: string) => owner.does(inviteMember, { teamId, email, role: "member" });
  const first = await owner.did(inviteMember, { teamId, email: "a@x.co", role: "member" });

  await letExpire(world, first.id);

  expect(await invite("a@x.co")).toMatchObject({ ok: true });
  const { invitations } = await owner.did(teamInvitations, { teamId });
  expect(invitations.map(({ id, status }) => [id === first.id, status])).toEqual([
    [false, "pending"],
    [true, "expired"],
  ]);
  await letExpire(world, invitations[0]?.id ?? "");
  expect(await invite("b@x.co")).toMatchObject({ ok: true });
  expect(await brokenInvariants(world)).toEqual([]);
});
