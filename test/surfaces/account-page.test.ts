import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../src/features/billing/cancel-team-subscription.js";
import { billingByPage } from "../../src/features/billing/index.js";
import { SUBSCRIPTION_EXAMPLE, teamSubscription } from "../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../src/features/billing/upgrade-team.js";
import { TEAM_EXAMPLE } from "../../src/features/teams/team.js";
import { teamAudit } from "../../src/features/teams/list-audit.js";
import { LIMITS } from "../../src/limits.js";
import { accountPage } from "../../src/surfaces/pages/account.js";
import {
  type ShownPreview,
  type ShownSubscription,
  previewPage,
  pricedFor,
} from "../../src/surfaces/pages/account-billing.js";
import { minuteOf } from "../../src/wording.js";
import { barriersOn, smallTargetsOn } from "../support/accessibility.js";
import { CODE, signedIn, textOf, visit } from "../support/account-page.js";
import { aPayer, aSubscriber, createBillingWorld, customerOf } from "../support/billing.js";
import { describeInBrowser } from "../support/browser.js";
import { paleFields, paleTexts } from "../support/contrast.js";
import { startPrefixProxy } from "../support/prefix-proxy.js";

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

  const paying = await visitor.send("/buy", { team: teamId, seats: "7", interval: "month" });
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
  expect((await visitor.order("9")).location).toBe("../account");
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 9, nextSeats: null });
  expect(textOf((await visitor.send("/preview", { seats: "3" })).text)).toContain("Nothing is charged or paid back.");
  await visitor.order("3");
  expect(textOf((await visitor.open()).text)).toContain(`It is renewed on ${end}, with 3 seats.`);
  await visitor.order("9");
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

it("takes the cookie from this host alone where people use TLS, so that no neighbour signs them in", async () => {
  await using world = await createBillingWorld({ environment: { PUBLIC_URL: "https://memory.example.com" } });
  const [owner, neighbour] = [(await aPayer(world)).owner, await world.user()];
  const own = String((await signedIn(world, owner)).cookies.at(-1));
  expect(own).toMatch(/^__Host-memory_graph_key=\w+; Max-Age=3600; HttpOnly; SameSite=Lax; Path=\/; Secure$/);
  const tossed = /memory_graph_key=\w+/.exec(String((await signedIn(world, neighbour)).cookies.at(-1)));
  const visitor = visit(world);
  expect((await visitor.open(`${tossed}`)).text).toContain("Send a code");
  const page = await visitor.open(`${tossed}; ${own.split(";")[0]}`);
  expect(page.text).toContain(`Signed in as ${owner.email}.`);
});

it("names the cookie by the path of the service, as browsers send it to all paths of the host", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world);
  const PUBLIC_URL = "https://example.com/memory/a;b=c";
  const app = await world.serve({ PUBLIC_URL });
  const visitor = await signedIn({ ...world, app }, owner);
  expect(visitor.cookies.at(-1)).toMatch(/^__Host-memory_graph_key%2Fmemory%2F\S+=mg_live_\w+; Max-Age=3600;/);
  expect((await visitor.open()).text).toContain(`Signed in as ${owner.email}.`);
  const [, key] = /=(mg_live_\w+);/.exec(String(visitor.cookies.at(-1))) ?? [];
  expect((await visitor.open(`__Host-memory_graph_key=${key}`)).text).toContain("Send a code");
});

it("leads from a failure back to the page, also below a proxy's prefix", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world);
  const visitor = await signedIn(world, owner);
  await world.database.models.user.update({ where: { email: owner.email }, data: { suspendedAt: new Date() } });
  const suspended = await visitor.open();
  expect(suspended.status).toBe(403);
  expect(suspended.text).toContain('<a href="./account">Back</a>');
  // Else nobody could sign in there as another for an hour.
  expect(suspended.text).toContain('<form method="post" action="./account/sign-out">');
  expect((await visitor.send("/sign-out", {})).location).toBe("../account");
  expect(visitor.cookies.at(-1)).toMatch(/^memory_graph_key=; Max-Age=0;/);
  expect((await visitor.open()).text).toContain("Send a code");
});

