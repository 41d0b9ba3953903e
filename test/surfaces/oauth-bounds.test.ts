import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { RunningApp } from "../../src/app.js";
import { CODE_GUESSES } from "../../src/features/access/confirm-sign-up.js";
import { LIMITS } from "../../src/limits.js";
import { takeUseOfNetwork } from "../../src/operation/use-limit.js";
import { ProcessBudgets } from "../../src/platform/rate-limit/rate-limiter.js";
import { DocumentReadings } from "../../src/surfaces/oauth/documents.js";
import { REGISTRATIONS, STARTS } from "../../src/surfaces/oauth/routes.js";
import { ask } from "../support/http.js";
import { CALLBACK, CODE, OAuthWalker, serveWithOAuth } from "../support/oauth.js";
import { type World, createWorld } from "../support/world.js";

let world: World;
let app: RunningApp;
let url: string;
let walker: OAuthWalker;

beforeAll(async () => {
  world = await createWorld();
  app = await serveWithOAuth(world);
  ({ url } = app);
});
beforeEach(() => void (walker = new OAuthWalker(url, world)));
afterEach(() => expect(world.bugs).toEqual([]));
afterAll(() => world[Symbol.asyncDispose]());

describe("strangers", () => {
  const { redirectUris, redirectUriLength, nameLength, waiting, bodyBytes } = LIMITS.oauth;
  const uriOf = (length: number) => CALLBACK.padEnd(length, "x");

  it("can register clients only within bounds", async () => {
    const many = (count: number) => ({ redirect_uris: Array.from({ length: count }, (_, n) => `${CALLBACK}/${n}`) });
    const statuses = [
      await walker.register(many(redirectUris)),
      await walker.register({ redirect_uris: [uriOf(redirectUriLength)] }),
      await walker.register({ redirect_uris: ["http://127.0.0.1:1/callback", "my-app://callback"] }),
      await walker.register(many(redirectUris + 1)),
      await walker.register({ redirect_uris: [uriOf(redirectUriLength + 1)] }),
      await walker.register({ redirect_uris: [] }),
      await walker.register({ redirect_uris: CALLBACK }),
      await walker.register({ redirect_uris: ["no address"] }),
      await walker.register({ redirect_uris: ["http://app.example.com/callback"] }),
      await walker.register({ redirect_uris: ["javascript:alert(1)"] }),
      await walker.register({ redirect_uris: [{}] }),
      await walker.register([]),
    ].map(({ status, body }) => [status, body.error]);
    expect(statuses.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => [201, undefined]));
    const refused = [400, expect.stringMatching(/^invalid_(?:client_metadata|redirect_uri)$/)];
    expect(statuses.slice(3)).toEqual(Array.from({ length: 9 }, () => refused));

    const { body } = await walker.register({
      redirect_uris: [CALLBACK],
      client_name: "n".repeat(nameLength + 1),
      client_secret: "mine",
      scope: "all",
      token_endpoint_auth_method: "client_secret_post",
      jwks_uri: "https://127.0.0.1/",
      logo_uri: 1,
    });
    expect(body).toMatchObject({ client_name: "n".repeat(nameLength), token_endpoint_auth_method: "none" });
    const spaced = { redirect_uris: [CALLBACK], client_name: `${" ".repeat(nameLength)}A \n program` };
    expect((await walker.register(spaced)).body).toMatchObject({ client_name: "A program" });
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining([expect.stringMatching(/secret|scope|jwks|logo/)]));
  });

  it("can send only small bodies of the right type", async () => {
    const send = async (path: string, body: string, type = "application/json", others = {}) => {
      const answer = await ask(`${url}/oauth${path}`, { body, headers: { "content-type": type, ...others } });
      return [answer.status, (answer.body as { error?: string }).error];
    };
    const registration = JSON.stringify({ redirect_uris: [CALLBACK] });
    const form = "application/x-www-form-urlencoded";

    expect((await send("/register", registration.padEnd(bodyBytes)))[0]).toBe(201);
    expect(await send("/register", registration.padEnd(bodyBytes + 1))).toEqual([413, "invalid_request"]);
    expect(await send("/register", "{")).toEqual([400, "invalid_client_metadata"]);
    expect(await send("/register", registration, "text/plain")).toEqual([415, "invalid_request"]);
    expect(await send("/token", "a=".padEnd(bodyBytes + 1, "a"), form)).toEqual([413, "invalid_request"]);
    expect(await send("/token", "client_id=%00&client_id=b&grant_type=refresh_token", form)).toEqual([
      400,
      "invalid_request",
    ]);
    expect(await send("/token", "client_id=a&grant_type[]=\ud800", form)).toEqual([401, "invalid_client"]);
    expect(await send("/token", "client_id=a", `${form}; charset=none`)).toEqual([401, "invalid_client"]);
    expect(await send("/token", "{}")).toEqual([400, "invalid_request"]);
    expect(await send("/revoke", "client_id=a&token=b", form)).toEqual([401, "invalid_client"]);
    const [html, zipped] = [{ accept: "text/html, */*; q=.2" }, { "content-encoding": "gzip" }];
    expect(await send("/token", "client_id=a", form, html)).toEqual([401, "invalid_client"]);
    expect(await send("/revoke", "client_id=a&token=b", form, html)).toEqual([401, "invalid_client"]);
    expect(await send("/register", '{"redirect_uris": ["x"]}', undefined, html)).toEqual([400, "invalid_redirect_uri"]);
    expect(await send("/token", "client_id=a", form, zipped)).toEqual([400, "invalid_request"]);
    expect(await send("/register", registration, undefined, zipped)).toEqual([400, "invalid_client_metadata"]);
    for (const path of ["/token", "/register", "/revoke"]) {
      const { status, headers } = await ask(`${url}/oauth${path}`);
      expect([path, status, headers.get("allow")]).toEqual([path, 405, "POST"]);
    }
    for (const path of ["/authorize/x", "/connect/x", "/authorize?client_id=a&client_id=b", "/authorize?%FF=%00"]) {
      expect([path, (await ask(`${url}/oauth${path}`)).status]).toEqual([path, 400]);
    }
  });

  it("can name only so many parameters in an address, since reading takes time quadratic in their number", async () => {
    const { parameters } = LIMITS.oauth;
    const { body: client } = await walker.register();
    const start = walker.startOf(client.client_id);
    const more = (path: string, count: number) => path + "&a".repeat(count);
    const unused = parameters - start.split("&").length;
    const read = vi.spyOn(URLSearchParams.prototype, "getAll");
    onTestFinished(() => read.mockRestore());

    const longest = Math.floor((LIMITS.http.urlBytes - start.length) / "&a".length);
    for (const path of [more(start, unused + 1), more(start, longest), more("/oauth/authorize/x?a", longest)]) {
      const { status, text } = await walker.visit(path);
      expect([path.length, status, text]).toEqual([
        path.length,
        400,
        expect.stringContaining(`at most ${parameters} parameters`),
      ]);
    }
    expect(read.mock.calls.length).toBeLessThan(parameters);

    expect((await walker.visit(more(start, unused))).location).toContain("/oauth/connect/");
  });

  it("can guess codes only as often as a network may, at all pages together", async () => {
    const { body: client } = await walker.register();
    const { location: page } = await walker.begin(client.client_id);
    await walker.visit(`${page}/code`, { email: walker.email });
    await world.giveCode(walker.email, CODE);
    const network = { ...app.services, clientAddress: walker.address };
    for (let used = 1; used < CODE_GUESSES.limit; used++) await takeUseOfNetwork(network, CODE_GUESSES);

    const answer = (code: string) => walker.visit(`${page}/answer`, { code, answer: "allow" });
    const signIn = (code: string) => walker.visit(`${url}/account/sign-in`, { email: walker.email, code });
    const statuses = [(await answer("00000000")).status, (await answer(CODE)).status, (await signIn(CODE)).status];

    expect(statuses).toEqual([400, 429, 429]);
    expect(await world.database.models.user.count({ where: { email: walker.email } })).toBe(0);
  });

  it("can register and connect only as often as a network may", async () => {
    const network = { ...app.services, clientAddress: walker.address };
    const useUp = async (uses: Parameters<typeof takeUseOfNetwork>[1]) => {
      for (let used = 1; used < uses.limit; used++) await takeUseOfNetwork(network, uses);
    };
    await useUp(REGISTRATIONS);
    await useUp(STARTS);

    const registered = [await walker.register(), await walker.register()];
    const id = registered[0]?.body.client_id ?? "";
    const begun = [await walker.begin(id), await walker.begin(id)];

    expect(registered.map(({ status }) => status)).toEqual([201, 429]);
    expect(registered[1]?.body.error).toBe("temporarily_unavailable");
    expect(begun.map(({ status }) => status)).toEqual([303, 429]);
    expect(begun[1]?.text).toContain("in 10 minutes. Try again in 10 minutes.");
    expect((await new OAuthWalker(url, world).begin(id)).status).toBe(303);
  });

  it("cannot keep a known client's document from being read by naming others at its host", async () => {
    const { documentsPerHost, documentsPerNetwork } = LIMITS.oauth;
    const readings = new DocumentReadings(app.services);
    const host = "https://popular.example.com";
    readings.remember(`${host}/known`);
    const refused = { retryAfterSeconds: expect.any(Number) };

    for (let n = 0; n < documentsPerHost.limit; n++) await readings.take(`${host}/${n}`, `203.0.113.${n}`);

    await expect(readings.take(`${host}/more`, "198.51.100.1")).rejects.toMatchObject(refused);
    await expect(readings.take("https://other.example.com/more", "198.51.100.1")).resolves.toBeUndefined();
    for (let n = 2; n < documentsPerNetwork.limit; n++) await readings.take(`${host}/known`, "198.51.100.1");
    await expect(readings.take(`${host}/known`, "198.51.100.1")).rejects.toMatchObject(refused);
  });

  it("cannot make the service remember more documents than it may, and it forgets the one used longest ago", async () => {
    const { documentsPerHost, knownDocuments } = LIMITS.oauth;
    const budgets = new ProcessBudgets();
    const readings = new DocumentReadings({ budgets, meter: undefined });
    const hostOf = (n: number) => `https://${n}.example.com/client`;
    for (let n = 0; n < knownDocuments; n++) readings.remember(hostOf(n));
    readings.remember(hostOf(0));
    readings.remember(hostOf(knownDocuments));

    const uses: number[] = [];
    for (const n of [0, 1, 2, knownDocuments]) {
      await readings.take(hostOf(n), `203.0.113.${n % 256}`);
      const { limit, windowMs } = documentsPerHost;
      uses.push((await budgets.use(`oauth-document-host:${new URL(hostOf(n)).hostname}`, { limit, windowMs })).length);
    }
    // Only what is not known counts for its host.
    expect(uses).toEqual([0, 1, 0, 0]);
  });

  it("cannot use up what all networks have at a host from one network, nor from a /48 of IPv6", async () => {
    const { documentsPerShare } = LIMITS.oauth;
    const readings = new DocumentReadings(app.services);
    const refused = { retryAfterSeconds: expect.any(Number) };
    for (const [at, address] of [
      ["one", () => "203.0.113.7"],
      ["two", (n: number) => `2001:db8:7:${n}::1`],
    ] as const) {
      const host = `https://${at}.example.com`;
      for (let n = 0; n < documentsPerShare.limit; n++) await readings.take(`${host}/${n}`, address(n));
      await expect(readings.take(`${host}/more`, address(99))).rejects.toMatchObject(refused);
      await expect(readings.take(`${host}/more`, "198.51.100.9")).resolves.toBeUndefined();
    }
  });

  it("are charged to their address at every path, before a body is read", async () => {
    const limit = LIMITS.budgets.keylessPerAddress;
    await app.services.budgets.take(`keyless:${walker.address}`, { limit, cost: limit });
    const headers = { "x-forwarded-for": walker.address };
    const [read, sent] = [
      ["authorize", "authorize/x", "connect/x"],
      ["token", "revoke", "register", "connect/x/code", "connect/x/answer"],
    ];
    const described = ["oauth-authorization-server/oauth", "oauth-protected-resource/mcp/oauth"];
    const paths = [...read.map((path) => `/oauth/${path}`), ...described.map((path) => `/.well-known/${path}`)];

    for (const path of paths) expect([path, (await ask(url + path, { headers })).status]).toEqual([path, 429]);
    const body = "x".repeat(bodyBytes + 1);
    for (const path of ["/token", ...sent.map((below) => `/oauth/${below}`)])
      expect([path, (await ask(url + path, { headers, body })).status]).toEqual([path, 429]);
  });

  it("can fill only a bounded part of the database: the oldest unconnected clients are removed", async () => {
    const { clientId, ...tokens } = await walker.connect();
    await world.database.pool.query(
      `INSERT INTO oauth_record (kind, hash, payload, expires_at)
       SELECT 'Client', sha256(n::text::bytea), '{}'::json, now() + n * interval '1 second'
       FROM generate_series(1, $1::int) n
       UNION ALL SELECT 'Client', sha256(('connected ' || n)::bytea), '{}'::json, now() + interval '300 days'
       FROM generate_series(1, $1::int) n`,
      [waiting],
    );
    const { body: newest } = await walker.register();

    const { oAuthRecord } = world.database.models;
    // Those that somebody connected last longer: they neither give way nor take the room of others.
    expect(await oAuthRecord.count({ where: { kind: "Client" } })).toBeLessThanOrEqual(2 * waiting + 100);
    const second = await world.database.pool.query("SELECT 1 FROM oauth_record WHERE hash = sha256($1)", [
      String(waiting),
    ]);
    expect(second.rowCount).toBe(1);
    const first = await world.database.pool.query("SELECT 1 FROM oauth_record WHERE hash = sha256('1')");
    expect(first.rowCount).toBe(0);
    expect((await walker.begin(newest.client_id)).status).toBe(303);
    expect((await walker.refresh(clientId, tokens.refresh_token)).status).toBe(200);
  });
});

