import { describe, expect, it } from "vitest";
import { teamAudit } from "../../src/features/teams/list-audit.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import { myTeam } from "../../src/features/teams/get-team.js";
import { updateTeam } from "../../src/features/teams/update-team.js";
import { LIMITS } from "../../src/limits.js";
import { SCOPES } from "../../src/operation/permission.js";
import { PRODUCT } from "../../src/operation/product.js";
import { failStatements } from "../support/failing-statements.js";
import { opens } from "../support/keys.js";
import { waitingForLocks } from "../support/locks.js";
import { letExpire } from "../support/teams.js";
import { createWorld } from "../support/world.js";

const BOB = "bob@example.com";
const TOKEN = "token of the mail";
const CODE = "12345678";

it("leads from the mail's link into the team: invitation, code, answer, key", async () => {
  await using world = await createWorld();
  const { page, teamId } = await inviteTo(world);

  const first = await page();
  const asked = await page("/code", {});
  await world.giveCode(BOB, CODE);
  const second = await page(asked.location?.slice(asked.location.indexOf("?")));
  const third = await page("/answer", { code: " 1234 5678 ", answer: "accept" });

  expect(first.status).toBe(200);
  expect(first.text).toMatch(/Ann.*invites you to the team.*Platform.*as\s+an admin/s);
  expect(first.text).toMatch(/until \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  expect(first.text).toContain("Send a code to b…@example.com");
  expect(first.text).not.toContain(BOB);
  expect(asked.status).toBe(303);
  expect(await world.database.models.mail.count({ where: { kind: "sign_up", email: BOB } })).toBe(1);
  expect(second.text).toMatch(/<form method="post" action="[^"]+\/answer">/);
  expect(third.status).toBe(200);
  const [key = ""] = /mg_live_\w+/.exec(third.text) ?? [];
  expect(await opens(world, key)).toBe(true);
  const { models } = world.database;
  const keys = await models.apiKey.findMany({ where: { user: { email: BOB } } });
  expect(keys).toMatchObject([{ name: "Invitation", scopes: SCOPES, expiresAt: null }]);
  const members = await models.teamMember.findMany({ where: { teamId, role: "admin" }, include: { user: true } });
  expect(members.map(({ user }) => user.email)).toEqual([BOB]);
  const audited = await models.auditEntry.findMany({ where: { door: "page" }, orderBy: { id: "asc" } });
  expect(audited.map(({ action }) => action)).toEqual(["confirmSignUp", "acceptInvitation"]);
  expect((await page()).status).toBe(409);
  expect((await page()).text).toContain("This invitation was accepted.");
});

it("asks for the code again after a wrong one, and says so", async () => {
  await using world = await createWorld();
  const { page } = await inviteTo(world);
  await world.giveCode(BOB, CODE);

  const wrong = await page("/answer", { code: "00000000", answer: "accept" });
  const right = await page("/answer", { code: CODE, answer: "accept" });

  expect(wrong.status).toBe(400);
  expect(wrong.text).toContain("This code is wrong or has expired. Try again");
  expect(wrong.text).toContain("After 5 attempts only the longer code from the same mail works.");
  expect(wrong.text).toContain('name="code"');
  expect(right.status).toBe(200);
});

it("lets a network try only so many codes, whatever the invitation", async () => {
  await using world = await createWorld();
  const { url, owner, teamId } = await inviteTo(world);
  // Of one invitation, a network also has only so many reads.
  const tokens = [TOKEN, "second", "third"];
  for (const token of tokens.slice(1)) {
    const { id } = await owner.did(inviteMember, { teamId, email: `${token}@example.com`, role: "member" });
    await world.giveToken(id, token);
  }
  const guess = async (token: string) => {
    const body = new URLSearchParams({ code: "00000000", answer: "accept" });
    const answer = await fetch(`${url}/invitations/${encodeURIComponent(token)}/answer`, { method: "POST", body });
    return { status: answer.status, text: await answer.text() };
  };
  const { limit } = LIMITS.signUp.guessesPerNetwork;
  const answers: Awaited<ReturnType<typeof guess>>[] = [];
  for (let number = 0; number <= limit; number++) answers.push(await guess(tokens[number % 3] ?? ""));

  const last = answers.pop();
  expect(last?.status).toBe(429);
  expect(last?.text).toContain(`At most ${limit} attempts with short codes`);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
});

it("locks the team before the person, as every change of a team does, so that none waits in a circle", async () => {
  await using world = await createWorld();
  const { page, teamId } = await inviteTo(world);
  await world.user({ email: BOB });
  await world.giveCode(BOB, CODE);
  const client = await world.database.pool.connect();
  await client.query("BEGIN");
  await client.query("SELECT FROM team WHERE id = $1 FOR UPDATE", [teamId]);

  const answer = page("/answer", { code: CODE, answer: "accept" });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  const { rowCount } = await client.query("SELECT FROM user_account WHERE email = $1 FOR UPDATE NOWAIT", [BOB]);
  await client.query("COMMIT");
  client.release();

  expect(rowCount).toBe(1);
  expect((await answer).status).toBe(200);
});

it("asks for the code again when a phone reloads the address of a form that it had dropped", async () => {
  await using world = await createWorld();
  const { page, linked } = await inviteTo(world);

  for (const form of ["/code", "/answer"]) {
    const { status, location } = await page(form);
    expect([form, status, location]).toEqual([form, 303, (await page("/code", {})).location]);
  }
  const { text } = await page("?code");
  expect(text).toContain('name="code"');
  expect(text).toContain('from the mail to <span class="whole">b…@example.com</span>.');
  expect(text).toMatch(/If none arrives in a few minutes, look among spam\.\s+If it is not there either, ask/);
  const again = await linked("/mail");
  expect(again.status).toBe(303);
  expect(again.location).toBe((await linked("/mail", {})).location?.replace("?mailed", ""));
});

it.each([false, true])(
  "declines for a person, and makes no account and no key (has an account: %s)",
  async (isUser) => {
    await using world = await createWorld();
    const { page, status, owner, teamId } = await inviteTo(world);
    const bob = isUser ? await world.user({ email: BOB }) : undefined;
    await world.giveCode(BOB, CODE);
    const { user, apiKey, auditEntry } = world.database.models;
    const before = [await user.count(), await apiKey.count()];

    const declined = await page("/answer", { code: CODE, answer: "decline" });

    expect(declined.status).toBe(200);
    expect(declined.text).toContain("You declined");
    expect(declined.text).not.toContain("mg_live_");
    expect(await status()).toBe("declined");
    expect([await user.count(), await apiKey.count()]).toEqual(before);
    const { events } = await owner.did(teamAudit, { teamId, action: "declineInvitation" });
    expect(events).toMatchObject([{ actorId: bob?.caller.userId ?? null, keyId: null, door: "page" }]);
    expect(await auditEntry.count({ where: { action: { in: ["confirmSignUp", "revokeApiKey"] } } })).toBe(0);
  },
);

it("refuses a user who is already in a team, and makes no key for them", async () => {
  await using world = await createWorld();
  const { page, status } = await inviteTo(world);
  const bob = await world.user({ email: BOB });
  await bob.did(createTeam, { name: "Bob's own", maxMembers: 2 });
  await world.giveCode(BOB, CODE);

  const refused = await page("/answer", { code: CODE, answer: "accept" });

  expect(refused.status).toBe(409);
  expect(refused.text).toContain("You are already in a team");
  expect(refused.text).toContain("Leave it; if you own it, transfer it before that, or delete it");
  expect(refused.text).not.toContain("mg_live_");
  expect(await status()).toBe("pending");
  const usable = { userId: bob.caller.userId, revokedAt: null };
  expect(await world.database.models.apiKey.count({ where: usable })).toBe(1);
  expect(await bob.did(myTeam)).toMatchObject({ name: "Bob's own" });
});

it("takes a form that is sent several times at once as one answer, and says so to the others", async () => {
  await using world = await createWorld();
  const { page, status } = await inviteTo(world);
  await world.giveCode(BOB, CODE);

  const clicks = await Promise.all([1, 2, 3].map(() => page("/answer", { code: CODE, answer: "accept" })));

  expect(clicks.map((click) => click.status).toSorted()).toEqual([200, 409, 409]);
  for (const { text } of clicks.filter((click) => click.status === 409))
    expect(text).toContain("This invitation was accepted.");
  expect(await status()).toBe("accepted");
  expect(await world.database.models.apiKey.count({ where: { user: { email: BOB } } })).toBe(1);
});

it("keeps the code of an answer that is refused, until there is room", async () => {
  await using world = await createWorld();
  const { page, owner, teamId } = await inviteTo(world);
  await world.giveCode(BOB, CODE);
  await world.database.models.team.update({ where: { id: teamId }, data: { maxMembers: 1 } });

  const full = await page("/answer", { code: CODE, answer: "accept" });
  const keys = await world.database.models.apiKey.count({ where: { user: { email: BOB } } });
  await owner.did(updateTeam, { teamId, maxMembers: 2 });
  const joined = await page("/answer", { code: CODE, answer: "accept" });

  expect(full.status).toBe(409);
  expect(full.text).toContain("The team has no free seat.");
  expect(full.text).toContain(`${encodeURIComponent(TOKEN)}?code">Back to the invitation`);
  expect(keys).toBe(0);
  expect(joined.status).toBe(200);
});

it("takes the same code again when the database fails at any statement of the answer, and makes one key", async () => {
  await using world = await createWorld();
  await using way = await failStatements(world.databaseUrl);
  const { url } = await world.serve({ NODE_ENV: "production", TRUSTED_PROXIES: "1" }, way.url);
  const owner = await world.user();
  const { id: teamId } = await owner.did(createTeam, { name: "Platform", maxMembers: 100 });
  const { invitation, apiKey, teamMember } = world.database.models;

  for (let number = 1; ; number++) {
    const [email, token] = [`bob${number}@example.com`, `token ${number}`];
    const { id } = await owner.did(inviteMember, { teamId, email, role: "member" });
    await world.giveToken(id, token);
    await world.giveCode(email, CODE);
    const send = () =>
      fetch(`${url}/invitations/${encodeURIComponent(token)}/answer`, {
        method: "POST",
        headers: { "x-forwarded-for": `10.0.0.${number}` },
        body: new URLSearchParams({ code: CODE, answer: "accept" }),
      });
    way.fail("lost", number);
    const first = await send();
    const failed = way.stop();
    const second = await send();

    const where = { user: { email } };
    const found = {
      number,
      failed,
      statuses: [first.status, second.status],
      keys: await apiKey.count({ where }),
      members: await teamMember.count({ where }),
    };
    // A statement of the background fails no answer.
    const statuses = first.status === 200 ? [200, 409] : [503, 200];
    expect(found).toEqual({ number, failed, statuses, keys: 1, members: 1 });
    expect((await invitation.findUniqueOrThrow({ where: { id } })).status).toBe("accepted");
    if (failed === undefined) {
      expect(number).toBeGreaterThan(15);
      return;
    }
  }
});

it("links back to the invitation from a page that says to try again", async () => {
  await using world = await createWorld();
  const { page, linked } = await inviteTo(world);
  await world.breakConnections();

  const answers = [await page("/answer", { code: CODE, answer: "accept" }), await page("/code", {}), await page()];
  const mailed = await linked("/mail", {});

  for (const { status, text } of [...answers, mailed]) {
    expect(status).toBe(503);
    expect(text).toContain("Try again in a few seconds.");
  }
  const place = `href="../../invitations/${encodeURIComponent(TOKEN)}`;
  expect(answers[0]?.text).toContain(`${place}?code">Back to the invitation`);
  expect(answers[1]?.text).toContain(`${place}">Back to the invitation`);
  expect(mailed.text).toMatch(/href="\.\.\/\.\.\/\.\.\/invitations\/by-id\/[\w-]{36}">Back to the invitation/);
});

it("shows the status of an ended invitation, and refuses unknown ones", async () => {
  await using world = await createWorld();
  const { page, url, invitationId } = await inviteTo(world);
  await letExpire(world, invitationId);
  await world.giveCode(BOB, CODE);

  const mails = await world.database.models.mail.count();
  const ended = await page();
  const asked = await page("/code", {});
  const late = await page("/answer", { code: CODE, answer: "accept" });
  const unknown = await fetch(`${url}/invitations/nothing`);
  const malformed = await fetch(`${url}/invitations/%ff`);

  expect([ended.status, late.status, unknown.status, malformed.status]).toEqual([409, 409, 404, 400]);
  expect(ended.text).toContain("This invitation has expired.");
  expect(ended.text).not.toContain("<form");
  expect([asked.status, await world.database.models.mail.count()]).toEqual([303, mails]);
  expect(await unknown.text()).toContain("There is no such invitation.");
  for (const { headers } of [unknown, malformed]) expect(headers.get("content-type")).toMatch(/^text\/html/);
  // The code has not been used up.
  expect(await world.database.models.signUpCode.count()).toBe(1);
});

describe("the page of the link", () => {
  it("mails the invitation again, to the invited address only, and shows nothing secret", async () => {
    await using world = await createWorld();
    const { linked, owner } = await inviteTo(world);
    const { mail } = world.database.models;
    await mail.deleteMany();

    const first = await linked();
    const asked = await linked("/mail", {});
    const second = await linked(asked.location?.slice(asked.location.indexOf("?")));

    expect(first.status).toBe(200);
    expect(first.text).toContain(PRODUCT);
    expect(first.text).toMatch(
      /Ann.*invites\s+<span class="whole">b…@example.com<\/span>\s+to the team.*Platform.*as\s+an admin/s,
    );
    expect(first.text).toMatch(/<form method="post" action="[^"]+\/mail">\s*<button class="main">Mail me the link</);
    expect(asked.status).toBe(303);
    expect(await mail.findMany()).toMatchObject([{ kind: "invitation", email: BOB }]);
    expect(second.status).toBe(200);
    expect(second.text).toContain('Look for the mail to <span class="whole">b…@example.com</span>,');
    for (const { text, headers } of [first, second]) {
      for (const secret of [BOB, owner.email, TOKEN]) expect(text).not.toContain(secret);
      expect(headers.get("content-security-policy")).toContain("form-action 'self'");
      expect(headers.get("cache-control")).toBe("no-store, no-transform");
      expect(headers.get("x-robots-tag")).toContain("noindex");
    }
  });

  it.each([
    ["accepted", "This invitation was accepted."],
    ["declined", "ask for another one"],
    ["revoked", "ask for another one"],
    ["expired", "This invitation has expired. If you want to join, ask for another one."],
  ] as const)("says what to do if it was %s, and mails nothing", async (status, said) => {
    await using world = await createWorld();
    const { linked, invitationId } = await inviteTo(world);
    const { models } = world.database;
    await models.invitation.update({ where: { id: invitationId }, data: { status } });
    await models.mail.deleteMany();

    const ended = await linked();
    const asked = await linked("/mail", {});

    expect([ended.status, asked.status]).toEqual([409, 303]);
    expect(ended.text).toContain(said);
    expect(ended.text).not.toContain("<form");
    expect(await models.mail.count()).toBe(0);
  });

  it("is a page also for unknown ids, and no token can be mistaken for it", async () => {
    await using world = await createWorld();
    const { url, invitationId } = await inviteTo(world);
    const read = async (path: string, method = "GET") => {
      const answer = await fetch(`${url}/invitations/${path}`, { method, redirect: "manual" });
      expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
      return [answer.status, (await answer.text()).includes("There is no such invitation.")];
    };

    const unknown = [404, true];
    for (const id of [world.services.newId(), "no-id", `${invitationId}0`]) {
      expect(await read(`by-id/${id}`)).toEqual(unknown);
      expect(await read(`by-id/${id}/mail`, "POST")).toEqual(unknown);
    }
    expect(await read(invitationId)).toEqual(unknown);
    expect(await read("by-id")).toEqual(unknown);
    expect(await read("by-id/%ff")).toEqual([400, false]);
    expect(world.bugs).toEqual([]);
  });

  it("says in words that enough mails were sent, and when to ask again", async () => {
    await using world = await createWorld();
    const { linked } = await inviteTo(world);
    const [{ limit }] = LIMITS.invitations.mailsByLink;
    const statuses = [];
    for (let n = 0; n < limit; n++) statuses.push((await linked("/mail", {})).status);
    const refused = await linked("/mail", {});

    expect(statuses).toEqual(statuses.map(() => 303));
    expect(refused.status).toBe(429);
    expect(refused.text).toContain("Enough mails were sent for now.");
    expect(refused.headers.get("retry-after")).toBe("3600");
  });

  it("links only to paths that a proxy with a prefix finds", async () => {
    await using world = await createWorld();
    const { linked, invitationId } = await inviteTo(world);
    const links = [];
    for (const [path, form] of [[""], ["/mail", {}], ["?mailed"]] as [string, object?][]) {
      const { text, location } = await linked(path, form && {});
      const here = `https://example.com/prefix/invitations/by-id/${invitationId}${path}`;
      const found = Array.from(text.matchAll(/(?:href|action)="(?!data:)([^"]+)"/g), ([, link = ""]) => link);
      links.push(...[...found, ...(location === null ? [] : [location])].map((link) => new URL(link, here).pathname));
    }
    const page = `/prefix/invitations/by-id/${invitationId}`;

    expect(new Set(links)).toEqual(new Set([`${page}/mail`, page]));
  });
});

describe("the page", () => {
  it("explains the service to a newcomer, and after the answer what to do next", async () => {
    await using world = await createWorld();
    const { page, invitationId } = await inviteTo(world);
    await world.giveCode(BOB, CODE);

    const open = await page();
    const accepted = await page("/answer", { code: CODE, answer: "accept" });
    await world.database.models.invitation.updateMany({ where: { id: invitationId }, data: { status: "revoked" } });
    const ended = await page();

    for (const { text } of [open, ended]) expect(text).toContain(PRODUCT);
    expect(accepted.text).toMatch(/<a href="\.\.\/\.\.\/">What to do next/);
    expect(ended.text).toMatch(/You were invited by .* to the team.*ask for another one/s);
  });

  it("links only to paths that a proxy with a prefix finds", async () => {
    await using world = await createWorld();
    const { page } = await inviteTo(world);
    await world.giveCode(BOB, CODE);
    const steps: [path: string, form?: Record<string, string>][] = [
      [""],
      ["/code", {}],
      ["?code"],
      ["/answer", { code: "00000000", answer: "accept" }],
      ["/answer", { code: CODE, answer: "accept" }],
      [""],
    ];
    const links = [];
    for (const [path, form] of steps) {
      const { text, location } = await page(path, form);
      const here = `https://example.com/prefix/invitations/${encodeURIComponent(TOKEN)}${path}`;
      const found = Array.from(text.matchAll(/(?:href|action)="(?!data:)([^"]+)"/g), ([, link = ""]) => link);
      links.push(...[...found, ...(location === null ? [] : [location])].map((link) => new URL(link, here).pathname));
    }
    const invitation = `/prefix/invitations/${encodeURIComponent(TOKEN)}`;

    expect(new Set(links)).toEqual(new Set([`${invitation}/code`, invitation, `${invitation}/answer`, "/prefix/"]));
  });

  it("lets no name change the order of the words around it, also if it is written right to left", async () => {
    await using world = await createWorld();
    const { page, owner, teamId } = await inviteTo(world);
    await owner.did(updateTeam, { teamId, name: "\u05E6\u05D5\u05D5\u05EA 7" });

    const { text } = await page();

    expect(text).toContain("<bdi>\u05E6\u05D5\u05D5\u05EA 7</bdi>");
    expect(text).toContain(`<bdi>Ann</bdi> <bdi>(${owner.email})</bdi>`);
  });

  it("allows no script but its own, is not cached, and sends its URL to no other site", async () => {
    await using world = await createWorld();
    const { page } = await inviteTo(world);
    for (const { headers } of [await page(), await page("/answer", { code: "1", answer: "accept" })]) {
      const policy = headers.get("content-security-policy");
      expect(policy).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      );
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cache-control")).toBe("no-store, no-transform");
      expect(headers.get("x-robots-tag")).toContain("noindex");
    }
  });

  it("shows names as text, never as markup", async () => {
    await using world = await createWorld();
    const evil = `<script>alert(1)</script>"'&`;
    const { page, owner, teamId } = await inviteTo(world);
    await owner.did(updateTeam, { teamId, name: evil });
    await world.database.models.user.updateMany({ data: { name: evil } });

    const { text } = await page();

    expect(text).toContain("&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;&#38;");
    expect(text).not.toContain("<script>alert");
  });

  it.each([
    ["no answer", { code: CODE }],
    ["another answer", { code: CODE, answer: "perhaps" }],
    ["two codes", "code=1&code=2&answer=accept"],
    ["no code", { answer: "accept" }],
    ["an empty code", { code: "", answer: "accept" }],
    ["too much", { code: "1".repeat(5_000), answer: "accept" }, 413],
  ])("refuses a form with %s", async (_what, form, expected = 400) => {
    await using world = await createWorld();
    const { page, status } = await inviteTo(world);
    await world.giveCode(BOB, CODE);

    const refused = await page("/answer", form);

    expect(refused.status).toBe(expected);
    expect(refused.headers.get("content-type")).toMatch(/^text\/html/);
    expect(await status()).toBe("pending");
    expect(world.bugs).toEqual([]);
  });

  it("lets a network request five codes in a quarter of an hour, and says when to retry", async () => {
    await using world = await createWorld();
    const { page } = await inviteTo(world);
    const statuses = [];
    for (let n = 0; n < 5; n++) statuses.push((await page("/code", {})).status);
    const sixth = await page("/code", {});
    expect(statuses).toEqual([303, 303, 303, 303, 303]);
    expect(sixth.status).toBe(429);
    expect(Number(sixth.headers.get("retry-after"))).toBeGreaterThan(800);
    expect(sixth.text).toContain("At most 5 codes for one address and network in 15 minutes. Try again in 15 minutes.");
    // The codes that were sent still work: from there, the person can enter one.
    expect((await page()).text).toContain(`href="../invitations/${encodeURIComponent(TOKEN)}?code">I have a code<`);
  });
});

