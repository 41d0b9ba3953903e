import { beforeAll, describe, expect, it } from "vitest";
import { graphqlSchema, operations, relations } from "../../src/operations.js";
import { raisedFailures } from "../../src/failures.js";
import { FAILURE_KINDS, examplesOf } from "../../src/operation/failure.js";
import { inRestNames, routeOf } from "../../src/operation/names.js";
import { SCOPES } from "../../src/operation/permission.js";
import { GRAPHQL_CODES } from "../../src/surfaces/graphql/errors.js";
import { HTTP_STATUS } from "../../src/surfaces/http-status.js";
import { ACCOUNT, HOME, PAGE_LINKS } from "../../src/surfaces/navigation.js";
import { routesOf } from "../../src/surfaces/plain-errors.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const named = operations.map((operation) => [operation.name, operation] as const);

const HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async function read(path: string): Promise<string> {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { status, body } = await ask(url + path, { headers: { accept: HTML } });
  expect(status).toBe(200);
  return String(body);
}

/** The text that a reader sees in HTML. */
const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&#(\d+);/g, (_entity, code: string) => String.fromCharCode(Number(code)))
    .replaceAll(/\s+/g, " ")
    .trim();

/** The rows of a page's tables, each as the texts of its cells. */
const rowsOf = (page: string): string[][] =>
  Array.from(page.matchAll(/<tr[^>]*>([\s\S]*?)<\/tr>/g), ([, row = ""]) =>
    Array.from(row.matchAll(/<(t[hd])[^>]*>([\s\S]*?)<\/\1>/g), ([, , cell = ""]) => textOf(cell)),
  );

it("lets no other site show a page within its own, tells none where a reader came from, and charges each", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  // The playground is built only for tests of its own.
  const paths = [HOME, ...PAGE_LINKS].map(({ path }) => path).filter((path) => path !== "/graphql");
  for (const path of [...paths, "/docs/nothing", "/billing/return"]) {
    // Sending a key must not avoid the charge where none is needed. At an unknown address it shows that it is a program.
    const key = path === "/docs/nothing" ? undefined : "nonsense";
    const { headers } = await ask(url + path, { key, headers: { accept: HTML } });
    expect(headers.get("content-type"), path).toMatch(/^text\/html/);
    expect(headers.get("content-security-policy")?.split("; "), path).toEqual(expect.arrayContaining([...UNFRAMED]));
    // The forms of the account's page tell the service itself where they came from.
    expect(headers.get("referrer-policy"), path).toBe(path === ACCOUNT.path ? "same-origin" : "no-referrer");
    expect(
      headers.get("ratelimit"),
      `${path} is not charged: \`PAGES\` of doors.ts lacks its first part`,
    ).not.toBeNull();
  }
});

it.each([HOME, ...PAGE_LINKS].map(({ path }) => path).filter((path) => !["/graphql", "/docs"].includes(path)))(
  "shows names as code instead of in backticks at %s",
  async (path) => {
    const examples = /<(pre|style)[^>]*>[\s\S]*?<\/\1>/g;
    expect(textOf((await read(path)).replaceAll(examples, "")).match(/.{0,40}`.*/)).toBeNull();
  },
);

const UNFRAMED = ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"];

describe("the page of access", () => {
  let page = "";
  beforeAll(async () => void (page = await read("/docs/access")));

  it.each(named)("shows who may run %s, and its routes", (name, { kind, summary, permission, rest, mcp, team }) => {
    const row = rowsOf(page).filter(([graphql]) => graphql === `${kind} ${name}`);
    expect(row).toHaveLength(1);
    const [[, route = "", tool = "", scope = "", role = "", does] = []] = row;
    expect(does).toBe(summary.replaceAll("`", ""));
    expect(route.startsWith(routeOf(rest))).toBe(true);
    expect(tool).toBe(mcp?.name ?? "none");
    if (permission.includes(":")) expect(scope).toBe(permission);
    else expect(scope).toMatch({ any: /any key/, all: /every scope/, public: /no key/ }[permission as "any"]);
    expect(role).toContain(team?.role ?? "none");
    expect(page).toContain(`<tr id="${name}">`);
  });

  it("explains every scope", () => {
    for (const scope of SCOPES) expect(page).toContain(`<dt><code>${scope}</code></dt>`);
  });
});

