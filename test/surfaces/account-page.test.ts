import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../src/features/billing/cancel-team-subscription.js";
import { teamSubscription } from "../../src/features/billing/team-subscription.js";
import { teamAudit } from "../../src/features/teams/list-audit.js";
import { LIMITS } from "../../src/limits.js";
import { minuteOf } from "../../src/wording.js";
import { barriersOn, smallTargetsOn } from "../support/accessibility.js";
import { type BillingWorld, aPayer, aSubscriber, createBillingWorld, customerOf } from "../support/billing.js";
import { describeInBrowser } from "../support/browser.js";
import { paleFields, paleTexts } from "../support/contrast.js";
import { startPrefixProxy } from "../support/prefix-proxy.js";
import type { Actor, World } from "../support/world.js";

const CODE = "12345678";

it("lets an owner sign in by a code, buy seats, change their number, cancel and come back", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aPayer(world, { seats: 5 });
  const visitor = visit(world);

  const asked = await visitor.send("/code", { email: owner.email });
  expect(asked.text).toMatch(/<form method="post" action="\.\.\/account\/sign-in">/);
  expect(await world.database.models.mail.count({ where: { kind: "sign_up", email: owner.email } })).toBe(1);
  await world.giveCode(owner.email, CODE);
  expect((await visitor.send("/sign-in", { email: owner.email, code: "1234 5678" })).location).toBe("../account");
  expect((await visitor.open()).text).toContain("No subscription. 1 member.");

  const paying = await visitor.send("/buy", { seats: "7", interval: "month" });
  const [, checkout = ""] = /<a href="([^"]+)">Continue to the payment provider/.exec(paying.text) ?? [];
  expect(new URL(checkout).origin).toBe(new URL(world.stripe.url).origin);
  await world.stripe.pay(/cs_\w+/.exec(checkout)?.[0] ?? "");
  await world.stripe.delivered();
  const { currentPeriodEnd } = await owner.did(teamSubscription);
  const end = minuteOf(currentPeriodEnd ?? new Date(0));
  const bought = textOf((await visitor.open()).text);
  expect(bought).toContain(`7 seats, paid by the month; 1 member. It is renewed on ${end}.`);
  expect(bought).toMatch(/\$56\.00\s*paid\s*Open\s*PDF/);

  const preview = textOf((await visitor.send("/preview", { seats: "9" })).text);
  expect(preview).toMatch(new RegExp(`Now\\s+\\$\\d+\\.\\d\\d\\s+On ${end}\\s+\\$72\\.00`));
  expect((await visitor.send("/seats", { seats: "9" })).location).toBe("../account");
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 9, nextSeats: null });
  expect(textOf((await visitor.send("/preview", { seats: "3" })).text)).toContain("Nothing is charged or paid back.");
  await visitor.send("/seats", { seats: "3" });
  expect(textOf((await visitor.open()).text)).toContain(`It is renewed on ${end}, with 3 seats.`);
  await visitor.send("/seats", { seats: "9" });
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 9, nextSeats: null });

  await visitor.send("/cancel", {});
  expect(textOf((await visitor.open()).text)).toContain(
    `The subscription is cancelled: everything stays until ${end}.`,
  );
  await visitor.send("/resume", {});
  expect(await owner.did(teamSubscription)).toMatchObject({ cancelAtPeriodEnd: false });
  expect((await visitor.send("/portal", {})).text).toMatch(/<a href="[^"]+\/portal\/[^"]+">Continue/);

  const { events } = await owner.did(teamAudit, { teamId });
  expect(events.map(({ action, door }) => `${action} ${door}`).toReversed()).toEqual([
    "createTeam rest",
    "updateTeam page",
    "createTeamCheckout page",
    "upgradeTeam page",
    "downgradeTeam page",
    "downgradeTeam page",
    "cancelTeamSubscription page",
    "resumeTeamSubscription page",
    "openBillingPortal page",
  ]);
});

