import { execFileSync } from "node:child_process";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PAGE_LINKS } from "../../src/surfaces/navigation.js";
import { inviteMember } from "../../src/features/teams/invitations/invite-member.js";
import { LIMITS } from "../../src/limits.js";
import { SNIPPETS } from "../../src/surfaces/pages/graphql-snippets.js";
import { barriersOn, smallTargetsOn } from "../support/accessibility.js";
import { describeInBrowser } from "../support/browser.js";
import { focusOn, paleFields, paleTexts } from "../support/contrast.js";
import { ask } from "../support/http.js";
import { lockMemories } from "../support/locks.js";
import type { Document } from "../support/openapi.js";
import { CALLBACK, CODE, OAuthWalker, serveWithOAuth } from "../support/oauth.js";
import { startPrefixProxy } from "../support/prefix-proxy.js";
import { aTeam } from "../support/teams.js";
import { type World, createWorld } from "../support/world.js";

beforeAll(() => {
  execFileSync(process.execPath, [".config/run.mjs", "--no-build", "--playground"], { stdio: "inherit" });
});

/** What browsers accept. */
const BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8";
const BOB = "bob@example.com";

const SCHEMES = ["light", "dark"] as const;
type Scheme = (typeof SCHEMES)[number];

/** A computed style that only the loaded page's own stylesheet produces. */
interface Looks {
  readonly selector: string;
  readonly property: string;
  readonly expected: Readonly<Record<Scheme, string>>;
}

const BACKGROUND = { property: "backgroundColor", expected: { light: "rgb(255, 255, 255)", dark: "rgb(13, 17, 23)" } };
const LAYOUT: Looks = { selector: "body", ...BACKGROUND };

/** The part of the playground whose colours are ours; those of the editor are GraphiQL's. */
const OURS: Readonly<Record<string, string>> = { "/graphql": ".playground-examples, .playground-title" };

/** Pages with a style of their own. */
const OTHERS: Readonly<Record<string, Looks>> = {
  "/docs": {
    selector: ".swagger-ui .opblock-tag-section",
    property: "color",
    expected: { light: "rgb(59, 65, 81)", dark: "rgb(228, 230, 230)" },
  },
  "/graphql": {
    selector: ".graphiql-container",
    property: "backgroundColor",
    expected: { light: "rgb(255, 255, 255)", dark: "rgb(33, 42, 59)" },
  },
};

/** Pages that anybody can open: the documentation, and one of each other kind with the shared layout. */
const PAGES = [
  "/",
  ...PAGE_LINKS.map(({ path }) => path),
  "/billing/return",
  "/billing/return?portal",
  "/invitations/unknown",
  "/invitations/by-id/unknown",
  "/nothing",
];

it("shows people a page at an unknown address, and programs the error", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  for (const path of ["/nothing", "/invitations", "/docs/nothing?a=/b", "/teams/x/y"]) {
    const read = async (accept: string, key?: string) => {
      const headers = { accept, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
      const answer = await fetch(url + path, { headers });
      expect(answer.headers.get("vary")).toContain("Accept");
      return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
    };
    const sent = await fetch(url + path, { method: "POST", headers: { accept: "text/html" } });
    const [page, program] = [await read(BROWSER), await read("*/*")];
    // Java's own client accepts so, unless told otherwise.
    const withKey = await read("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", key);
    const [, link = ""] = /<a href="([^"]+)"/.exec(page.text) ?? [];

    expect([path, page.status, program.status]).toEqual([path, 404, 404]);
    expect([path, withKey.status, withKey.type]).toEqual([path, 404, expect.stringMatching(/^application\/json/)]);
    expect(sent.headers.get("content-type")).toMatch(/^application\/json/);
    expect(page.type).toMatch(/^text\/html/);
    expect(new URL(link, `https://example.com/prefix${path}`).pathname).toBe("/prefix/");
    expect(JSON.parse(program.text)).toMatchObject({ error: { code: "not_found" } });
  }
});

