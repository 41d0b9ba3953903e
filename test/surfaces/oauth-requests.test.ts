import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { CALLBACK, CODE, OAuthWalker, serveWithOAuth } from "../support/oauth.js";
import { type World, createWorld } from "../support/world.js";

/** One world for all: each test has a client of its own. */
let world: World;
let url: string;
let walker: OAuthWalker;

beforeAll(async () => {
  world = await createWorld();
  ({ url } = await serveWithOAuth(world));
});
beforeEach(() => void (walker = new OAuthWalker(url, world)));
afterEach(() => expect(world.bugs).toEqual([]));
afterAll(() => world[Symbol.asyncDispose]());

describe("a code", () => {
  it("gives tokens once; a second use ends the connection", async () => {
    const { body: client } = await walker.register();
    const code = (await walker.agree(client.client_id)).get("code") ?? "";
    const first = await walker.exchange(client.client_id, code);
    const second = await walker.exchange(client.client_id, code);

    expect(first.status).toBe(200);
    expect([second.status, second.body.error]).toEqual([400, "invalid_grant"]);
    expect(second.body.error_description).toMatch(/was used before.* Connect the program again\.$/);
    expect((await walker.say(first.body.access_token, "tools/list")).status).toBe(401);
  });

  it.each([
    ["another verifier", { code_verifier: "x".repeat(43) }, "invalid_grant"],
    ["no verifier", { code_verifier: "" }, "invalid_grant"],
    ["another address", { redirect_uri: "https://app.example.com/other" }, "invalid_grant"],
    ["another audience", { resource: "https://other.example.com/mcp" }, "invalid_target"],
  ])("is worth nothing with %s", async (_name, changed, error) => {
    const { body: client } = await walker.register();
    const code = (await walker.agree(client.client_id)).get("code") ?? "";

    const { status, body } = await walker.exchange(client.client_id, code, changed);

    expect([status, body.error]).toEqual([400, error]);
  });

  it("gives nothing to another client, or when it has expired", async () => {
    const [{ body: client }, { body: other }] = [await walker.register(), await walker.register()];
    const code = (await walker.agree(client.client_id)).get("code") ?? "";

    expect((await walker.exchange(other.client_id, code)).body.error).toBe("invalid_grant");
    await walker.expire("AuthorizationCode");
    expect((await walker.exchange(client.client_id, code)).body.error).toBe("invalid_grant");
  });

  it("comes with the issuer and the client's own state", async () => {
    const { body: client } = await walker.register();
    const answer = await walker.agree(client.client_id);

    expect([answer.get("iss"), answer.get("state")]).toEqual([`${url}/oauth`, "a state"]);
  });
});

describe("a request for tokens", () => {
  it.each(["client_credentials", "password", "urn:ietf:params:oauth:grant-type:device_code"])(
    "by %s is refused with what to do instead, whether or not the client is known",
    async (grant) => {
      const { body: client } = await walker.register();
      for (const form of [{ client_id: client.client_id }, { client_id: "nobody", client_secret: "a secret" }]) {
        const { status, body } = await walker.token({ grant_type: grant, ...form });

        expect([status, body.error]).toEqual([400, "unsupported_grant_type"]);
        expect(body).toMatchObject({ error_description: expect.stringContaining("sends an API key to `/mcp`") });
      }
    },
  );
});

