import { describe, expect, it } from "vitest";
import { createTeam } from "../../src/features/teams/create-team.js";
import { revokeInvitation } from "../../src/features/teams/invitations/revoke-invitation.js";
import { teamAudit } from "../../src/features/teams/list-audit.js";
import { removeMember } from "../../src/features/teams/members/remove-member.js";
import { barriersOn, smallTargetsOn } from "../support/accessibility.js";
import { CODE, signedIn, textOf, visit } from "../support/account-page.js";
import { describeInBrowser } from "../support/browser.js";
import { paleFields, paleTexts } from "../support/contrast.js";
import { startPrefixProxy } from "../support/prefix-proxy.js";
import { aTeam, anInvitee, brokenInvariants, manyOf } from "../support/teams.js";
import { type World, createWorld } from "../support/world.js";

const INVITED = "bob@example.com";
const LIST_OF = 25;

/** A team of three with an invitation, a server, and what each form sends. */
async function aPlace(world: World) {
  const app = await world.serve();
  const staff = await aTeam(world);
  const { invitation, actor: invitee } = await anInvitee(world, staff);
  const team = { team: staff.teamId };
  const member = { ...team, member: staff.member.caller.userId };
  const waiting = { ...team, invitation: invitation.id };
  const forms: Readonly<Record<string, Record<string, string>>> = {
    "/invite": { ...team, email: INVITED, role: "member" },
    "/resend": waiting,
    "/revoke": { ...waiting, sure: "on" },
    "/role": { ...member, role: "admin" },
    "/remove": { ...member, sure: "on" },
    "/leave": { ...team, sure: "on" },
  };
  const send = (visitor: Pick<ReturnType<typeof visit>, "send">, path: string, change: Record<string, string> = {}) =>
    visitor.send(path, { ...forms[path], ...change });
  return { ...staff, invitation, invitee, forms, send, at: { ...world, app } };
}

/** What the forms may change, to compare it. */
async function stateOf({ database: { models } }: World) {
  const [members, invitations, recorded] = await Promise.all([
    models.teamMember.findMany({ orderBy: { userId: "asc" } }),
    models.invitation.findMany({ orderBy: { id: "asc" } }),
    models.auditEntry.count({ where: { teamId: { not: null } } }),
  ]);
  return { members, invitations, recorded };
}

describe.each(["owner", "admin"] as const)("an %s", (role) => {
  it("fills the team's seats: invites, sends again, revokes, changes a role, removes", async () => {
    await using world = await createWorld();
    const place = await aPlace(world);
    const { at, send, teamId, owner, member, invitation, invitee } = place;
    const visitor = await signedIn(at, place[role]);
    const page = textOf((await visitor.open()).text);
    for (const { email } of [owner, place.admin, member, invitee]) expect(page).toContain(email);
    expect(page).toContain(`/invitations/by-id/${invitation.id}`);
    expect(page).toContain(`${place[role].email} (you)`);

    for (const path of ["/invite", "/resend", "/revoke", "/role", "/remove"]) {
      expect([path, (await send(visitor, path)).location]).toEqual([path, "../account?done#people"]);
    }
    expect((await visitor.get("?done")).text).toMatch(/id="people">\s*<p role="status">Done\.<\/p>.*bob@example\.com/s);
    const { events } = await owner.did(teamAudit, { teamId });
    expect(events.slice(0, 5).map(({ action, door }) => `${action} ${door}`)).toEqual([
      "removeMember page",
      "updateMemberRole page",
      "revokeInvitation page",
      "resendInvitation page",
      "inviteMember page",
    ]);
    const after = await stateOf(world);
    expect(after.members.map(({ userId }) => userId)).not.toContain(member.caller.userId);
    expect(after.invitations.map(({ email, status }) => `${email} ${status}`).toSorted()).toEqual(
      [`${INVITED} pending`, `${invitee.email} revoked`].toSorted(),
    );
    expect(textOf((await visitor.open()).text)).not.toContain(member.email);
  });
});