/**
 * Ann invites Bob, who has no account. `page` requests the page by the token, `linked` the one of the link, or posts a
 * form to a path below it.
 */
async function inviteTo(world: Awaited<ReturnType<typeof createWorld>>) {
  // Mails stay in the queue: the test has the token and the code itself.
  const { url } = await world.serve({ NODE_ENV: "production" });
  const owner = await world.user();
  await world.database.models.user.updateMany({ data: { name: "Ann" } });
  const { id: teamId } = await owner.did(createTeam, { name: "Platform", maxMembers: 5 });
  const { id: invitationId } = await owner.did(inviteMember, { teamId, email: BOB, role: "admin" });
  await world.giveToken(invitationId, TOKEN);
  const pageAt =
    (place: string) =>
    async (path = "", form?: Record<string, string> | string) => {
      const body = form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) };
      const answer = await fetch(`${url}/invitations/${place}${path}`, { redirect: "manual", ...body });
      const { status, headers } = answer;
      return { status, headers, location: headers.get("location"), text: await answer.text() };
    };
  const [page, linked] = [pageAt(encodeURIComponent(TOKEN)), pageAt(`by-id/${invitationId}`)];
  const status = async () =>
    (await world.database.models.invitation.findUniqueOrThrow({ where: { id: invitationId } })).status;
  return { url, owner, teamId, invitationId, page, linked, status };
}