it("orders seats only at the price that was shown", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });
  const visitor = await signedIn(world, owner);
  const refuses = async (order: Record<string, string>) => {
    const refused = await visitor.send("/seats", order);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("The subscription has changed since the price was shown, so nothing was done.");
  };

  const more = await visitor.price("7");
  await owner.did(upgradeTeam, { maxMembers: 9 });
  await refuses(more);
  const present = await owner.did(teamSubscription);
  for (const former of [{ interval: "year" }, { currentPeriodEnd: new Date(0) }]) {
    await refuses({ seats: "10", "priced-for": pricedFor({ ...present, ...former }) });
  }
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 9, nextSeats: null });
  expect((await visitor.order("10")).status).toBe(303);
});

const LIVE: ShownSubscription = { ...SUBSCRIPTION_EXAMPLE };
const END = minuteOf(LIVE.currentPeriodEnd ?? new Date(0));
const INVOICE = "https://invoice.example.com/1";
const OWED = { plan: null, hostedInvoiceUrl: INVOICE };
const [AT_ONCE, AT_END, RESUME] = [
  "Cancel the subscription at once",
  "Cancel at the end of the period",
  "Take the cancellation back",
];
const AGAIN = "cancel the subscription, and buy seats again.";

const STATES: readonly [string, Partial<ShownSubscription>, readonly string[], readonly string[]][] = [
  [
    "active",
    {},
    [`5 seats, paid by the month; 3 members. It is renewed on ${END}.`, "or between month and year"],
    ["Show the price", AT_END],
  ],
  [
    "on trial",
    { status: "trialing" },
    [`5 seats, on trial; 3 members. The first month is charged on ${END}.`],
    ["Show the price", AT_END],
  ],
  ["cancelled", { endsAt: LIVE.currentPeriodEnd }, ["is cancelled"], ["Show the price", RESUME]],
  [
    "waiting for more seats",
    { pendingUpdate: { seats: 8, expiresAt: new Date(0) }, hostedInvoiceUrl: INVOICE },
    ["More seats, 8 in all, wait for their payment", "Pay or confirm"],
    [AT_END],
  ],
  ["past due", { ...OWED, status: "past_due", plan: "team" }, ["5 seats", "Pay or confirm"], [AT_END]],
  [
    "past due for too long",
    { ...OWED, status: "past_due" },
    ["is not paid. 3 members.", `If the open invoice is paid before ${END}, the plan is back at once.`],
    [AT_ONCE],
  ],
  ["unpaid", { ...OWED, status: "unpaid", endsAt: LIVE.currentPeriodEnd }, [`before ${END}`, "Pay or"], [AT_ONCE]],
  ["too late to pay", { status: "unpaid", plan: null }, [`To get the plan back, ${AGAIN}`], [AT_ONCE]],
  ["paused", { status: "paused", plan: null, endsAt: LIVE.currentPeriodEnd }, ["is paused. 3 members."], [AT_ONCE]],
  ["incomplete", { ...OWED, status: "incomplete" }, ["Pay the open invoice. If the plan is not back"], [AT_ONCE]],
  [
    "ended",
    { status: "canceled", plan: null },
    ["No subscription. 3 members."],
    ["Buy by the month", "Buy by the year", "Change the number without buying"],
  ],
];

it.each(STATES)(
  "tells the owner of a subscription that is %s what to do, and offers that",
  (_state, facts, says, does) => {
    const subscription = { ...LIVE, ...facts };
    const sold = { freeSeats: 5, byYear: true };
    const rules = { isLive: billingByPage.isLive(subscription), isPaid: billingByPage.isPaid(subscription) };
    const owned = { isOwner: true, team: TEAM_EXAMPLE, subscription, invoices: [], ...rules } as const;
    const page = accountPage({ email: "ann@example.com", owned, sold }, { here: "/account" });
    for (const text of says) expect(textOf(page)).toContain(text);
    const buttons = [...page.matchAll(/<button[^>]*>([^<]*)/g)].map(([, text]) => text);
    expect(buttons).toEqual([...does, "Open the customer portal", "Sign out"]);
  },
);