it("shows each member the forms that the role permits, and none for the owner or oneself", async () => {
  await using world = await createWorld();
  const { at, owner, admin, member, invitee } = await aPlace(world);
  const seen = async (actor: typeof owner) => {
    const { text } = await (await signedIn(at, actor)).open();
    const forms = [...text.matchAll(/action="\.\/account(\/[a-z-]+)"/g)].map(([, path]) => path);
    const changed = [...text.matchAll(/<summary aria-label="Change ([^"]+)"/g)].map(([, email]) => email);
    return { forms: [...new Set(forms)].toSorted(), changed: changed.toSorted(), text: textOf(text) };
  };
  const managed = ["/invite", "/remove", "/resend", "/revoke", "/role", "/sign-out"];
  const byOwner = await seen(owner);
  expect(byOwner.forms).toEqual([...managed, "/size"]);
  expect(byOwner.changed).toEqual([admin.email, member.email, invitee.email].toSorted());
  const byAdmin = await seen(admin);
  expect(byAdmin.forms).toEqual(["/invite", "/leave", ...managed.slice(1)]);
  expect(byAdmin.changed).toEqual([member.email, invitee.email].toSorted());
  const byMember = await seen(member);
  expect(byMember.forms).toEqual(["/leave", "/sign-out"]);
  expect(byMember.changed).toEqual([]);
  expect(byMember.text).toContain(owner.email);
  expect(byMember.text).not.toContain(invitee.email);
});