it("redirects below the path of its public URL, whatever the request says, with cookies only for TLS", async () => {
  const { url: inner } = await world.serve({ PUBLIC_URL: "https://memory.example.com/graph" });
  const proxied = new OAuthWalker(inner, world);
  const { body: client } = await proxied.register();
  const { location, headers } = await proxied.begin(client.client_id, { resource: undefined });
  const { body } = await ask(`${inner}/.well-known/oauth-authorization-server/graph/oauth`);
  const page = await proxied.visit(location.replace("/graph", ""));
  const refused = await proxied.visit(`${location.replace("/graph", "")}/answer`, { answer: "refuse" });

  expect(location).toMatch(/^\/graph\/oauth\/connect\/[\w-]+$/);
  expect(headers.getSetCookie()).toHaveLength(2);
  for (const cookie of headers.getSetCookie()) {
    expect(cookie).toMatch(/; path=\/graph\/oauth\/(?:connect|authorize)\/.*; samesite=lax; secure; httponly$/);
  }
  expect(body).toMatchObject({ token_endpoint: "https://memory.example.com/graph/oauth/token" });
  expect(page.text).toContain(`action="${location}/code"`);
  expect(refused.location).toMatch(/^https:\/\/memory\.example\.com\/graph\/oauth\/authorize\//);
});

it("describes itself below the path of its public URL, also where that looks like a pattern", async () => {
  const { url } = await world.serve({ PUBLIC_URL: "https://memory.example.com/a(b)/:c*" });
  for (const [document, below] of [
    ["oauth-authorization-server", "/oauth"],
    ["oauth-protected-resource", "/mcp/oauth"],
  ]) {
    const statusAt = async (path: string) => (await ask(`${url}/.well-known/${document}/${path}${below}`)).status;

    expect([await statusAt("a(b)/:c*"), await statusAt("ab/c")]).toEqual([200, 404]);
  }
});

it("is off without a public URL", async () => {
  await using other = await createWorld();
  const { url: silent } = await other.serve();
  for (const path of [
    "/mcp/oauth",
    "/oauth/authorize",
    "/oauth/token",
    "/token",
    "/oauth/register",
    "/oauth/connect/x",
    "/.well-known/oauth-protected-resource/mcp/oauth",
    "/.well-known/oauth-authorization-server/oauth",
  ]) {
    for (const wish of [{}, { body: {} }]) expect([path, (await ask(silent + path, wish)).status]).toEqual([path, 404]);
  }
});
