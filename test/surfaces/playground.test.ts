import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type OperationDefinitionNode, buildSchema, getVariableValues, parse, validate } from "graphql";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { SUBJECTS } from "../../src/surfaces/playground/client/examples.js";
import { explainKey, withoutEmptyKey } from "../../src/surfaces/playground/client/fetcher.js";
import { type Ids, collectIds } from "../../src/surfaces/playground/client/ids.js";
import { linkedMemory } from "../../src/surfaces/playground/client/linked-memory.js";
import { type BillingWorld, createBillingWorld } from "../support/billing.js";
import { describeInBrowser } from "../support/browser.js";
import { paleTexts } from "../support/contrast.js";
import { ask } from "../support/http.js";
import { aMemory } from "../support/memories.js";
import { createWorld } from "../support/world.js";

const HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

beforeAll(() => {
  execFileSync(process.execPath, [".config/run.mjs", "--no-build", "--playground"], { stdio: "inherit" });
});

describe("the page", () => {
  it("is shown to clients that prefer HTML; others get GraphQL", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const typeOf = async (accept: string, query = "") => {
      const { headers } = await ask(`${url}/graphql${query}`, { headers: { accept, "apollo-require-preflight": "1" } });
      expect(headers.get("vary")).toMatch(/\bAccept\b/i);
      return headers.get("content-type");
    };

    expect(await typeOf(HTML)).toBe("text/html; charset=utf-8");
    expect(await typeOf("*/*")).toMatch(/json/);
    expect(await typeOf("application/json, text/html")).toMatch(/json/);
    expect(await typeOf("text/html;q=0.5, application/graphql-response+json")).toMatch(/json/);
    expect(await typeOf(HTML, "?query=%7B__typename%7D")).toMatch(/json/);
  });

  it("runs only its own scripts and is not cached; its assets are cached forever", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await ask(`${url}/graphql`, { headers: { accept: HTML } });
    const policy = page.headers.get("content-security-policy");
    const [asset] = /\/playground\/assets\/[^"]+\.js/.exec(String(page.body)) ?? [];

    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain("unsafe-eval");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    // At this address, programs get another answer.
    expect(page.headers.get("vary")).toMatch(/\baccept\b/i);
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("cache-control")).toBe("no-cache");

    const script = await ask(`${url}${asset}`);
    expect(script.status).toBe(200);
    expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
    expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(script.headers.get("x-content-type-options")).toBe("nosniff");
    // A worker has the policy of its own script.
    expect(script.headers.get("content-security-policy")).toBe(policy);
    for (const path of [`${url}/graphql`, `${url}${asset}`]) {
      const head = await ask(path, { method: "HEAD", headers: { accept: HTML } });
      expect(head).toMatchObject({ status: 200, body: "" });
      expect(Number(head.headers.get("content-length"))).toBeGreaterThan(500);
    }
  });
});

describe("other GraphQL explorers", () => {
  it("read the schema without a key, from an allowed origin", async () => {
    await using world = await createWorld();
    const { url } = await world.serve({ ALLOWED_ORIGINS: "https://studio.example.com" });
    const origin = "https://studio.example.com";
    const preflight = await ask(`${url}/graphql`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });
    const answer = await ask(`${url}/graphql`, {
      headers: { origin },
      body: { query: "{ __schema { queryType { name } } }" },
    });

    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
    expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization,content-type");
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    expect(answer.body).toEqual({ data: { __schema: { queryType: { name: "Query" } } } });
  });
});

const EXAMPLES = SUBJECTS.flatMap(({ examples }) => examples);

/** Examples that are refused to this caller, because they are for another user. */
const REFUSED: Readonly<Record<string, string>> = { "Accept an invitation": "invitation_email_mismatch" };