it("refuses what the role does not permit, and changes nothing", async () => {
  await using world = await createWorld();
  const { at, send, forms, owner, member, teamId } = await aPlace(world);
  const outsider = await world.user();
  await outsider.did(createTeam, { name: "Other", maxMembers: 5 });
  const before = await stateOf(world);
  const refuses = async (actor: typeof owner, path: string, status: number, change: Record<string, string> = {}) => {
    const refused = await send(await signedIn(at, actor), path, change);
    expect([path, refused.status]).toEqual([path, status]);
    const [, said = ""] = /role="alert" id="problem">([^<]+)/.exec(refused.text) ?? [];
    expect(said).toMatch(/\.$/);
    expect(said).not.toMatch(/`|\b[a-z]+[A-Z]/);
  };

  for (const path of Object.keys(forms).filter((path) => path !== "/leave")) await refuses(member, path, 403);
  for (const path of Object.keys(forms)) await refuses(outsider, path, 404);
  await refuses(owner, "/leave", 409);
  for (const path of ["/role", "/remove"]) {
    await refuses(await actorOf(world, teamId, "admin"), path, 403, { member: owner.caller.userId });
  }
  const nobody = visit(at);
  for (const path of Object.keys(forms)) expect((await send(nobody, path)).location).toBe("../account");
  const after = await stateOf(world);
  expect(after.invitations).toEqual(before.invitations);
  expect(after.recorded).toBe(before.recorded);
  expect(after.members.filter((one) => one.role !== "admin")).toEqual(
    before.members.filter((one) => one.role !== "admin"),
  );
});

/** Another user of this role in the team. */
async function actorOf(world: World, teamId: string, role: "admin") {
  const actor = await world.user();
  await world.seat(actor, teamId);
  await world.database.models.teamMember.update({ where: { userId: actor.caller.userId }, data: { role } });
  return actor;
}

it("refuses a form that is not confirmed, incomplete or made up, and changes nothing", async () => {
  await using world = await createWorld();
  const { at, send, forms, owner } = await aPlace(world);
  const visitor = await signedIn(at, owner);
  const before = await stateOf(world);
  for (const path of ["/revoke", "/remove", "/leave"]) {
    const { sure: _sure, ...unsure } = forms[path] ?? {};
    const refused = await visitor.send(path, unsure);
    expect([path, refused.status]).toEqual([path, 400]);
    expect(refused.text).toContain("Tick the box to confirm this. Nothing was done.");
  }
  for (const [path, change, status] of [
    ["/invite", { role: "owner" }, 400],
    ["/invite", { role: "" }, 400],
    ["/invite", { team: "" }, 404],
    ["/invite", { email: "bob" }, 400],
    ["/invite", { email: `${"b".repeat(3_000)}@example.com` }, 400],
    ["/role", { role: "owner" }, 400],
    ["/role", { member: "'" }, 404],
    ["/remove", { member: "" }, 404],
    ["/revoke", { invitation: "x" }, 404],
    ["/resend", { invitation: "" }, 404],
  ] as const) {
    const refused = await send(visitor, path, change);
    expect([path, change, refused.status]).toEqual([path, change, status]);
    expect(refused.text).toContain('role="alert"');
  }
  expect(await stateOf(world)).toEqual(before);
  // What was typed stays, to be corrected.
  const wrong = (await send(visitor, "/invite", { email: 'bob"><i>' })).text;
  expect(wrong).toMatch(/Check the address.*id="invite"[^>]*value="bob&#34;&#62;&#60;i&#62;"[^>]*aria-invalid="true"/s);
});

it("refuses what a page of another site sends", async () => {
  await using world = await createWorld();
  const { at, forms, member } = await aPlace(world);
  const visitor = await signedIn(at, member);
  const before = await stateOf(world);
  for (const headers of [
    { "sec-fetch-site": "same-site" },
    { origin: "http://evil.example.com" },
    { origin: "null" },
  ]) {
    for (const [path, form] of Object.entries(forms)) {
      const refused = await visitor.send(path, form, headers);
      expect([path, refused.status]).toEqual([path, 403]);
      expect(refused.text).toContain("This was sent by a page of another site");
    }
  }
  expect(await stateOf(world)).toEqual(before);
});

it("says of an old page's form what has happened meanwhile, and does nothing in another team", async () => {
  await using world = await createWorld();
  const { at, send, teamId, owner, admin, member, invitation } = await aPlace(world);
  const [visitor, left] = [await signedIn(at, owner), await signedIn(at, admin)];
  const says = async (of: typeof visitor, path: string, status: number, message: string) => {
    const refused = await send(of, path);
    expect([path, refused.status]).toEqual([path, status]);
    expect(textOf(refused.text)).toContain(message);
  };
  await owner.did(revokeInvitation, { teamId, invitationId: invitation.id });
  await says(visitor, "/revoke", 409, "This invitation was revoked.");
  await says(visitor, "/resend", 409, "This invitation was revoked.");
  await world.database.models.invitation.deleteMany();
  await says(visitor, "/resend", 404, "The team has no invitation with this id.");
  await owner.did(removeMember, { teamId, userId: member.caller.userId });
  await says(visitor, "/role", 404, "This person is not in the team any more.");
  await says(visitor, "/remove", 404, "This person is not in the team any more.");

  await owner.did(removeMember, { teamId, userId: admin.caller.userId });
  await says(left, "/invite", 404, "You are not in this team.");
  const own = await admin.did(createTeam, { name: "Own", maxMembers: 5 });
  await says(left, "/invite", 404, "You are not in this team.");
  await world.seat(await world.user(), own.id);
  expect((await send(left, "/invite", { team: own.id })).status).toBe(303);
  expect(await world.database.models.invitation.findMany()).toMatchObject([{ teamId: own.id }]);
});

it("does once what a double click sends twice", async () => {
  await using world = await createWorld();
  const { at, send, owner, member } = await aPlace(world);
  const visitor = await signedIn(at, owner);
  const before = await stateOf(world);
  for (const [path, second] of [
    ["/invite", 409],
    ["/role", 303],
    ["/revoke", 409],
    ["/remove", 404],
  ] as const) {
    const answers = await Promise.all([send(visitor, path), send(visitor, path)]);
    expect([path, ...answers.map(({ status }) => status).toSorted()]).toEqual([path, 303, second]);
  }
  const { members, invitations, recorded } = await stateOf(world);
  expect(invitations.filter(({ email }) => email === INVITED)).toHaveLength(1);
  // The same role twice is recorded twice.
  expect(recorded).toBe(before.recorded + 5);
  expect(members.map(({ userId }) => userId)).not.toContain(member.caller.userId);
  expect(await brokenInvariants(world)).toEqual([]);
  expect(world.bugs).toEqual([]);
});

it("lets a member leave the team, and create one of their own", async () => {
  await using world = await createWorld();
  const { at, send, member } = await aPlace(world);
  const visitor = await signedIn(at, member);
  expect((await send(visitor, "/leave")).status).toBe(303);
  const page = (await visitor.get("?done")).text;
  expect(page).toMatch(/<p role="status">Done\.<\/p>.*You are in no team/s);
  expect((await visitor.send("/team", { name: "Own", seats: "3" })).status).toBe(303);
});

it("says when all seats are taken, without names of operations", async () => {
  await using world = await createWorld();
  const app = await world.serve();
  const { teamId, owner } = await aTeam(world, { maxMembers: 3 });
  const visitor = await signedIn({ ...world, app }, owner);
  const refused = await visitor.send("/invite", { team: teamId, email: INVITED, role: "member" });
  expect(refused.status).toBe(409);
  expect(textOf(refused.text)).toContain(
    "All seats of the team are taken, counting pending invitations. Its owner and admins can revoke an invitation or " +
      "remove a member, and its owner can add seats.",
  );
  expect(refused.text).not.toContain("maxMembers");
  expect(refused.text).toContain(`value="${INVITED}"`);

  expect(refused.text).toMatch(/action="\.\.\/account\/size".*name="seats"[^>]*value="3"/s);
  expect((await visitor.send("/size", { team: teamId, seats: "4" })).location).toBe("../account");
  expect((await visitor.send("/invite", { team: teamId, email: INVITED, role: "member" })).status).toBe(303);
  const small = await visitor.send("/size", { team: teamId, seats: "3" });
  expect([small.status, textOf(small.text)]).toEqual([409, expect.stringContaining("invitations take 4 seats.")]);
});

it("resizes the named team alone, for its owner alone", async () => {
  await using world = await createWorld();
  const app = await world.serve();
  const { teamId, admin } = await aTeam(world, { maxMembers: 5 });
  const outsider = await world.user();
  const own = await outsider.did(createTeam, { name: "Other", maxMembers: 5 });
  for (const [actor, status] of [
    [admin, 403],
    [outsider, 404],
  ] as const) {
    const visitor = await signedIn({ ...world, app }, actor);
    expect((await visitor.send("/size", { team: teamId, seats: "9" })).status).toBe(status);
  }
  const visitor = await signedIn({ ...world, app }, outsider);
  for (const seats of ["", "x", "0", "1001"]) {
    expect([seats, (await visitor.send("/size", { team: own.id, seats })).status]).toEqual([seats, 400]);
  }
  const teams = await world.database.models.team.findMany();
  expect(teams.map(({ maxMembers }) => maxMembers)).toEqual([5, 5]);
});

it("shows hundreds of people in pages, and says that an invitation's mail was not delivered", async () => {
  await using world = await createWorld();
  const { at, teamId, owner, invitation } = await aPlace(world);
  const { models } = world.database;
  await models.team.update({ where: { id: teamId }, data: { maxMembers: 300 } });
  await models.invitation.update({ where: { id: invitation.id }, data: { bouncedAt: new Date() } });
  for (const member of await manyOf(LIST_OF, () => world.user())) await world.seat(member, teamId);
  const { expiresAt } = invitation;
  await models.invitation.createMany({
    data: await manyOf(LIST_OF, async (index) => {
      const id = world.services.newId();
      return {
        id,
        teamId,
        email: `p${index}@example.com`,
        role: "member" as const,
        invitedBy: owner.caller.userId,
        expiresAt,
      };
    }),
  });
  const visitor = await signedIn(at, owner);
  const first = (await visitor.open()).text;
  expect(textOf(first)).toContain(`${LIST_OF} of ${LIST_OF + 3} members:`);
  expect(textOf(first)).not.toContain("could not be delivered");
  const rowsOf = (page: string) => page.match(/<th scope="row">/g)?.length;
  expect(rowsOf(first)).toBe(2 * LIST_OF);
  const next = async (list: string) => {
    const [, href = ""] =
      new RegExp(`<a href="\\./account(\\?${list}=[^"#]+)#people">More ${list}</a>`).exec(first) ?? [];
    return (await visitor.get(href)).text;
  };
  const members = await next("members");
  expect(rowsOf(members)).toBe(3 + LIST_OF);
  expect(members).not.toContain("More members");
  const invitations = await next("invitations");
  expect(rowsOf(invitations)).toBe(1 + LIST_OF);
  expect(textOf(invitations)).toContain("The mail could not be delivered. Check the address, or send the link.");
  for (const query of ["?members=x", "?invitations=%00", "?members=a&members=b"]) {
    const refused = await visitor.get(query);
    expect([query, refused.status]).toEqual([query, 400]);
    expect(refused.text).toContain("cursor: must ");
  }
});

it("shows names as text, whatever they are", async () => {
  await using world = await createWorld();
  const { at, owner, member } = await aPlace(world);
  const where = { email: member.email };
  await world.database.models.user.update({ where, data: { name: `<script>alert(1)</script>"'&` } });
  const { text } = await (await signedIn(at, owner)).open();
  expect(text).toContain("<bdi>&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;&#38;</bdi>");
});

describeInBrowser("the people of a team", (browser) => {
  it("are managed behind a prefix, by keyboard and on a phone, light and dark", async () => {
    await using world = await createWorld();
    await using proxy = await startPrefixProxy();
    const { at, owner, admin, member, invitation } = await aPlace(world);
    proxy.leadsTo(at.app.url);
    const { user } = world.database.models;
    await user.update({ where: { email: admin.email }, data: { name: "عبد الرحمن (محمد)" } });
    await user.update({ where: { email: member.email }, data: { name: "W".repeat(100) } });
    await using context = await browser().newContext({ viewport: { width: 390, height: 800 } });
    const page = await context.newPage();
    const said: string[] = [];
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(error.message));
    const origins: Promise<string | null>[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") origins.push(request.headerValue("origin"));
    });
    await page.goto(`${proxy.url}/account?code`);
    await page.getByLabel("Your e-mail address").fill(owner.email);
    await world.giveCode(owner.email, CODE);
    await page.getByLabel("Code").fill(CODE);
    await page.keyboard.press("Enter");
    await page.getByLabel("E-mail address").fill(INVITED);
    await page.keyboard.press("Enter");
    await page.getByText("Done.").waitFor();
    await page.getByText(INVITED).waitFor();

    for (const summary of await page.locator("summary").all()) {
      await summary.focus();
      await page.keyboard.press("Enter");
    }
    for (const [width, colorScheme] of [
      [390, "light"],
      [390, "dark"],
      [1_200, "light"],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      expect(await barriersOn(page)).toEqual([]);
      expect(await smallTargetsOn(page)).toEqual([]);
      expect(await paleTexts(page)).toEqual([]);
      expect(await paleFields(page)).toEqual([]);
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    }
    expect(await page.evaluate("getComputedStyle(document.querySelector('summary')).cursor")).toBe("pointer");
    const sent = page.locator("tr", { hasText: invitation.id });
    await sent.getByRole("button", { name: "Revoke the invitation" }).click();
    // The browser keeps an unconfirmed form.
    expect(await sent.getByRole("checkbox").and(page.locator(":invalid")).count()).toBe(1);
    await sent.getByRole("checkbox").focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByText(invitation.id).count(), { timeout: 60_000 }).toBe(0);
    expect(new URL(page.url()).pathname).toBe("/prefix/account");
    expect(await world.database.models.invitation.count({ where: { status: "revoked" } })).toBe(1);
    // Else a browser that sends nothing else would name none, and be refused.
    expect(new Set(await Promise.all(origins))).toEqual(new Set([new URL(proxy.url).origin]));
    expect(said).toEqual([]);
  });
});