it("signs in for an hour, by a key that can do no more than the page, and that signing out revokes", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world);
  const visitor = await signedIn(world, owner);
  const [cookie = ""] = visitor.cookies;
  const [, secret = ""] = /^memory_graph_key=(\w+); Max-Age=3600; HttpOnly; SameSite=Lax$/.exec(cookie) ?? [];
  const key = { userId: owner.caller.userId, name: "Account page" };
  const { scopes, expiresAt, createdAt } = await world.database.models.apiKey.findFirstOrThrow({ where: key });

  expect([...scopes].toSorted()).toEqual(["billing:read", "billing:write", "teams:read", "teams:write"]);
  expect((expiresAt?.getTime() ?? 0) - createdAt.getTime()).toBeLessThanOrEqual(3_601_000);
  expect((await visitor.open()).text).toContain(`Signed in as ${owner.email}.`);
  const read = () =>
    fetch(`${world.app.url}/billing/team-subscription`, { headers: { cookie: `memory_graph_key=${secret}` } });
  // The cookie is nothing to the doors of programs: so no page of another site can use them by it.
  expect((await read()).status).toBe(401);

  await visitor.send("/sign-out", {});
  expect(visitor.cookies.at(-1)).toBe("memory_graph_key=; Max-Age=0; HttpOnly; SameSite=Lax");
  expect((await visitor.open(`memory_graph_key=${secret}`)).text).toContain("Send a code");
  expect((await world.database.models.apiKey.findFirstOrThrow({ where: key })).revokedAt).not.toBeNull();
  const audited = await world.database.models.auditEntry.findMany({ where: { door: "page" }, orderBy: { id: "asc" } });
  expect(audited.map(({ action }) => action)).toEqual(["confirmSignUp", "revokeApiKey"]);
});

it("marks the cookie for TLS alone where people use TLS", async () => {
  await using world = await createBillingWorld({ environment: { PUBLIC_URL: "https://memory.example.com" } });
  const { owner } = await aPayer(world);
  expect((await signedIn(world, owner)).cookies.at(-1)).toMatch(/; SameSite=Lax; Secure$/);
});

it("refuses what a page of another site sends, before anything is done", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);
  const visitor = await signedIn(world, owner);
  for (const site of ["cross-site", "same-site"]) {
    for (const path of [
      "/code",
      "/sign-in",
      "/sign-out",
      "/preview",
      "/seats",
      "/buy",
      "/cancel",
      "/resume",
      "/portal",
    ]) {
      const answer = await visitor.send(
        path,
        { seats: "20", email: owner.email, code: CODE },
        { "sec-fetch-site": site },
      );
      expect([path, answer.status]).toEqual([path, 403]);
      expect(answer.text).toContain("This was sent by a page of another site, so it was not done.");
    }
  }
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 10, cancelAtPeriodEnd: false });
  expect((await visitor.open()).text).toContain("Sign out");
});

it("shows members what the team has, and lets them change nothing", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aSubscriber(world);
  const member = await world.user();
  await world.seat(member, teamId);
  const visitor = await signedIn(world, member);
  const page = await visitor.open();

  expect(textOf(page.text)).toContain("10 seats, paid by the month; 2 members.");
  expect(page.text).toContain("Only the team's owner can change this.");
  expect(page.text).not.toContain("PDF");
  for (const [path, form] of Object.entries({
    "/cancel": {},
    "/seats": { seats: "20" },
    "/portal": {},
    "/buy": { seats: "9" },
  })) {
    const refused = await visitor.send(path, form);
    expect([path, refused.status]).toEqual([path, 403]);
    expect(refused.text).toContain('class="problem"');
  }
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 10, cancelAtPeriodEnd: false });
});

it("says what is wrong, and shows the form again", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });
  const nobody = visit(world);
  const wrongAddress = await nobody.send("/code", { email: "ann" });
  const wrongCode = await nobody.send("/sign-in", { email: owner.email, code: "00000000" });
  expect([wrongAddress.status, wrongCode.status]).toEqual([400, 400]);
  expect(wrongAddress.text).toContain("Check the address: it must be complete");
  expect(wrongCode.text).toContain("This code is wrong or has expired. Try again");
  expect((await nobody.send("/cancel", {})).location).toBe("../account");

  const visitor = await signedIn(world, owner);
  for (const seats of ["", "0", String(LIMITS.teams.members + 1), "1.5", "x", "9".repeat(400)]) {
    const refused = await visitor.send("/preview", { seats });
    expect([seats, refused.status]).toEqual([seats, 400]);
    expect(textOf(refused.text)).toContain(`The number of seats is a whole number from 1 to ${LIMITS.teams.members}.`);
  }
  expect((await visitor.send("/buy", { seats: "5" })).text).toContain("The team has a subscription already");
  await visitor.send("/seats", { seats: "3" });
  const more = await visitor.send("/seats", { seats: "8" });
  expect(more.status).toBe(409);
  expect(more.text).toContain("Take that back first: choose as many seats as now.");
});