describe("the examples", () => {
  const schema = buildSchema(readFileSync("schema.graphql", "utf8"));

  it.each(EXAMPLES)("$title and its variables fit the schema", ({ document, variables }) => {
    const parsed = parse(document);
    const [operation] = parsed.definitions as OperationDefinitionNode[];
    const known = { memory: ["1", "2"], team: ["3"], invitation: ["4"], key: ["5"] };

    expect(validate(schema, parsed)).toEqual([]);
    for (const ids of [{}, known]) {
      const given = variables?.(ids) ?? {};
      const declared = operation?.variableDefinitions ?? [];
      expect(getVariableValues(schema, declared, given as Record<string, unknown>).errors).toBe(undefined);
      expect(Object.keys(given)).toEqual(declared.map(({ variable }) => variable.name.value));
    }
  });

  it("have unique names, of which none is part of another", () => {
    const titles = EXAMPLES.map(({ title }) => title);
    for (const title of titles) expect(titles.filter((other) => other.includes(title))).toEqual([title]);
  });

  it("work one after the other, with the ids of earlier answers", async () => {
    await using world = await createBillingWorld();
    const { key } = await world.user();
    let ids: Ids = {};
    const done: Record<string, unknown> = {};
    for (const { title, document: query, variables } of EXAMPLES) {
      const given = variables?.(ids) ?? {};
      await prepare(world, ids, given);
      const { body } = await ask(`${world.app.url}/graphql`, { key, body: { query, variables: given } });
      const { data, errors = [] } = body as { data: Record<string, object>; errors?: Array<{ extensions: object }> };
      done[title] = errors.map(({ extensions }) => (extensions as { reason?: string }).reason ?? extensions);
      ids = collectIds(body, ids);
      const { sessionId } = (data["createTeamCheckout"] ?? {}) as { sessionId?: string };
      if (sessionId) {
        await world.stripe.pay(sessionId);
        await world.stripe.delivered();
      }
    }

    const expected = EXAMPLES.map(({ title }) => [title, title in REFUSED ? [REFUSED[title]] : []]);
    expect(done).toEqual(Object.fromEntries(expected));
    expect(world.bugs).toEqual([]);
  });

  it("use the latest id of each kind", () => {
    const one = { title: "One", id: "1" };
    const two = { id: "2", title: "Two" };
    const earlier = { memory: ["0"], team: ["4"] };
    expect(collectIds({ data: { two, hits: [one, two], id: "3" } }, earlier)).toEqual({
      memory: ["2", "1", "2"],
      team: ["4"],
    });
    expect(collectIds(null, earlier)).toEqual(earlier);
    // The key in use is a key too, but revoking it must not be offered.
    expect(collectIds({ apiKeys: { keys: [{ id: "1", prefix: "mg_live_a" }] } })).toEqual({});
  });
});

describe("a link to a memory", () => {
  const id = "0190b5a0-7c3e-7000-8000-000000000001";

  it("has an operation that fits the schema, for an id and nothing else", () => {
    const schema = buildSchema(readFileSync("schema.graphql", "utf8"));
    const document = linkedMemory(`?utm_source=x&memory=${id}`) ?? "";
    expect(document).toContain(`memory(id: "${id}")`);
    expect(validate(schema, parse(document))).toEqual([]);
    for (const search of ["", "?memory=", "?memory=x", `?memory=${id}%22`, `?memory=%0A${id}`])
      expect(linkedMemory(search)).toBe(undefined);
  });
});

/** Stores what other people get by mail: the code, and the token of the invitation. */
async function prepare(world: BillingWorld, { invitation: [id] = [] }: Ids, variables: object): Promise<void> {
  const { token, input = {} } = variables as { token?: string; input?: { email?: string; code?: string } };
  if (input.email && input.code) await world.giveCode(input.email, input.code);
  if (token && id) await world.giveToken(id, token);
}