describe("a request of a client", () => {
  it.each([
    ["an address that it has not registered", { redirect_uri: "https://evil.example/callback" }],
    ["an unknown client", { client_id: "nobody" }],
    ["no client", { client_id: undefined }],
    ["an address within the server's network as its name", { client_id: "https://127.0.0.1/client.json" }],
    ["a name with a NUL as its client", { client_id: "\0" }],
  ])("leads nowhere with %s", async (_name, changed) => {
    const { body: client } = await walker.register();
    const { status, location, text } = await walker.begin(client.client_id, changed);

    expect([status, location]).toEqual([400, ""]);
    expect(text).toContain("That did not work");
  });

  it.each([
    ["no challenge", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["a plain challenge", { code_challenge_method: "plain" }, "invalid_request"],
    ["another audience", { resource: "https://other.example.com/mcp" }, "invalid_target"],
    ["another kind of answer", { response_type: "token" }, "unsupported_response_type"],
    ["nobody to be asked", { prompt: "none" }, "login_required"],
  ])(
    "is refused with %s, and a client on the person's machine is told; nobody is led to a site",
    async (_name, changed, error) => {
      const own = ["http://127.0.0.1:6/callback", "http://localhost/callback", "com.example.app:/callback"];
      // Browsers take all of these as the first.
      const sites = [CALLBACK, ` ${CALLBACK}`, `\t${CALLBACK}`, CALLBACK.replace("https", "H\nTTPS")];
      const { body: client } = await walker.register({ redirect_uris: [...own, ...sites] });
      const begin = (redirect_uri: string, mode = {}) =>
        walker.begin(client.client_id, { ...changed, ...mode, redirect_uri });

      for (const uri of own) expect((await begin(uri)).location).toMatch(new RegExp(`^${uri}[?#]error=${error}&`));
      const modes = [{}, { response_mode: "form_post" }, { response_mode: "fragment" }];
      for (const [site, mode] of sites.flatMap((uri) => modes.map((one) => [uri, one] as const))) {
        const { status, location, text } = await begin(site, mode);
        expect([status, location]).toEqual([400, ""]);
        expect(text).toContain("cannot be answered");
        expect(text).not.toContain(CALLBACK);
      }
    },
  );

  it.each(["scope=offline_access", "scope=", "prompt=", "prompt=login"])(
    "leads nowhere with a second %s",
    async (first) => {
      const { body: client } = await walker.register();
      const start = walker.startOf(client.client_id, { prompt: "consent" }).replace("?", `?${first}&`);
      const { status, text } = await walker.visit(start);

      expect(status).toBe(400);
      expect(text).toContain("must not be provided twice");
    },
  );

  it("is answered only in the ways that the metadata names", async () => {
    const { body: client } = await walker.register({ redirect_uris: ["http://127.0.0.1/callback"] });
    const begin = (response_mode: string) =>
      walker.begin(client.client_id, { redirect_uri: "http://127.0.0.1/callback", response_mode });

    for (const mode of ["query", ""]) expect((await begin(mode)).location).toContain("/oauth/connect/");
    for (const mode of ["form_post", "fragment", "web_message", "jwt", "x"]) {
      const { location, text } = await begin(mode);
      expect([mode, new URL(location, url).searchParams.get("error")]).toEqual([mode, "unsupported_response_mode"]);
      expect(text).not.toContain("<form");
    }
  });

  it("is shown with the client's name, its destination and the requested scopes", async () => {
    const { body: client } = await walker.register({ redirect_uris: [CALLBACK], client_name: "<b>Evil\u202e \n name" });
    const { location } = await walker.begin(client.client_id, { scope: "memories:read" });
    const { text, headers } = await walker.visit(location);

    expect(text).toContain("<strong><bdi>&#60;b&#62;Evil name</bdi></strong> wants to use");
    expect(text).toContain("sent back to <strong>app.example.com</strong>");
    expect(text).toContain("Read memories");
    expect(text).not.toContain("Store, change");
    expect(headers.get("content-security-policy")).toContain("form-action 'self' https://app.example.com;");
    expect(headers.get("cache-control")).toBe("no-store, no-transform");
  });

  it("leads back to an app on the person's device, even one without a name", async () => {
    const app = "cursor://anysphere.cursor-mcp/oauth/callback";
    const { body: client } = await walker.register({ redirect_uris: [app] });
    const { location } = await walker.begin(client.client_id, { redirect_uri: app });
    const { text, headers } = await walker.visit(location);
    const answer = await walker.agree(client.client_id, { redirect_uri: app });

    expect(text).toContain("<strong><bdi>cursor:</bdi></strong> wants to use");
    expect(text).toContain("sent back to <strong>cursor:</strong>");
    expect(headers.get("content-security-policy")).toContain("form-action 'self' cursor:;");
    const exchanged = await walker.exchange(client.client_id, answer.get("code") ?? "", { redirect_uri: app });
    expect(exchanged.status).toBe(200);
    expect(await world.database.models.apiKey.findFirst({ orderBy: { id: "desc" } })).toMatchObject({
      name: "cursor:",
      client: "cursor:",
    });
  });

  it("is known by a cookie that no script can read and no other site can send", async () => {
    const { body: client } = await walker.register();
    const cookies = (await walker.begin(client.client_id)).headers.getSetCookie();

    expect(cookies).not.toEqual([]);
    for (const cookie of cookies) expect(cookie).toMatch(/; samesite=(?:lax|strict); httponly$/i);
  });

  it("is answered only in the browser where it began, and only once", async () => {
    const { body: client } = await walker.register();
    const { location: page } = await walker.begin(client.client_id);
    const other = new OAuthWalker(url, world);
    const stranger = await other.visit(page);
    await other.begin(client.client_id);
    const confused = await other.visit(page);

    expect([stranger.status, confused.status]).toEqual([400, 400]);
    expect(stranger.text).toContain("was answered or has expired");

    const refused = await walker.visit(`${page}/answer`, { answer: "refuse" });
    const back = await walker.visit(refused.location);
    expect(back.location).toMatch(/\?error=access_denied&/);
    expect((await walker.visit(page)).status).toBe(400);
  });

  it("asks again after a wrong code or address, and says why", async () => {
    const { body: client } = await walker.register();
    const { location: page } = await walker.begin(client.client_id);
    const { email } = walker;
    const noAddress = await walker.visit(`${page}/code`, { email: "bob" });
    const sent = await walker.visit(`${page}/code`, { email });
    await world.giveCode(email, CODE);
    const wrong = await walker.visit(`${page}/answer`, { code: "00000000", answer: "allow" });
    // A phone that has dropped the page meanwhile opens the form's address.
    for (const form of ["code", "answer"])
      expect(await walker.visit(`${page}/${form}`)).toMatchObject({
        status: 303,
        location: new URL(page, walker.url).pathname,
      });
    const another = await walker.visit(`${page}?address`);
    const mistyped = await walker.visit(`${page}/code`, { email: 'bob"@example' });
    const unclear = await walker.visit(`${page}/answer`, { code: "1234 5678", answer: "perhaps" });
    const right = await walker.visit(`${page}/answer`, { code: "1234 5678", answer: "allow" });

    expect(noAddress.status).toBe(400);
    expect(noAddress.text).toMatch(/role="alert".*>Check the address/);
    expect([sent.status, sent.location]).toEqual([303, page]);
    expect([another.status, unclear.status]).toEqual([200, 200]);
    expect(another.text).not.toContain(email);
    expect(mistyped.text).toContain('value="bob&#34;@example"');
    expect([wrong.status, right.status]).toEqual([400, 303]);
    expect(wrong.text).toContain("This code is wrong or has expired. Try again");
  });

  it("still takes the code that was sent when no other one is sent to the same address", async () => {
    const { body: client } = await walker.register();
    const { location: page } = await walker.begin(client.client_id);
    const ask = (email: string) => walker.visit(`${page}/code`, { email });
    for (let n = 0; n < LIMITS.signUp.asksPerNetworkAndAddress.limit; n++)
      expect((await ask(walker.email)).status).toBe(303);
    const refused = await ask(walker.email);

    expect(refused.status).toBe(429);
    expect(refused.text).toContain("<title>Problem: Connect ");
    expect(refused.text).toContain('name="code"');
    // What is in the field is not what is wrong.
    expect(refused.text).not.toContain("aria-invalid");
    expect((await ask("bob")).text).not.toContain('name="code"');
  });

  it("expires", async () => {
    const { body: client } = await walker.register();
    const { location } = await walker.begin(client.client_id);
    await walker.expire("Interaction");

    expect((await walker.visit(location)).status).toBe(400);
  });
});