describe("the page of errors", () => {
  let sections: ReadonlyMap<string, string> = new Map();
  beforeAll(async () => {
    const parts = (await read("/docs/errors")).split("<h2");
    sections = new Map(parts.map((section) => [/^ id="(\w+)"/.exec(section)?.[1] ?? "", section] as const));
  });
  const routes = routesOf(operations);

  it.each(FAILURE_KINDS)("lists %s with its status and its code at both doors", (kind) => {
    const text = textOf(sections.get(kind) ?? "");
    expect(text).toContain(`${HTTP_STATUS[kind]} by REST, ${kind.toUpperCase()} by GraphQL.`);
    for (const { failure } of raisedFailures(operations, relations).filter(({ failure }) => failure.kind === kind)) {
      expect(text).toContain(failure.reason ?? "no reason");
      const unquoted = failure.message.replaceAll("`", "");
      expect(text).toContain(unquoted.replaceAll(/\s+/g, " "));
      expect(text).toContain(inRestNames(failure.message, routes).replaceAll("`", "").replaceAll(/\s+/g, " "));
    }
  });

  it.each(named)("lists %s with every failure that it declares", (name, { failures }) => {
    for (const failure of failures.flatMap(examplesOf)) {
      const rows = rowsOf(sections.get(failure.kind) ?? "").filter(([reason, , by = ""]) => {
        return reason === (failure.reason ?? "no reason") && by.split(", ").includes(name);
      });
      expect([failure.name, rows.length > 0]).toEqual([failure.name, true]);
    }
  });

  it("lists the codes that only GraphQL has, with their real status", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const sha256Hash = "0".repeat(64);
    const bodies = [
      { query: "{" },
      { query: "{ nothing }" },
      { extensions: { persistedQuery: { version: 1, sha256Hash } } },
    ];
    const answered: Record<string, number> = {};
    for (const body of bodies) {
      const { status, body: answer } = await ask(`${url}/graphql`, { body });
      const { errors } = answer as { errors: Array<{ extensions: { code: string } }> };
      answered[errors[0]?.extensions.code ?? ""] = status;
    }

    const told = Object.entries(GRAPHQL_CODES).map(([code, meaning]) => [code, Number(meaning.slice(0, 3))]);
    expect(answered).toEqual(Object.fromEntries(told));
    for (const code of Object.keys(answered)) expect(sections.get("graphql")).toContain(code);
  });
});

describe("the first page", () => {
  it("links browsers to every other page, and all of them exist", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const first = await ask(`${url}/`, { headers: { accept: HTML } });
    const links = Array.from(
      String(first.body).matchAll(/<a href="([^"]+)"/g),
      ([, to = ""]) => new URL(to, `${url}/`),
    );

    expect(first.status).toBe(200);
    expect(first.headers.get("vary")).toMatch(/\bAccept\b/);
    const paths = new Set(links.map(({ pathname }) => pathname));
    expect([...paths].toSorted()).toEqual(
      ["/", "/healthz", "/readyz", ...PAGE_LINKS.map(({ path }) => path)].toSorted(),
    );
    for (const path of paths) {
      const { status, body } = await ask(url + path, { headers: { accept: HTML } });
      expect([path, status]).toEqual([path, 200]);
      const there = Array.from(String(body).matchAll(/<nav[\s\S]*?<\/nav>/g)).flatMap(([nav]) =>
        Array.from(nav.matchAll(/href="([^"]+)"/g), ([, to = ""]) => new URL(to, url + path).pathname),
      );
      if (there.length > 0) expect(there).toEqual(["/", ...PAGE_LINKS.map((place) => place.path)]);
    }
  });

  it("is not shown to programs, and is charged to the address like other pages", async () => {
    await using world = await createWorld();
    const { key } = await world.user();
    const { url } = await world.serve();
    const asProgram = await ask(`${url}/`);
    expect(asProgram).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    expect(await ask(`${url}/`, { key })).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });

    const left = async () => {
      const { headers } = await ask(`${url}/`, { key, headers: { accept: HTML } });
      return Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
    };
    expect((await left()) - (await left())).toBe(1);
  });
});

it("links every operation that the page of errors names to the page of access", async () => {
  const schema = await graphqlSchema();
  const fields = { ...schema.getQueryType()?.getFields(), ...schema.getMutationType()?.getFields() };
  for (const [, name = ""] of (await read("/docs/errors")).matchAll(/access#(\w+)/g))
    expect(fields).toHaveProperty(name);
});