describe("a missing key", () => {
  it("is not sent: an empty one counts as a wrong one", () => {
    for (const value of ["", "  ", "Bearer", "Bearer ", "bearer  ", null]) {
      expect(withoutEmptyKey({ Authorization: value, "X-Request-Id": "1" })).toEqual({ "X-Request-Id": "1" });
    }
    expect(withoutEmptyKey({ authorization: "Bearer x" })).toEqual({ authorization: "Bearer x" });
  });

  it("is explained with the place to write it, and other errors are unchanged", () => {
    const refused = { message: "Send a valid API key.", extensions: { code: "UNAUTHORIZED" } };
    const other = { message: "No.", extensions: { code: "NOT_FOUND" } };
    const { errors } = explainKey({ errors: [refused, other] }, false);
    expect(errors).toEqual([
      {
        message: expect.stringContaining("Headers tab") as string,
        Headers: { Authorization: "Bearer mg_live_…" },
        extensions: { code: "UNAUTHORIZED" },
      },
      other,
    ]);
    expect(explainKey({ errors: [refused] }, true).errors?.[0]?.message).toContain("wrong, has expired or was revoked");
  });
});

describeInBrowser("the playground", (browser) => {
  it.each(["css", "js"])("says that it loads while its .%s are missing, and later what to do", async (ending) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage();
    const missing = `**/playground/assets/index-*.${ending}`;
    // The style comes late, the script not at all.
    await page.route(missing, (route) => (ending === "js" ? route.abort() : undefined));
    await page.goto(`${url}/graphql`, { waitUntil: "commit" });
    const paints = () => page.evaluate(() => performance.getEntriesByName("first-contentful-paint").length);

    await expect.poll(paints).toBe(1);
    const [loads, advice] = [page.getByText("The playground is loading"), page.getByText("This takes long")];
    expect([await loads.isVisible(), await advice.isVisible()]).toEqual([true, false]);
    await page.evaluate("document.getAnimations().forEach((animation) => animation.finish())");
    expect(await advice.isVisible()).toBe(true);
    await page.unroute(missing);
    await page.reload();
    await page.getByRole("button", { name: "Execute query" }).waitFor();
    expect(await loads.count()).toBe(0);
  });

  it("says without scripts what it needs, and not that it is loading", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const context = await browser().newContext({ javaScriptEnabled: false });
    const page = await context.newPage();

    await page.goto(`${url}/graphql`);

    expect(await page.locator("body").innerText()).toMatch(/^The playground needs JavaScript\.[^\n]*$/);
    await page.getByRole("link", { name: "GraphQL from a frontend" }).click();
    await page.getByRole("heading", { name: "GraphQL from a frontend" }).waitFor();
  });

  it("says what to do when a part that it loads later is missing", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage();
    const missing = "**/playground/assets/monaco-editor-*.js";
    await page.route(missing, (route) => route.abort());
    const advice = page.getByRole("alert").filter({ hasText: "could not be loaded" });

    await page.goto(`${url}/graphql`);
    await advice.waitFor();

    await page.unroute(missing);
    await advice.getByRole("link").click();
    await page.locator(".monaco-editor").first().waitFor();
    expect(await advice.isVisible()).toBe(false);
  });

  it("accepts a key, runs operations and examples, and shows the documentation, without other hosts", async () => {
    await using world = await createWorld();
    const { key, email } = await world.user();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 1280, height: 800 } });
    const problems = problemsOf(page, url);
    await page.goto(`${url}/graphql`);
    expect(await page.title()).toBe("Memory Graph Gateway · GraphQL");

    await giveKey(page, key);
    await run(page);
    await expectAnswer(page, email);

    await choose(page, "Store two memories");
    await run(page);
    await expectAnswer(page, "Retry with exponential backoff");
    await choose(page, "Link them");
    await run(page);
    await expectAnswer(page, "SOLVES");
    await choose(page, "Walk from a memory");
    await run(page);
    await expectAnswer(page, `"depth": 1`);

    await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
    await page.getByRole("link", { name: "Query", exact: true }).click();
    await page.getByText("Finds memories by words, best first").waitFor();

    expect(problems).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  it("opens with the operation for the memory of a link, and keeps what its tab had", async () => {
    await using world = await createWorld();
    const ann = await world.user();
    const { id } = await aMemory(ann, { title: "Retry with backoff" });
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 1280, height: 800 } });
    const problems = problemsOf(page, url);

    await page.goto(`${url}/graphql?memory=${id}`);
    await giveKey(page, ann.key);
    await run(page);
    await expectAnswer(page, `"title": "Retry with backoff"`);
    // GraphiQL stores its tabs a little later.
    const kept = () => page.evaluate("JSON.stringify({ ...sessionStorage })");
    await expect.poll(kept).toContain(id);
    const other = ann.caller.userId;
    await page.goto(`${url}/graphql?memory=${other}`);
    await expectText(page, ".graphiql-query-editor .view-lines", other);
    expect(await kept()).toContain(id);

    expect(problems).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  it("runs public operations without a key, and says where to write one for the others", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
    const problems = problemsOf(page, url);
    await page.goto(`${url}/graphql`);

    await choose(page, "Sign up");
    await run(page);
    await expectAnswer(page, `"email": "ann@example.com"`);
    await choose(page, "Who am I?");
    await run(page);
    await expectAnswer(page, `"Headers": { "Authorization": "Bearer mg_live_…"`);

    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    // The browser itself logs the refused request.
    expect(problems).toEqual([expect.stringContaining("401 (Unauthorized)")]);
    expect(world.bugs).toEqual([]);
  });

  it("has readable texts in the light and in the dark", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 1280, height: 800 } });
    const readable = async () => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await expect.poll(() => paleTexts(page), { message: colorScheme }).toEqual([]);
      }
    };
    await page.goto(`${url}/graphql`);
    await expectText(page, ".graphiql-query-editor .view-lines", "Ctrl-Space completes.");

    await readable();
    await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
    for (const name of ["Query", "memory", "Memory", "MemoryRelationship", "Direction"]) {
      await readable();
      await page.getByRole("link", { name, exact: true }).first().click();
    }
    for (const name of ["Show History", "Open short keys dialog", "Open settings dialog"]) {
      await page.getByRole("button", { name }).click();
      await readable();
      await page.keyboard.press("Escape");
    }
    await page.getByRole("button", { name: "Open settings dialog" }).click();
    await page.getByRole("button", { name: "Dark", exact: true }).click();
    await page.keyboard.press("Escape");
    await readable();
    expect(await page.evaluate("document.body.className")).toContain("graphiql-dark");
  });

  it.each(["light", "dark"] as const)(
    "shows the button to run and which example has the focus in high contrast (%s)",
    async (colorScheme) => {
      await using world = await createWorld();
      const { url } = await world.serve();
      const page = await browser().newPage({ forcedColors: "active", colorScheme });
      await page.goto(`${url}/graphql`);
      const [button, example] = [".graphiql-execute-button", ".playground-examples button"];
      await page.locator(example).first().waitFor();
      const read = (selector: string, property: string) =>
        page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}"))["${property}"]`);

      expect(await read(`${button} > svg`, "color")).toBe(await read(button, "color"));
      // The editor may take the focus when it is loaded.
      const findOutline = async () => {
        await page.locator(example).first().focus();
        return read(example, "outlineStyle");
      };
      await expect.poll(findOutline).toBe("solid");
      await page.close();
    },
  );

  it.each([
    ["Linux", {}],
    ["a Mac", { userAgent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0.0.0 Safari/537.36" }],
  ])("says how the keyboard leaves an editor on %s", async (_system, system) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 1280, height: 800 }, ...system });
    await page.goto(`${url}/graphql`);
    const isInEditor = () => page.evaluate("document.activeElement.closest('.monaco-editor') !== null");

    await page.getByText("In an editor, Ctrl M lets Tab move on").waitFor();
    await choose(page, "Who am I?");
    await page.keyboard.press("Tab");
    expect(await isInEditor()).toBe(true);
    await page.keyboard.press("Control+m");
    await page.keyboard.press("Tab");
    expect(await isInEditor()).toBe(false);
  });

  it("says how much it loads", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage();
    const loaded = new Map<string, number>();
    page.on("response", async (response) => {
      if (!response.url().includes("/playground/assets/")) return;
      // What still comes when the test is over ends with its page.
      const body = await response.body().catch(() => undefined);
      if (body) loaded.set(response.url(), body.length);
    });
    await page.goto(`${url}/graphql`);
    const { body } = await ask(`${url}/graphql`, { headers: { accept: HTML } });
    const [, megabytes] = /loading: up to ([\d.]+) MB/.exec(String(body)) ?? [];
    const workers = () => [...loaded.keys()].filter((name) => name.includes(".worker-"));

    await expect.poll(() => workers().length).toBe(3);
    const sum = [...loaded.values()].reduce((total, bytes) => total + bytes) / 1e6;
    expect(sum).toBeLessThan(Number(megabytes));
    expect(sum).toBeGreaterThan(Number(megabytes) - 0.5);
  });

  it("restores with undo what an example has replaced", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${url}/graphql`);
    const written = "query Mine { viewer { id } }";
    await choose(page, "Who am I?");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText(written);
    await expectText(page, QUERY_EDITOR, written);

    await choose(page, "Change my name");
    await expectText(page, QUERY_EDITOR, "mutation ChangeName");
    await page.keyboard.press("ControlOrMeta+z");
    await expectText(page, QUERY_EDITOR, written);
  });

  it("says so when the service cannot be reached, or when something else answers", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage();
    await page.goto(`${url}/graphql`);
    await choose(page, "Who am I?");

    await page.route("**/graphql", (route) => route.abort());
    await run(page);
    await expectAnswer(page, "The service cannot be reached");
    await page.unroute("**/graphql");
    await page.route("**/graphql", (route) => route.fulfill({ status: 502, body: "<h1>Bad gateway</h1>" }));
    await run(page);
    await expectAnswer(page, "The answer (HTTP 502) is not from the service itself");
    expect(await page.locator(".graphiql-response .view-lines").innerText()).not.toContain("stack");
  });

  it("sends the key with every operation in the browser's tab, and in no other tab", async () => {
    await using world = await createWorld();
    const { key, email } = await world.user();
    const { url } = await world.serve();
    const context = await browser().newContext();
    const page = await context.newPage();
    await page.goto(`${url}/graphql`);
    await giveKey(page, key);

    await page.getByRole("button", { name: "New tab" }).click();
    await choose(page, "Who am I?");
    await run(page);
    await expectAnswer(page, email);
    expect(await page.evaluate("Object.values(localStorage)")).toEqual([]);

    const other = await context.newPage();
    await other.goto(`${url}/graphql`);
    await expectText(other, HEADERS_EDITOR, `{"Authorization": "Bearer "}`);
  });
});

/** Collects what must not happen: errors on the console, and requests to anywhere but the service. */
function problemsOf(page: Page, url: string): string[] {
  const problems: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && problems.push(message.text())));
  page.on("pageerror", (error) => void problems.push(error.message));
  page.on("request", (request) => void (new URL(request.url()).origin !== url && problems.push(request.url())));
  return problems;
}

const QUERY_EDITOR = ".graphiql-query-editor .view-lines";
const HEADERS_EDITOR = ".graphiql-editor-tool .graphiql-editor:not(.hidden) .view-lines";

async function giveKey(page: Page, key: string): Promise<void> {
  await page.locator(HEADERS_EDITOR).getByText("Bearer").click();
  await page.keyboard.press("End");
  // The text ends with `"}`: the key belongs before these two characters.
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(key);
}

const choose = (page: Page, example: string) => page.getByRole("button", { name: example }).click();
const run = (page: Page) => page.getByRole("button", { name: "Execute query" }).click();

const expectAnswer = (page: Page, text: string) => expectText(page, ".graphiql-response .view-lines", text);

/** White space is ignored: the editor wraps long lines, and shows spaces as no-break spaces. */
async function expectText(page: Page, selector: string, text: string): Promise<void> {
  const withoutSpace = (from: string) => from.replaceAll(/\s/g, "");
  const shown = async () => withoutSpace(await page.locator(selector).innerText());
  await expect.poll(shown).toContain(withoutSpace(text));
}
