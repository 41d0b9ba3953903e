import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { buildSchema, parse, validate } from "graphql";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { EXAMPLES, memoriesIn } from "../../src/surfaces/playground/client/examples.js";
import { describeInBrowser } from "../support/browser.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

beforeAll(() => {
  execFileSync(process.execPath, [".config/run.mjs", "--no-build", "--playground"], { stdio: "inherit" });
});

describe("the page", () => {
  it("is for who prefers HTML; others get GraphQL", async () => {
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

  it("runs no script but its own and may stay in no cache; its assets may stay for ever", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await ask(`${url}/graphql`, { headers: { accept: HTML } });
    const policy = page.headers.get("content-security-policy");
    const [asset] = /\/playground\/assets\/[^"]+\.js/.exec(String(page.body)) ?? [];

    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain("unsafe-eval");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("cache-control")).toBe("no-cache");

    const script = await ask(`${url}${asset}`);
    expect(script.status).toBe(200);
    expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
    expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(script.headers.get("x-content-type-options")).toBe("nosniff");
    for (const path of [`${url}/graphql`, `${url}${asset}`]) {
      const head = await ask(path, { method: "HEAD", headers: { accept: HTML } });
      expect(head).toMatchObject({ status: 200, body: "" });
      expect(Number(head.headers.get("content-length"))).toBeGreaterThan(500);
    }
  });
});

describe("explorers of other makers", () => {
  it("read the schema without a key, from an origin that is allowed", async () => {
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

describe("the examples", () => {
  const schema = buildSchema(readFileSync("schema.graphql", "utf8"));

  it.each(EXAMPLES)("$title fits the schema", ({ operation }) => {
    for (const memories of [[], ["1", "2"]]) expect(validate(schema, parse(operation(memories)))).toEqual([]);
  });

  it("go on with the memories of the last answer", () => {
    const one = { title: "One", id: "1" };
    const two = { id: "2", title: "Two" };
    expect(memoriesIn(JSON.stringify({ data: { two, hits: [one, two], id: "3" } }))).toEqual(["2", "1"]);
    expect(memoriesIn("")).toEqual([]);
  });
});

describeInBrowser("the playground", (browser) => {
  it("takes a key, runs operations and examples, and shows the documentation, all by itself", async () => {
    await using world = await createWorld();
    const { key, email } = await world.user();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 1280, height: 800 } });
    const problems = problemsOf(page, url);
    await page.goto(`${url}/graphql`);
    expect(await page.title()).toBe("Memory Graph Gateway · GraphQL");

    await giveKey(page, key);
    await run(page);
    await answers(page, email);

    await choose(page, "Store two memories");
    await run(page);
    await answers(page, "Retry with exponential backoff");
    await choose(page, "Link them");
    await run(page);
    await answers(page, "SOLVES");
    await choose(page, "Walk from a memory");
    await run(page);
    await answers(page, `"depth": 1`);

    await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
    await page.getByRole("link", { name: "Query", exact: true }).click();
    await page.getByText("Finds memories by words, best first").waitFor();

    expect(problems).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  it("gives the key to every operation in the browser's tab, and to no other tab", async () => {
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
    await answers(page, email);
    expect(await page.evaluate("Object.values(localStorage)")).toEqual([]);

    const other = await context.newPage();
    await other.goto(`${url}/graphql`);
    await shows(other, HEADERS_EDITOR, `{"Authorization": "Bearer "}`);
  });
});

/** Notes what must not happen: errors on the console, and requests to anywhere but the service. */
function problemsOf(page: Page, url: string): string[] {
  const problems: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && problems.push(message.text())));
  page.on("pageerror", (error) => void problems.push(error.message));
  page.on("request", (request) => void (new URL(request.url()).origin !== url && problems.push(request.url())));
  return problems;
}

const HEADERS_EDITOR = ".graphiql-editor-tool .graphiql-editor:not(.hidden) .view-lines";

async function giveKey(page: Page, key: string): Promise<void> {
  await page.locator(HEADERS_EDITOR).getByText("Bearer").click();
  await page.keyboard.press("End");
  for (const _ of `"}`) await page.keyboard.press("ArrowLeft");
  await page.keyboard.type(key);
}

const choose = (page: Page, example: string) => page.getByRole("button", { name: example }).click();
const run = (page: Page) => page.getByRole("button", { name: "Execute query" }).click();

const answers = (page: Page, text: string) => shows(page, ".graphiql-response .view-lines", text);

/** White space does not count: the editor wraps long lines, and shows spaces as no-break spaces. */
async function shows(page: Page, selector: string, text: string): Promise<void> {
  const withoutSpace = (from: string) => from.replaceAll(/\s/g, "");
  const shown = async () => withoutSpace(await page.locator(selector).innerText());
  await expect.poll(shown, { timeout: 15_000 }).toContain(withoutSpace(text));
}