it("tells each state of a subscription", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const visitor = await signedIn(world, payer.owner);
  const seen = async () => textOf((await visitor.open()).text);

  world.stripe.setCard(await customerOf(world, payer), "declined");
  await visitor.send("/seats", { seats: "8" });
  expect(await seen()).toMatch(
    /More seats, 8 in all, wait for their payment until .* UTC\..*Pay or confirm the open invoice/s,
  );
  await world.stripe.advance(32 * 24 * 3_600_000);
  await world.stripe.delivered();
  expect(await seen()).toMatch(/The last payment failed\. Plan and seats stay until .* UTC\./);
  await world.stripe.giveUp(String((await payer.owner.did(teamSubscription)).id));
  await world.stripe.delivered();
  expect(await seen()).toMatch(/The subscription is not paid\..*Cancel the subscription at once/s);
  await payer.owner.did(cancelTeamSubscription);
  expect(await seen()).toContain("No subscription.");
});

it("goes on without the payment provider, and without one sells nothing", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);
  const visitor = await signedIn(world, owner);
  world.stripe.fail({ kind: "500", path: /invoices/, times: 3 });
  const page = await visitor.open();
  expect(page.status).toBe(200);
  expect(page.text).toContain("The invoices cannot be shown now.");
  expect((await visitor.open()).text).toContain("PDF");
  world.stripe.fail({ kind: "500", path: /billing_portal/, times: 3 });
  expect((await visitor.send("/portal", {})).status).toBe(502);
  const { url } = await world.serve({ NODE_ENV: "production", STRIPE_SECRET_KEY: "" });
  expect((await visitor.open(undefined, url)).text).toContain("This service sells no seats.");
});

describeInBrowser("the page of a team", (browser) => {
  it("works behind a prefix, by keyboard and on a phone, light and dark", async () => {
    await using world = await createBillingWorld();
    await using proxy = await startPrefixProxy();
    proxy.leadsTo(world.app.url);
    const { owner } = await aSubscriber(world, { seats: 5 });
    await using context = await browser().newContext({ viewport: { width: 390, height: 800 } });
    const page = await context.newPage();
    await page.goto(`${proxy.url}/account`);
    await page.getByLabel("Your e-mail address").fill(owner.email);
    await page.keyboard.press("Enter");
    await page.getByLabel("Code").waitFor();
    await world.giveCode(owner.email, CODE);
    await page.getByLabel("Code").fill(CODE);
    await page.keyboard.press("Enter");
    await page.getByText("5 seats").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/prefix/account");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await barriersOn(page)).toEqual([]);
      expect(await smallTargetsOn(page)).toEqual([]);
      expect(await paleTexts(page)).toEqual([]);
      expect(await paleFields(page)).toEqual([]);
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    }
    await page.getByLabel("Seats").fill("6");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Buy now" }).click();
    await page.getByText("6 seats").first().waitFor();
    await page.getByRole("link", { name: "REST reference" }).click();
    expect(new URL(page.url()).pathname).toBe("/prefix/docs");
  });
});

/** What a page says, without its markup. */
const textOf = (page: string): string =>
  page
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll(/\s+/g, " ");

/** A browser without scripts, which keeps the page's cookie. */
function visit(world: BillingWorld | (World & { app: { url: string } })) {
  const cookies: string[] = [];
  const ask = async (path: string, options: RequestInit, url = world.app.url) => {
    const [cookie = ""] = (cookies.at(-1) ?? "").split(";");
    const headers = { ...(cookie && { cookie }), ...(options.headers as Record<string, string>) };
    const answer = await fetch(`${url}/account${path}`, { redirect: "manual", ...options, headers });
    cookies.push(...answer.headers.getSetCookie());
    return { status: answer.status, location: answer.headers.get("location"), text: await answer.text() };
  };
  return {
    cookies,
    open: (cookie?: string, url?: string) => ask("", { headers: cookie === undefined ? {} : { cookie } }, url),
    send: (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
      ask(path, { method: "POST", body: new URLSearchParams(form), headers }),
  };
}

async function signedIn(world: BillingWorld, { email }: Actor) {
  const visitor = visit(world);
  await world.giveCode(email, CODE);
  await visitor.send("/sign-in", { email, code: CODE });
  return visitor;
}