it("leads people who add a slash to the address of a page to the page, also below a prefix", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  for (const { path } of PAGE_LINKS.filter((page) => page.path !== "/graphql")) {
    const { status, headers } = await fetch(`${url}${path}/?done=&a=?b`, { redirect: "manual" });
    const target = new URL(headers.get("location") ?? "", `https://example.com/prefix${path}/`).href;

    expect([path, status, target]).toEqual([path, 308, `https://example.com/prefix${path}?done=&a=?b`]);
    expect((await fetch(url + path, { headers: { accept: BROWSER } })).status).toBe(200);
  }
});

it("shows people a page also when they open pages too often, and programs the error", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const { keylessPerAddress } = LIMITS.budgets;
  const read = (path: string, accept: string) =>
    fetch(url + path, { headers: { accept, "x-forwarded-for": "192.0.2.7" } });
  for (let n = 0; n < keylessPerAddress; n++) await (await read("/nothing", "*/*")).text();

  for (const path of ["/", "/docs/limits", "/graphql", "/mcp", "/invitations/x", "/billing/return", "/nothing"]) {
    const [page, program] = [await read(path, BROWSER), await read(path, "*/*")];

    expect([path, page.status, program.status]).toEqual([path, 429, 429]);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect(page.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await page.text()).toContain("Too many requests. Try again in 1 minute.");
    expect(program.headers.get("content-type")).toMatch(/^application\/json/);
  }
});

it("shows people a page also when their address sends too much at once, and programs with a key the error", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { connectionsPerAddress: 1, waitingPerAddress: 0 });
  const { key } = await world.user();
  const headers = { accept: BROWSER };
  await using lock = await lockMemories(world);
  const held = ask(`${url}/v1/memories`, { key });
  await expect.poll(() => lock.waiting()).toBe(1);

  for (const path of ["/docs/limits", "/graphql", "/mcp"]) {
    const page = await fetch(url + path, { headers });
    expect([path, page.status, page.headers.get("retry-after")]).toEqual([path, 429, "1"]);
    expect(await page.text()).toContain("Too many requests are answered at the same time. Try again in a moment.");
  }
  const { status, body } = await ask(`${url}/me`, { key, headers });
  expect(status).toBe(429);
  expect(body).toMatchObject({ error: { code: "rate_limited", reason: "too_many_at_once" } });
  await lock.release();
  await held;
});

it("leads people who open the address for agents to the page about them, and programs not", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ PUBLIC_URL: "https://memory.example.com" });
  for (const path of ["/mcp", "/mcp/oauth"]) {
    const open = (accept: string) => fetch(url + path, { headers: { accept }, redirect: "manual" });
    const [page, program] = [await open(BROWSER), await open("*/*")];
    const target = new URL(page.headers.get("location") ?? "", `https://example.com/prefix${path}`);

    expect([path, page.status, target.pathname, program.status]).toEqual([path, 303, "/prefix/docs/agents", 401]);
    expect(page.headers.get("vary")).toContain("Accept");
  }
  const text = await (await fetch(`${url}/docs/agents`)).text();
  expect(text).toContain("https://memory.example.com/mcp/oauth");
  expect(text).not.toContain("127.0.0.1");
});

const widthOf = (page: Page) => page.evaluate<number>("document.documentElement.scrollWidth");

/** The width that a page takes on the smallest phone with letters of twice the size, and with more space around them. */
async function widthsForPoorSight(page: Page): Promise<{ large: number; spaced: number }> {
  const before = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 640 });
  await page.evaluate("document.documentElement.style.fontSize = '200%'");
  const large = await widthOf(page);
  await page.evaluate(`document.documentElement.style.fontSize = "";
    for (const { style } of document.querySelectorAll("body *"))
      for (const [name, value] of Object.entries({ "letter-spacing": ".12em", "word-spacing": ".16em" }))
        style.setProperty(name, value, "important")`);
  const spaced = await widthOf(page);
  await page.evaluate("for (const element of document.querySelectorAll('[style]')) element.removeAttribute('style')");
  if (before) await page.setViewportSize(before);
  return { large, spaced };
}

