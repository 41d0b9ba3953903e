import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { operations } from "../../src/operations.js";
import { methodsOf } from "../../src/operation/operation.js";
import { backendAliases } from "../../src/surfaces/rest/aliases/backend-aliases.js";
import { sdkAliases } from "../../src/surfaces/rest/aliases/sdk-aliases.js";
import { type Answer, ask } from "../support/http.js";
import { serveWithOAuth } from "../support/oauth.js";
import { exchange } from "../support/socket.js";
import { createWorld } from "../support/world.js";

const { keylessPerAddress } = LIMITS.budgets;
const NO_ID = "019b0000-0000-7000-8000-000000000000";

/** Every path, with an id that does not exist, and the methods that it takes. */
function paths(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (path: string, methods: readonly string[]) => {
    const here = found.get(path) ?? new Set();
    for (const method of methods) here.add(method);
    if (here.has("GET")) here.add("HEAD");
    found.set(path, here);
  };
  const withIds = (path: string) => path.replaceAll(/:\w+/g, NO_ID);
  for (const { rest } of operations) add(withIds(rest.path), methodsOf(rest));
  for (const { method, path } of [...sdkAliases, ...backendAliases]) add(withIds(path), [method]);
  for (const path of ["/mcp", "/mcp/oauth", "/billing/stripe-webhook"]) add(path, ["POST"]);
  for (const path of ["/oauth/token", "/token", "/oauth/revoke", "/oauth/register"]) add(path, ["POST"]);
  for (const path of ["/healthz", "/readyz", "/health", "/v1/export", "/docs", "/openapi.json"]) add(path, ["GET"]);
  for (const path of ["/docs/limits", "/docs/errors", "/docs/graphql", "/docs/access"]) add(path, ["GET"]);
  for (const path of ["/.well-known/oauth-protected-resource/mcp/oauth", "/oauth/authorize"]) add(path, ["GET"]);
  for (const path of ["/billing/return", "/invitations/x", `/invitations/by-id/${NO_ID}`]) add(path, ["GET"]);
  for (const path of ["x/code", "x/answer", `by-id/${NO_ID}/mail`]) add(`/invitations/${path}`, ["GET", "POST"]);
  add("/graphql", ["GET", "POST"]);
  return found;
}

const allowedIn = (headers: Headers): string[] => headers.get("allow")?.split(", ").toSorted() ?? [];

it("tells everybody the methods that a path takes, at every path", async () => {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);

  const told = new Map<string, unknown>();
  for (const path of paths().keys()) {
    const { status, headers } = await ask(url + path, { method: "OPTIONS" });
    told.set(path, [status < 300, allowedIn(headers)]);
  }

  expect(Object.fromEntries(told)).toEqual(
    Object.fromEntries([...paths()].map(([path, methods]) => [path, [true, [...methods].toSorted()]])),
  );
  expect((await ask(`${url}/v1/nothing`, { method: "OPTIONS" })).status).toBe(404);
});

it("refuses another method at every path, instead of saying that the path does not exist", async () => {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  const { key } = await world.user({ plan: "pro" });

  const answers = new Map<string, unknown>();
  for (const [path, methods] of paths()) {
    const other = ["PUT", "PATCH", "DELETE", "POST"].find((method) => !methods.has(method)) ?? "";
    const { status, headers } = await ask(url + path, { key, method: other });
    answers.set(path, [status, allowedIn(headers)]);
  }

  // It takes no API key, and refuses a request without an access token first.
  expect(answers.get("/mcp/oauth")).toEqual([401, []]);
  answers.delete("/mcp/oauth");
  const expected = [...paths()].map(([path, methods]) => [path, [405, [...methods].toSorted()]] as const);
  expect(answers).toEqual(new Map(expected.filter(([path]) => answers.has(path))));
});

/** Headers that differ between two answers to the same request, or describe how a body is sent. */
const OF_ONE_ANSWER = ["connection", "date", "keep-alive", "ratelimit", "transfer-encoding", "x-request-id"];
const BROWSERS = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

it.each(["*/*", BROWSERS])("answers HEAD as GET, without the body, at every path: %s", async (accept) => {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  const { key } = await world.user({ plan: "pro" });
  const readable = [...paths()].flatMap(([path, methods]) => (methods.has("GET") ? [path] : []));
  const others = ["/", "/graphql?query={viewer{id}}", "/nothing", "/docs/nothing", "/v1/nothing", "/oauth/nothing"];
  const told = ({ status, headers }: Answer) => [
    status,
    Object.fromEntries([...headers].filter(([name]) => !OF_ONE_ANSWER.includes(name))),
  ];

  // Some answers say when the key was last used, which is stored in the background.
  await ask(`${url}/me`, { key });
  await expect.poll(() => world.database.models.apiKey.count({ where: { lastUsedAt: null } })).toBe(0);
  let count = 0;
  for (const path of [...readable, ...others]) {
    const head = await ask(url + path, { key, method: "HEAD", headers: { accept } });
    const get = await ask(url + path, { key, headers: { accept } });
    expect([path, ...told(head), head.body]).toEqual([path, ...told(get), ""]);
    count++;
  }
  expect(count).toBeGreaterThan(45);
});