const PRICE: ShownPreview = {
  seats: 4,
  seatsInUse: 4,
  currency: "usd",
  proration: 0,
  tax: 0,
  credit: 0,
  nextInvoice: null,
};

it.each([
  ["fewer seats", {}, "Nothing is charged or paid back."],
  ["more seats", { seats: 8, proration: 1_520, tax: 20 }, "$15.20, of which $0.20 tax"],
  ["a credit", { credit: 150 }, "$1.50, taken off what is charged."],
  ["a small debt", { credit: -20 }, "$0.20, added to what is charged."],
])("shows the price of %s before its button", (_case, facts, says) => {
  const page = previewPage({ ...PRICE, ...facts }, LIVE, "/account/preview");
  expect(textOf(page)).toContain(says);
  expect(page).toContain(`name="priced-for" value="${pricedFor(LIVE)}"`);
});

it("offers no fewer seats than are in use", () => {
  const page = previewPage({ ...PRICE, seatsInUse: 5 }, LIVE, "/account/preview");
  expect(textOf(page)).toContain("Members and pending invitations take 5 seats");
  expect(page).not.toContain("<button");
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
      "/team",
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
      expect(answer.text).toContain("This was sent by a page of another site, so it was not done. Open this service");
    }
  }
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 10, cancelAtPeriodEnd: false });
  expect((await visitor.open()).text).toContain("Sign out");
});

it("judges by the origin where a browser sends nothing else, and takes what a program sends", async () => {
  await using world = await createBillingWorld();
  const visitor = visit(world);
  const tries = async (headers: Record<string, string>, url?: string) => {
    const { status } = await visitor.send("/sign-out", {}, headers, url);
    return [headers["origin"], status];
  };
  const { host } = new URL(world.app.url);
  for (const origin of [world.app.url, `https://${host}`]) expect(await tries({ origin })).toEqual([origin, 303]);
  for (const origin of ["null", "", `http://neighbour.${host}`, "http://127.0.0.1:1", `${world.app.url}.example.com`]) {
    expect(await tries({ origin })).toEqual([origin, 403]);
    expect(await tries({ origin, "sec-fetch-site": "same-origin" })).toEqual([origin, 303]);
  }
  expect(await tries({})).toEqual([undefined, 303]);
  // A proxy may give the service another host. Without TLS, anybody in the network could have written the page.
  const { url } = await world.serve({ PUBLIC_URL: "https://memory.example.com/path" });
  expect(await tries({ origin: "https://memory.example.com" }, url)).toEqual(["https://memory.example.com", 303]);
  for (const origin of ["http://memory.example.com", url]) expect(await tries({ origin }, url)).toEqual([origin, 403]);
});

it("lets people enter a code when the browser has dropped the page on which they requested it", async () => {
  await using world = await createBillingWorld();
  const { email } = await world.user();
  const visitor = visit(world);
  await visitor.send("/code", { email });
  for (const path of ["/code", "/sign-in"]) expect((await visitor.get(path)).location).toBe("../account?code");
  expect((await visitor.open()).text).toContain('<a href="./account?code">I have a code</a>');
  const page = await visitor.get("?code");
  expect(page.text).toMatch(/action="\.\/account\/sign-in">.*id="code".*<input\s+id="email"/s);
  await world.giveCode(email, CODE);
  await visitor.send("/sign-in", { email, code: CODE });
  expect((await visitor.open()).text).toContain(`Signed in as ${email}.`);
});