/** Its width, and what is hard to read or to use. */
const looksOf = async (page: Page) => ({
  width: await widthOf(page),
  poorSight: await widthsForPoorSight(page),
  pale: [...(await paleTexts(page)), ...(await paleFields(page))],
  barriers: await barriersOn(page),
  small: await smallTargetsOn(page),
  from: await page.locator("header").innerText(),
});
const FITS_A_PHONE = {
  width: 390,
  poorSight: { large: 320, spaced: 320 },
  pale: [],
  barriers: [],
  small: [],
  // Mails and payment pages lead there, so the page says whose it is.
  from: "Memory Graph",
};

/** What a screen reader says of a page with a form: its title, and of the field that has the focus what describes it. */
async function heardOn(page: Page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const of = (name: string) => (node: (typeof nodes)[number]) =>
    node.properties?.find((one) => one.name === name)?.value.value;
  const field = nodes.find((node) => node.role?.value === "textbox" && of("focused")(node) === true);
  return {
    title: await page.title(),
    invalid: field && of("invalid")(field),
    about: field?.description?.value as string,
  };
}

/** A document with the methods of one path, a success and a refusal of each, and the schemas that they use. */
function partOf({ paths, components, ...others }: Document, path: string): object {
  const methods = Object.entries(paths[path] ?? {}).map(([method, { responses, ...operation }]) => {
    const few = Object.entries(responses).filter(([status]) => /^20\d|^400/.test(status));
    return [method, { ...operation, responses: Object.fromEntries(few) }];
  });
  const part = {
    ...others,
    paths: { [path]: Object.fromEntries(methods) },
    components: { ...components, schemas: {} },
  };
  const namesIn = (value: unknown) => JSON.stringify(value).match(/(?<=#\/components\/schemas\/)\w+/g) ?? [];
  const used = new Set(namesIn({ ...part.paths, ...part.components }));
  for (const name of used) for (const inner of namesIn(components["schemas"]?.[name])) used.add(inner);
  part.components.schemas = Object.fromEntries([...used].map((name) => [name, components["schemas"]?.[name]]));
  return part;
}

describeInBrowser("pages", (browser) => {
  // One server and one tab for what only reads: a new tab would start another process of the browser for each case.
  let world: World;
  let url: string;
  let tab: Page;
  let said: string[] = [];
  beforeAll(async () => {
    world = await createWorld();
    ({ url } = await world.serve());
    tab = await browser().newPage({ viewport: { width: 390, height: 800 } });
    tab.on("console", (message) => said.push(message.text()));
    tab.on("pageerror", (error) => said.push(String(error)));
    tab.on("request", (request) => void (request.url().startsWith(`${url}/`) || said.push(request.url())));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it("work behind a proxy that adds a prefix, and include the prefix in URLs", async () => {
    await using world = await createWorld();
    await using proxy = await startPrefixProxy();
    const { url } = await world.serve({ PUBLIC_URL: proxy.url });
    proxy.leadsTo(url);
    const { key } = await world.user();
    const page = await browser().newPage();
    for (const path of [...PAGES.filter((other) => other !== "/graphql"), "/graphql"]) {
      // Only these load more than their HTML names.
      await page.goto(proxy.url + path, { waitUntil: OTHERS[path] ? "networkidle" : "load" });
      await expect.poll(() => page.locator("h1").count()).toBe(1);
    }
    // Before the editor has its query, a click runs nothing.
    await expect.poll(() => page.locator(".graphiql-query-editor .view-lines").innerText()).toContain("{");
    await page.getByRole("button", { name: "Execute query" }).click();
    await expect.poll(() => page.locator(".graphiql-response .view-lines").innerText()).toContain("Authorization");
    await page.goto(`${proxy.url}/docs/graphql`);
    const code = await page.locator("pre").allInnerTexts();
    await page.close();
    const made = await ask(`${proxy.url}/v1/memories`, { key, body: { type: "fix", title: "A", content: "B" } });
    const location = new URL(made.headers.get("location") ?? "", `${proxy.url}/v1/memories`).href;

    expect(proxy.outside).toEqual([]);
    expect(code.filter((text) => text.includes(`"${proxy.url}/graphql"`))).toHaveLength(SNIPPETS.length);
    expect(await ask(location, { key })).toMatchObject({ status: 200, body: { title: "A" } });
  });

  it.each(PAGES.flatMap((path) => SCHEMES.map((scheme) => [path, scheme] as const)))(
    "loads the style of %s, logs nothing to the console, fits a phone and is readable for everybody (%s)",
    async (path, colorScheme) => {
      // Nothing of the page before is left, neither what it still says nor what it stored.
      await tab.goto(`${url}/healthz`);
      await tab.evaluate("localStorage.clear(); sessionStorage.clear()");
      said = [];
      await tab.emulateMedia({ colorScheme });
      const { selector, property, expected } = OTHERS[path] ?? LAYOUT;

      await tab.goto(url + path);
      await tab.locator(selector).first().waitFor();
      await expect.poll(() => tab.locator("h1").count()).toBe(1);
      await expect.poll(() => tab.locator("main, [role=main]").count()).toBe(1);
      await expect.poll(() => paleTexts(tab, OURS[path])).toEqual([]);
      const look = await tab.evaluate<object>(
        `({
          value: getComputedStyle(document.querySelector(${JSON.stringify(selector)}))[${JSON.stringify(property)}],
          width: document.documentElement.scrollWidth,
        })`,
      );

      expect(look).toEqual({ value: expected[colorScheme], width: 390 });
      // The others are packages.
      if (!OTHERS[path]) {
        expect(await barriersOn(tab)).toEqual([]);
        expect(await smallTargetsOn(tab)).toEqual([]);
        expect(await widthsForPoorSight(tab)).toEqual(FITS_A_PHONE.poorSight);
      } else {
        await tab.evaluate("document.documentElement.style.fontSize = '200%'");
        await expect.poll(() => widthOf(tab)).toBe(390);
      }
      // The browser itself logs error statuses, and GraphiQL logs the workers it starts.
      expect(said.filter((text) => !/^(Failed to load resource|setup-workers\/vite)/.test(text))).toEqual([]);
    },
  );

  it.each(SCHEMES)(
    "marks what has the focus on each page, and traps nobody who uses the keyboard (%s)",
    async (scheme) => {
      const page = await browser().newPage({ colorScheme: scheme });
      for (const path of PAGES) {
        await page.goto(url + path, { waitUntil: OTHERS[path] ? "networkidle" : "load" });
        await page.locator("h1").waitFor();
        // The others look like these.
        const stops = OTHERS[path] ? 20 : Math.min(await page.locator("a[href], button, input, pre").count(), 30);
        for (let stop = 0; stop < stops; stop++) {
          await page.keyboard.press("Tab");
          const expected = { focused: expect.not.stringMatching(/^<body/), isMarked: true };
          expect(await focusOn(page), `${path}, ${stop}`).toEqual(expected);
        }
        if (path !== "/graphql" && (await page.locator("nav").count()) > 0) {
          await page.reload();
          await page.locator("h1").waitFor();
          await page.keyboard.press("Tab");
          await page.keyboard.press("Enter");
          await page.waitForURL(/#content$/);
          await page.keyboard.press("Tab");
          expect(await page.evaluate("document.activeElement.closest('#content') !== null"), path).toBe(true);
        }
      }
      await page.close();
    },
  );

  it("keeps every text of the REST reference readable when its parts are open", async () => {
    const { key } = await world.user();
    const page = await browser().newPage();
    const summaries = ["Stores a memory", "The memories of a graph, newest first"];
    // All operations and refusals are styled alike, and opening every schema of all of them takes a minute.
    const { body } = await ask(`${url}/openapi.json`);
    const json = partOf(body as Document, "/v1/memories");
    await page.route("**/openapi.json", (route) => route.fulfill({ json }));
    await page.goto(`${url}/docs`);
    const operations = summaries.map((summary) =>
      page.locator(".opblock", { has: page.getByText(summary, { exact: true }) }),
    );
    const isReadable = async (within: string) => {
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        const isDark = () => page.evaluate("document.documentElement.classList.contains('dark-mode')");
        await expect.poll(isDark).toBe(colorScheme === "dark");
        await expect.poll(() => paleTexts(page, within), { message: `${within}, ${colorScheme}` }).toEqual([]);
      }
    };

    for (const operation of operations) {
      await operation.locator(".opblock-summary-description").click();
      await operation.locator(".responses-table .microlight").first().waitFor();
    }
    await isReadable(".opblock.is-open");
    for (const operation of operations) {
      for (const schema of await operation.getByRole("tab", { name: "Schema" }).all()) await schema.click();
      await operation.getByRole("button", { name: "Expand all" }).first().click();
    }
    await isReadable(".opblock.is-open");
    const models = page.locator("section.models h4 button");
    await models.click();
    await page.locator("section.models").getByRole("button", { name: "Expand all" }).first().click();
    await isReadable("section.models");
    // Open, they make each further step slow.
    await models.click();
    await page.getByRole("button", { name: "Authorize" }).first().click();
    await isReadable(".dialog-ux");
    await page.locator(".dialog-ux").getByRole("textbox").fill(key);
    await page.getByRole("button", { name: "Apply credentials" }).click();
    await page.getByText("Logout", { exact: true }).waitFor();
    await isReadable(".dialog-ux");
    await page.getByRole("button", { name: "Close" }).click();
    for (const operation of operations) {
      await operation.getByRole("button", { name: "Try it out" }).click();
      await operation.getByRole("button", { name: "Execute" }).click();
      await operation.locator(".curl-command").waitFor();
      await operation.locator(".live-responses-table .microlight").first().waitFor();
    }
    await isReadable(".opblock.is-open");
    await page.close();
  });

  it("keeps whole lines of code on paper", async () => {
    const page = await browser().newPage({ viewport: { width: 700, height: 900 } });
    for (const path of ["/docs/graphql", "/docs/agents"]) {
      await page.goto(url + path);
      const findCut = () =>
        page.evaluate<string[]>(`Array.from(document.querySelectorAll("pre"))
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map((code) => code.innerText)`);
      await page.emulateMedia({ media: "screen" });
      expect(await findCut(), path).not.toEqual([]);
      await page.emulateMedia({ media: "print" });
      expect(await findCut(), path).toEqual([]);
    }
    await page.close();
  });

  it.each(SCHEMES)("shows an invitation with any names on the smallest phone (%s)", async (scheme) => {
    await using world = await createWorld();
    const { url } = await world.serve({ NODE_ENV: "production" });
    const { owner, teamId } = await aTeam(world);
    const names = {
      team: `\u05E6\u05D5\u05D5\u05EA 7 ${"Donaudampfschiff".repeat(5)}`,
      ann: `\u202E${"Ann".repeat(30)}`,
    };
    await world.database.models.team.updateMany({ data: { name: names.team } });
    await world.database.models.user.updateMany({ data: { name: names.ann } });
    const { id } = await owner.did(inviteMember, { teamId, email: BOB, role: "member" });
    await world.giveToken(id, "token");
    await world.giveCode(BOB, "12345678");
    const page = await browser().newPage({ viewport: { width: 320, height: 640 }, colorScheme: scheme });

    await page.goto(`${url}/invitations/token?code`);
    const shown = [];
    const heard = [];
    for (const code of ["1", "12345678"]) {
      shown.push({ ...(await looksOf(page)), focused: await page.locator(":focus").getAttribute("name") });
      heard.push(await heardOn(page));
      await page.keyboard.type(code);
      await page.keyboard.press("Enter");
      await page.waitForURL(/answer/);
    }
    await page.getByText("This is your API key").waitFor();
    const end = await looksOf(page);
    await page.keyboard.press("Tab");
    const selected = await page.evaluate("getSelection().toString()");
    await page.close();

    expect(heard).toMatchObject([
      {
        title: expect.stringMatching(/^Enter the code: Join /),
        invalid: "false",
        about: expect.stringMatching(/^Enter the code of/),
      },
      {
        title: expect.stringMatching(/^Problem: Join /),
        invalid: "true",
        about: expect.stringMatching(/^This code is/),
      },
    ]);
    expect(selected).toMatch(/^mg_live_\w+$/);
    expect(shown).toEqual(shown.map(() => ({ ...FITS_A_PHONE, width: 320, focused: "code" })));
    expect(end).toEqual({ ...FITS_A_PHONE, width: 320 });
  });

  it.each(SCHEMES)("leads from an invitation's link to its mail, on a phone (%s)", async (colorScheme) => {
    await using world = await createWorld();
    const { url } = await world.serve({ NODE_ENV: "production" });
    const { owner, teamId } = await aTeam(world);
    await world.database.models.team.updateMany({ data: { name: "Donaudampfschiff".repeat(5) } });
    const { link } = await owner.did(inviteMember, { teamId, email: BOB, role: "member" });
    const { pathname } = new URL(link);
    const { mail } = world.database.models;
    await mail.deleteMany();
    const page = await browser().newPage({ viewport: { width: 390, height: 800 }, colorScheme });

    await page.goto(url + pathname);
    const shown = [await looksOf(page)];
    await page.getByRole("button", { name: "Mail me the link" }).click();
    await page.getByRole("status").getByText("Look for the mail to b…@example.com").waitFor();
    shown.push(await looksOf(page));
    expect(await page.title()).toMatch(/^Mail requested: Join /);
    // Reloading sends no other mail.
    await page.reload();
    await page.getByRole("button", { name: "Mail it again" }).waitFor();
    const mails = await mail.findMany();
    await world.database.models.invitation.updateMany({ data: { status: "revoked" } });
    await page.reload();
    await page.getByText("This invitation was revoked.").waitFor();
    shown.push(await looksOf(page));
    await page.close();

    expect(shown).toEqual(shown.map(() => FITS_A_PHONE));
    expect(mails).toMatchObject([{ kind: "invitation", email: BOB }]);
  });

  it.each(SCHEMES)("asks whether a program may connect, on a phone (%s)", async (colorScheme) => {
    await using world = await createWorld();
    const { url } = await serveWithOAuth(world);
    const walker = new OAuthWalker(url, world);
    const name = `\u202EDonaudampfschiff ${"Notes".repeat(15)}`;
    const { body } = await walker.register({ redirect_uris: [CALLBACK], client_name: name });
    await world.giveCode(walker.email, CODE);
    const page = await browser().newPage({ viewport: { width: 390, height: 800 }, colorScheme });

    await page.goto(url + walker.startOf(body.client_id));
    const shown = [await looksOf(page)];
    const heard = [await heardOn(page)];
    await page.keyboard.type("a@b");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    heard.push(await heardOn(page));
    expect(await page.getByLabel("Your e-mail address").inputValue()).toBe("a@b");
    await page.getByLabel("Your e-mail address").fill(walker.email);
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByLabel("Code").waitFor();
    shown.push(await looksOf(page));
    heard.push(await heardOn(page));
    await page.keyboard.type("00000000");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    shown.push(await looksOf(page));
    heard.push(await heardOn(page));
    await page.getByRole("link", { name: "Use another address" }).click();
    await page.getByLabel("Your e-mail address").waitFor();
    await page.goto(`${url}/oauth/authorize?client_id=unknown`);
    await page.getByRole("alert").waitFor();
    shown.push(await looksOf(page));
    await page.close();

    expect(shown).toEqual(shown.map(() => FITS_A_PHONE));
    expect(heard).toMatchObject([
      {
        title: expect.stringMatching(/^Connect /),
        invalid: "false",
        about: "A code is sent there, also if you are new.",
      },
      {
        title: expect.stringMatching(/^Problem: /),
        invalid: "true",
        about: expect.stringMatching(/^Check the address: .* A code is/),
      },
      {
        title: expect.stringMatching(/^Enter the code: /),
        invalid: "false",
        about: expect.stringMatching(/^Enter the code of/),
      },
      { title: expect.stringMatching(/^Problem: /), invalid: "true", about: expect.stringMatching(/^This code is/) },
    ]);
  });
});