it("answers a whole address as its path, at every path", async () => {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  let requests = 0;
  const answerTo = async (method: string, target: string) => {
    const from = `X-Forwarded-For: 10.0.${requests >> 8}.${requests++ & 255}`;
    const head = `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept: ${BROWSERS}\r\n${from}\r\n`;
    const answer = await exchange(url, `${head}\r\n`, { silenceMs: 30_000 });
    return answer.replaceAll(/^(?:date|x-request-id|ratelimit): .*\r\n/gim, "");
  };

  for (const [path, methods] of [...paths(), ["/nothing/here", new Set(["GET"])] as const]) {
    for (const method of methods) {
      const answer = await answerTo(method, path);
      expect([method, path, await answerTo(method, `http://other.example.com:80${path}`)]).toEqual([
        method,
        path,
        answer,
      ]);
    }
  }
  expect(await answerTo("GET", "http://[::1]?a")).toBe(await answerTo("GET", "/?a"));
});

it("changes nothing by HEAD, and charges it as GET", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "free" });
  const leftAfter = async (method: string, query: string) => {
    const { status, headers } = await ask(`${url}/graphql?query=${encodeURIComponent(query)}`, {
      key: ann.key,
      method,
    });
    return [status, Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1])];
  };
  const creating = `mutation { createMemory(input: { type: "fix", title: "A", content: "B" }) { id } }`;

  expect(await leftAfter("GET", "{ viewer { id } memories { nextCursor } }")).toEqual([200, 58]);
  expect(await leftAfter("HEAD", "{ viewer { id } memories { nextCursor } }")).toEqual([200, 56]);
  expect(await leftAfter("HEAD", creating)).toEqual([405, 55]);
  expect((await ask(`${url}/v1/memories`, { key: ann.key })).body).toMatchObject({ memories: [] });
});

it("charges OPTIONS to the address, but not what a browser asks before a request", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const headers = { origin: "http://localhost:5173", "access-control-request-method": "POST" };
  const statuses = async (wish: { headers?: typeof headers }) => {
    const asked = [];
    for (const path of ["/v1/memories", "/graphql", "/mcp"]) {
      const answer = await ask(url + path, { method: "OPTIONS", ...wish });
      asked.push([answer.status, answer.headers.get("ratelimit")?.replace(/;t=.*/, "")]);
    }
    return asked;
  };

  expect(await statuses({ headers })).toEqual([
    [204, undefined],
    [204, undefined],
    [204, undefined],
  ]);
  expect(await statuses({})).toEqual([
    [204, `"keyless";r=${keylessPerAddress - 1}`],
    [204, `"keyless";r=${keylessPerAddress - 2}`],
    [204, `"keyless";r=${keylessPerAddress - 3}`],
  ]);
  for (let left = keylessPerAddress - 3; left > 0; left--) await ask(`${url}/me`, { method: "OPTIONS" });
  expect((await statuses({})).map(([status]) => status)).toEqual([429, 429, 429]);
  expect((await statuses({ headers })).map(([status]) => status)).toEqual([204, 204, 204]);
});

it("lets pages of allowed origins alone read an answer, without cookies, at every path", async () => {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  const body = { redirect_uris: ["http://127.0.0.1/callback"] };
  let requests = 0;
  for (const origin of ["http://localhost:5173", "https://other.example.com"]) {
    const isAllowed = origin.startsWith("http:");
    for (const [path, methods] of [...paths(), ["/nothing", new Set(["GET", "POST"])] as const]) {
      for (const method of methods) {
        const headers = { origin, "x-forwarded-for": `10.0.${requests >> 8}.${requests++ & 255}` };
        const answer = await ask(url + path, { method, headers, ...(method === "POST" && { body }) });
        const told = ["access-control-allow-origin", "access-control-allow-credentials", "vary"];
        expect([method, path, ...told.map((name) => answer.headers.get(name))]).toEqual([
          method,
          path,
          isAllowed ? origin : null,
          null,
          expect.stringMatching(/^Origin\b/),
        ]);
      }
    }
  }
});