it("lets people without a team create one, which can then buy seats", async () => {
  await using world = await createBillingWorld();
  const ann = await world.user();
  const visitor = await signedIn(world, ann);
  const page = textOf((await visitor.open()).text);
  expect(page).toContain("You are in no team.");
  expect(page).toContain("Up to 5 members are free. For more, buy a seat for each member.");
  for (const [name, seats, says] of [
    [" ", "5", "must not be blank"],
    ["Platform", "0", "whole number"],
  ] as const) {
    const refused = await visitor.send("/team", { name, seats });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(new RegExp(`class="problem"[^<]*${says}.*Create the team`, "s"));
  }

  expect((await visitor.send("/team", { name: "Platform & Co", seats: "7" })).location).toBe("../account");
  const created = await visitor.open();
  expect(created.text).toContain("<h2><bdi>Platform &#38; Co</bdi></h2>");
  expect(created.text).toMatch(/value="7".*Buy by the month/s);
  const again = await visitor.send("/team", { name: "Second", seats: "5" });
  expect(again.status).toBe(409);
  expect(again.text).toContain("You are already in a team, and can be in only one.");
  expect(await world.database.models.team.findMany()).toMatchObject([{ name: "Platform & Co", maxMembers: 7 }]);
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
    "/preview": { seats: "20" },
    "/seats": { seats: "20", "priced-for": pricedFor(await owner.did(teamSubscription)) },
    "/portal": {},
    "/buy": { team: teamId, seats: "9" },
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
  expect(wrongAddress.text).toMatch(/Check the address: it must be complete.*<input\s+id="email"[^>]*value="ann"/s);
  expect(wrongCode.text).toContain("This code is wrong or has expired. Try again");
  expect(wrongCode.text).toContain(`type="hidden" name="email" value="${owner.email}"`);
  // As from the form that asks for both, whose address the browser has taken for one.
  const bothWrong = await nobody.send("/sign-in", { email: "ann@example", code: CODE });
  expect(bothWrong.text).toMatch(/Check the address.*<input\s+id="email"/s);
  expect(bothWrong.text).not.toContain('type="hidden"');
  expect((await nobody.send("/cancel", {})).location).toBe("../account");

  const visitor = await signedIn(world, owner);
  for (const seats of ["", "0", String(LIMITS.teams.members + 1), "1.5", "x", "9".repeat(400)]) {
    const refused = await visitor.send("/preview", { seats });
    expect([seats, refused.status]).toEqual([seats, 400]);
    expect(textOf(refused.text)).toContain(`The number of seats is a whole number from 1 to ${LIMITS.teams.members}.`);
  }
  expect((await visitor.send("/buy", { seats: "5" })).text).toContain("The team has a subscription already");
  await visitor.order("3");
  const more = await visitor.send("/preview", { seats: "8" });
  expect(more.status).toBe(409);
  expect(more.text).toContain("Take that back first: choose as many seats as now.");
});

it("tells each state of a subscription", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const visitor = await signedIn(world, payer.owner);
  const seen = async () => textOf((await visitor.open()).text);

  world.stripe.setCard(await customerOf(world, payer), "declined");
  await visitor.order("8");
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

it("lets an owner change the number of free seats without buying, until there is a subscription", async () => {
  await using world = await createBillingWorld();
  const [free, paid] = [await aPayer(world, { seats: 2 }), await aSubscriber(world, { seats: 5 })];
  const visitor = await signedIn(world, free.owner);
  const [form = ""] =
    /<form method="post" action="\.\/account\/buy">.*?<\/form>/s.exec((await visitor.open()).text) ?? [];
  expect(form).toContain('<button formaction="./account/size">Change the number without buying</button>');
  const [, team = ""] = /name="team" value="([^"]+)"/.exec(form) ?? [];
  expect((await visitor.send("/size", { team, seats: "4" })).location).toBe("../account");
  expect((await visitor.open()).text).toMatch(/id="seats"[^>]*value="4"/);

  // As from the page of a team that the owner had before.
  const old = await visitor.send("/buy", { team: paid.teamId, seats: "9" });
  expect([old.status, textOf(old.text)]).toEqual([404, expect.stringContaining("You are not in this team.")]);
  expect((await visitor.open()).text).toMatch(/id="seats"[^>]*value="4"/);

  const subscriber = await signedIn(world, paid.owner);
  expect((await subscriber.open()).text).not.toContain("account/size");
  const refused = await subscriber.send("/size", { team: paid.teamId, seats: "9" });
  expect(refused.status).toBe(409);
  expect(textOf(refused.text)).toContain("The size of this team is set by its subscription.");
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
    await page.getByRole("link", { name: "I have a code" }).click();
    await page.getByLabel("Code").waitFor();
    expect(await barriersOn(page)).toEqual([]);
    await page.getByRole("link", { name: "Request a code" }).click();
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
