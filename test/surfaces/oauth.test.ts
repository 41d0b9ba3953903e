import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { OAuthRecords } from "../../src/features/oauth/index.js";
import { LIMITS } from "../../src/limits.js";
import { sha256 } from "../../src/operation/sha256.js";
import { ask } from "../support/http.js";
import { waitingForLocks } from "../support/locks.js";
import { messageOf } from "../support/mcp.js";
import { CODE, OAuthWalker, serveWithOAuth } from "../support/oauth.js";
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

const note = { type: "general", title: "A note", content: "Something." };
const store = (token: string) => walker.say(token, "tools/call", { name: "store_memory", arguments: note });

const newestKey = () => world.database.models.apiKey.findFirstOrThrow({ orderBy: { id: "desc" } });

describe("a client without a token", () => {
  it("is referred to the authorization server", async () => {
    const refused = await walker.say(undefined, "tools/list");
    const wrong = await walker.say("wrong", "tools/list");
    const resource = await ask(`${url}/.well-known/oauth-protected-resource/mcp/oauth`);
    const server = await ask(`${url}/.well-known/oauth-authorization-server/oauth`);

    const described = `${url}/.well-known/oauth-protected-resource/mcp/oauth`;
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${described}"`);
    expect(wrong.headers.get("www-authenticate")).toContain('error="invalid_token"');
    // Nobody with a valid API key is asked for one.
    expect(wrong.body.error?.message).toBe(refused.body.error?.message);
    expect(wrong.body.error?.message).toMatch(/^Connect by OAuth: .* API keys are for `\/mcp`\.$/);
    expect(resource.body).toMatchObject({
      resource: `${url}/mcp/oauth`,
      authorization_servers: [`${url}/oauth`],
      scopes_supported: ["memories:read", "memories:write"],
    });
    expect(server.body).toMatchObject({
      issuer: `${url}/oauth`,
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      scopes_supported: ["memories:read", "memories:write", "offline_access"],
    });
  });

  it("is told at the door for keys, too, where it can connect", async () => {
    for (const key of [undefined, "wrong", (await walker.connect()).access_token]) {
      const { status, body } = await walker.say(key, "tools/list", {}, "/mcp");

      expect(status).toBe(401);
      expect(body.error?.message).toContain(`or connect without a key, by OAuth, to ${url}/mcp/oauth instead.`);
    }
    await using without = await createWorld();
    const { url: keysOnly } = await without.serve();
    const { body } = await ask(`${keysOnly}/mcp`, { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
    expect(JSON.stringify(body)).toContain("Send a valid API key in the header");
    expect(JSON.stringify(body)).not.toContain("OAuth");
  });

  it("is told about the address that it uses, whatever its query", async () => {
    const told = async (query: string) => {
      const { headers } = await walker.say(undefined, "tools/list", {}, `/mcp/oauth${query}`);
      const [, described = ""] =
        /^Bearer resource_metadata="([^"]*)"$/.exec(headers.get("www-authenticate") ?? "") ?? [];
      const { resource } = (await ask(described)).body as { resource: string };
      return resource.slice(`${url}/mcp/oauth`.length);
    };

    expect(await told("?tools=search,fetch")).toBe("?tools=search,fetch");
    expect(await told("?tools=search%2Cfetch&a=%22%0A")).toBe("?tools=search%2Cfetch&a=%22%0A");
    expect(await told(`?a=${"b".repeat(LIMITS.oauth.queryLength - 3)}`)).toHaveLength(LIMITS.oauth.queryLength);
    expect(await told(`?a=${"b".repeat(LIMITS.oauth.queryLength - 2)}`)).toBe("");
  });

  it("is not referred there by the door for keys", async () => {
    expect((await walker.say(undefined, "tools/list", {}, "/mcp")).headers.get("www-authenticate")).toBe("Bearer");
    for (const path of [
      "/.well-known/oauth-protected-resource",
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-authorization-server",
      "/.well-known/openid-configuration",
      "/.well-known/openid-configuration/oauth",
      "/oauth/jwks",
      "/oauth/.well-known/openid-configuration",
    ]) {
      expect([path, (await ask(url + path)).status]).toEqual([path, 404]);
    }
  });
});

describe("a connected client", () => {
  it("acts as a key of the person, who can list it and disconnect the client by revoking it", async () => {
    const { clientId, ...tokens } = await walker.connect();
    const ann = await world.database.models.user.findUniqueOrThrow({ where: { email: walker.email } });
    const key = await newestKey();

    expect(tokens).toMatchObject({ expires_in: 900, scope: "memories:read memories:write" });
    expect((await store(tokens.access_token)).body.result).toMatchObject({ structuredContent: { title: "A note" } });
    expect(key).toMatchObject({
      userId: ann.id,
      name: "A program",
      client: "app.example.com",
      prefix: "oauth",
      scopes: ["memories:read", "memories:write"],
    });
    const made = await world.database.models.auditEntry.findMany({ where: { keyId: key.id } });
    expect(made.map(({ action, door }) => [action, door])).toEqual([["connectClient", "page"]]);

    await world.database.models.apiKey.update({ where: { id: key.id }, data: { revokedAt: new Date() } });
    expect((await walker.say(tokens.access_token, "tools/list")).status).toBe(401);
    expect((await walker.refresh(clientId, tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  it("can use its token at no other door, and its door accepts no keys", async () => {
    const { access_token: token } = await walker.connect();
    const { key } = await world.user();

    expect((await walker.say(token, "tools/list")).status).toBe(200);
    expect((await walker.say(token, "tools/list", {}, "/mcp")).status).toBe(401);
    expect((await ask(`${url}/v1/memories`, { key: token })).status).toBe(401);
    expect((await walker.say(key, "tools/list")).status).toBe(401);
  });

  it("sees no tool for which it has no scope", async () => {
    const { access_token: token, scope } = await walker.connect({ scope: "memories:read openid" });
    const { body } = await walker.say(token, "tools/list");

    expect(scope).toBe("memories:read");
    expect(JSON.stringify(body.result)).not.toContain("store_memory");
    expect((await store(token)).body.error?.message).toContain("Unknown tool: store_memory");
  });

  it("may request a token with fewer scopes than it was granted", async () => {
    const { clientId, refresh_token: token } = await walker.connect();
    const { body } = await walker.refresh(clientId, token, { scope: "memories:read" });

    expect((await walker.say(body.access_token, "tools/list")).status).toBe(200);
    expect((await store(body.access_token)).body.error?.message).toContain("Unknown tool: store_memory");
  });

  it.each([undefined, "consent", "login"])(
    "keeps the offline access that it asked for, with the prompt %s",
    async (prompt) => {
      const scope = "memories:read memories:write offline_access";
      const { clientId, ...tokens } = await walker.connect({ scope, prompt });
      const { body } = await walker.refresh(clientId, tokens.refresh_token, { scope });

      expect([tokens.scope, body.scope]).toEqual([scope, scope]);
      expect((await store(body.access_token)).body.result).toMatchObject({ structuredContent: { title: "A note" } });
      expect((await newestKey()).scopes).toEqual(["memories:read", "memories:write"]);
    },
  );

  it("is refused by a server with another URL", async () => {
    const { access_token: token } = await walker.connect();
    const { url: other } = await world.serve({ PUBLIC_URL: "https://other.example.com" });
    const { headers, body } = messageOf("tools/list", {});

    expect((await ask(`${other}/mcp/oauth`, { key: token, headers, body })).status).toBe(401);
  });

  it("gets every scope of the tools if it asks for none, and nothing if it asks only for others", async () => {
    expect((await walker.connect({ scope: undefined, resource: undefined })).scope).toBe(
      "memories:read memories:write",
    );
    expect((await walker.connect({ scope: "offline_access" })).scope).toBe(
      "memories:read memories:write offline_access",
    );

    const { body } = await walker.register();
    const { location } = await walker.begin(body.client_id, { scope: "openid" });
    const page = await walker.visit(location);
    expect([page.status, page.location]).toEqual([400, ""]);
    expect(page.text).toContain("nothing to allow");
  });

  it("gets new tokens without the metadata, at the path that the protocol's first revision names", async () => {
    const { clientId, refresh_token: token } = await walker.connect();
    const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: token };

    const strayed = await walker.token({ ...form, resource: "https://other.example" }, "/token");
    const refreshed = await walker.token(form, "/token");

    expect([strayed.status, strayed.body.error]).toEqual([400, "invalid_target"]);
    expect(refreshed.status).toBe(200);
    expect((await walker.say(refreshed.body.access_token, "tools/list")).status).toBe(200);
    expect((await walker.token(form, "/token")).body.error).toBe("invalid_grant");
  });

  it("gets new tokens for each refresh token once; a second use ends the connection", async () => {
    const { clientId, ...first } = await walker.connect();
    const second = await walker.refresh(clientId, first.refresh_token);
    const worked = await walker.say(second.body.access_token, "tools/list");

    const again = await walker.refresh(clientId, first.refresh_token);

    expect([second.status, worked.status]).toEqual([200, 200]);
    expect([again.status, again.body.error]).toEqual([400, "invalid_grant"]);
    expect((await walker.say(second.body.access_token, "tools/list")).status).toBe(401);
    expect((await walker.refresh(clientId, second.body.refresh_token)).status).toBe(400);
    const { id, revokedAt } = await newestKey();
    expect(revokedAt).not.toBeNull();

    // Ending it again changes nothing, and is not recorded.
    await new OAuthRecords(world.services).remove("Grant", id);
    const ended = await world.database.models.auditEntry.count({ where: { keyId: id, action: "disconnectClient" } });
    expect([ended, (await newestKey()).revokedAt]).toEqual([1, revokedAt]);
  });

  it("is disconnected when a code that was found unused has been used at the same moment", async () => {
    await walker.connect();
    const { id } = await newestKey();
    const records = new OAuthRecords(world.services);
    await records.store("AuthorizationCode", "a code", { grantId: id });

    const uses = [await records.consume("AuthorizationCode", "a code"), (await newestKey()).revokedAt];
    const again = [await records.consume("AuthorizationCode", "a code"), (await newestKey()).revokedAt];

    expect([uses, again]).toEqual([
      [true, null],
      [false, expect.any(Date)],
    ]);
  });

  it("keeps its tokens and codes when it asks for another resource by mistake", async () => {
    const { body: client } = await walker.register();
    const answer = await walker.agree(client.client_id);
    const code = answer.get("code") ?? "";
    const wrong = { resource: `${url}/mcp/oauth/` };
    const target = [400, "invalid_target"];

    const early = await walker.exchange(client.client_id, code, wrong);
    const first = await walker.exchange(client.client_id, code, { resource: `${url}/mcp/oauth` });
    const late = await walker.refresh(client.client_id, first.body.refresh_token, wrong);
    // An empty parameter counts as left out: RFC 6749, 3.2.
    const second = await walker.refresh(client.client_id, first.body.refresh_token, { resource: "" });

    expect([early, late].map(({ status, body }) => [status, body.error])).toEqual([target, target]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await walker.say(second.body.access_token, "tools/list")).status).toBe(200);
  });

  it("may name the resource with the query of the door's address, or without it", async () => {
    const { body: client } = await walker.register();
    const [door, named] = [`${url}/mcp/oauth`, `${url}/mcp/oauth?tools=search,fetch`];
    const fragment = await walker.begin(client.client_id, { resource: `${named}#part` });
    expect([fragment.status, fragment.text]).toEqual([400, expect.stringContaining("fragment")]);
    const answer = await walker.agree(client.client_id, { resource: named });

    const first = await walker.exchange(client.client_id, answer.get("code") ?? "", { resource: named });
    const second = await walker.refresh(client.client_id, first.body.refresh_token, { resource: door });
    const third = await walker.refresh(client.client_id, second.body.refresh_token, { resource: `${door}?a=b&c` });

    expect([first, second, third].map(({ status }) => status)).toEqual([200, 200, 200]);
    const { access_token: token } = third.body;
    expect((await walker.say(token, "tools/list")).status).toBe(200);
    expect((await walker.say(token, "tools/list", {}, "/mcp/oauth?tools=search")).status).toBe(200);
  });

  it("stays connected when it uses a refresh token several times at once", async () => {
    const { clientId, ...first } = await walker.connect();
    const holder = await world.database.pool.connect();
    await holder.query("BEGIN");
    await holder.query("SELECT FROM oauth_record WHERE kind = 'RefreshToken' FOR UPDATE");
    const uses = Promise.all(Array.from({ length: 3 }, () => walker.refresh(clientId, first.refresh_token)));
    await expect.poll(() => waitingForLocks(world)).toBe(3);
    await holder.query("COMMIT");
    holder.release();

    const answers = await uses;
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect((await walker.say(body.access_token, "tools/list")).status).toBe(200);
    }
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(answers.length);
    expect((await walker.refresh(clientId, first.refresh_token)).status).toBe(400);
    for (const { body } of answers) expect((await walker.say(body.access_token, "tools/list")).status).toBe(401);
  });

  it("stays connected when it uses a refresh token at once as often as an address may have requests", async () => {
    await walker.connect();
    const { id: grantId } = await newestKey();
    const records = new OAuthRecords(world.services);
    const made = Array.from({ length: LIMITS.http.connectionsPerAddress }, (_, use) => `made by use ${use}`);

    // Each use stores its new token before it marks the one that it used.
    for (const id of ["in use", ...made]) await records.store("RefreshToken", id, { grantId });

    expect(await records.consume("RefreshToken", "in use")).toBe(true);
    for (const id of made) expect(await records.find("RefreshToken", id)).not.toBeNull();
    expect((await newestKey()).revokedAt).toBeNull();
  });

  it("stays connected when the database fails while it refreshes, wherever it fails", async () => {
    const { clientId, ...first } = await walker.connect();
    const { pool } = world.database;
    await pool.query(`CREATE FUNCTION break_tokens() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END $$`);
    const faults = [
      "INSERT ON oauth_record FOR EACH ROW WHEN (NEW.kind = 'RefreshToken')",
      "INSERT ON oauth_record FOR EACH ROW WHEN (NEW.kind = 'AccessToken')",
      "UPDATE OF consumed_at ON oauth_record FOR EACH ROW",
      "UPDATE OF expires_at ON api_key FOR EACH ROW",
    ];
    const statuses = [];
    let token = first.refresh_token;
    for (const fault of faults) {
      await pool.query(`CREATE TRIGGER broken BEFORE ${fault} EXECUTE FUNCTION break_tokens()`);
      const failed = await walker.refresh(clientId, token);
      await pool.query(`DROP TRIGGER broken ON ${fault.includes("api_key") ? "api_key" : "oauth_record"}`);
      const { status, body } = await walker.refresh(clientId, token);
      // Programs let their user sign in anew after a `server_error`.
      expect(failed.body.error).toBe("temporarily_unavailable");
      statuses.push([failed.status, status, (await walker.say(body.access_token, "tools/list")).status]);
      token = body.refresh_token;
    }
    await pool.query("DROP FUNCTION break_tokens");

    expect(statuses).toEqual(faults.map(() => [503, 200, 200]));
    expect((await walker.refresh(clientId, first.refresh_token)).status).toBe(400);
  });

  it("is told what a failure of the database or a bug means for it, and so is its person", async () => {
    await using broken = await createWorld();
    const { url: brokenUrl } = await serveWithOAuth(broken);
    const client = new OAuthWalker(brokenUrl, broken);
    const { body } = await client.register();
    const { pool } = broken.database;
    const start = client.startOf(body.client_id);
    const answers = async () => {
      const { status, text } = await client.visit(start);
      return [await client.refresh(body.client_id, "any"), [status, /role="alert">([^<]*)</.exec(text)?.[1]]];
    };

    await pool.query(`CREATE FUNCTION break() RETURNS text LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END $$`);
    await pool.query("ALTER TABLE oauth_record RENAME TO kept");
    await pool.query("CREATE VIEW oauth_record AS SELECT *, break() AS never FROM kept");
    const unavailable = await answers();
    await pool.query("DROP VIEW oauth_record");
    const bug = await answers();

    const later = "The service is busy or its database cannot be reached. Try again in a few seconds.";
    expect(unavailable).toEqual([
      { status: 503, body: { error: "temporarily_unavailable", error_description: later } },
      [503, later],
    ]);
    const ours = "Something went wrong on our side.";
    expect(bug).toEqual([{ status: 500, body: { error: "server_error", error_description: ours } }, [500, ours]]);
    expect(broken.bugs).toHaveLength(2);
  });

  it("is disconnected when it revokes a token, which no other client can do for it", async () => {
    const { clientId, ...tokens } = await walker.connect();
    const { body: other } = await walker.register();
    const revoke = (client_id: string) =>
      fetch(`${url}/oauth/revoke`, {
        method: "POST",
        body: new URLSearchParams({ client_id, token: tokens.refresh_token }),
      });

    await revoke(other.client_id);
    expect((await walker.say(tokens.access_token, "tools/list")).status).toBe(200);
    expect((await revoke(clientId)).status).toBe(200);
    expect((await walker.say(tokens.access_token, "tools/list")).status).toBe(401);
    const { id } = await newestKey();
    const entries = await world.database.models.auditEntry.findMany({ where: { keyId: id }, orderBy: { id: "asc" } });
    expect(entries.map(({ action }) => action)).toEqual(["connectClient", "disconnectClient"]);
  });

  it("refreshes an expired token, and connects again when its refresh token has expired", async () => {
    const { clientId, ...tokens } = await walker.connect();

    await walker.expire("AccessToken");
    expect((await walker.say(tokens.access_token, "tools/list")).status).toBe(401);
    await walker.expire("RefreshToken");
    expect((await walker.refresh(clientId, tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  it("stays connected as long as its newest token lasts, and stays registered as long as it may connect", async () => {
    const { clientId } = await walker.connect();
    const key = await newestKey();
    const { oAuthRecord } = world.database.models;
    const known = await oAuthRecord.findFirstOrThrow({ where: { kind: "Client", hash: sha256(clientId) } });
    const daysUntil = (end: Date | null) => Math.round(((end?.getTime() ?? 0) - Date.now()) / 86_400_000);

    expect(daysUntil(key.expiresAt)).toBe(LIMITS.oauth.refreshDays);
    await new OAuthRecords(world.services).store("AccessToken", "a further one", { grantId: key.id }, 60);
    expect((await newestKey()).expiresAt).toEqual(key.expiresAt);
    expect(daysUntil(known.expiresAt)).toBe(LIMITS.oauth.grantDays);
  });

  it("gets no token for a key that is deleted meanwhile", async () => {
    const stored = new OAuthRecords(world.services).store("AccessToken", "too late", {
      grantId: world.services.newId(),
    });

    expect(await stored).toBe(false);
  });

  it("gets no token when its key is deleted while it exchanges its code", async () => {
    const { body: client } = await walker.register();
    const code = (await walker.agree(client.client_id)).get("code") ?? "";
    const { id } = await newestKey();
    const holder = await world.database.pool.connect();
    await holder.query("BEGIN");
    await holder.query("SELECT FROM api_key WHERE id = $1 FOR UPDATE", [id]);

    const exchanged = walker.exchange(client.client_id, code);
    await expect.poll(() => waitingForLocks(world)).toBe(1);
    await holder.query("DELETE FROM api_key WHERE id = $1", [id]);
    await holder.query("COMMIT");
    holder.release();

    expect(await exchanged).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  it("is refused when its person's account is deleted while they agree", async () => {
    const { body: client } = await walker.register();
    const { location: page } = await walker.begin(client.client_id);
    await walker.visit(`${page}/code`, { email: walker.email });
    await world.giveCode(walker.email, CODE);
    const holder = await world.database.pool.connect();
    await holder.query("BEGIN");
    // Their key is stored before, and the grant afterwards.
    await holder.query("LOCK TABLE oauth_record IN SHARE MODE");

    const answering = walker.visit(`${page}/answer`, { code: CODE, answer: "allow" });
    await expect.poll(() => waitingForLocks(world)).toBe(1);
    const { userId } = await newestKey();
    await holder.query("UPDATE graph SET user_id = NULL WHERE user_id = $1", [userId]);
    await holder.query("DELETE FROM user_account WHERE id = $1", [userId]);
    await holder.query("COMMIT");
    holder.release();

    const { status, text } = await answering;
    expect([status, text.includes("Go back to the program, and connect it again.")]).toEqual([400, true]);
  });

  it("leaves no session, so that a person signs in for each connection", async () => {
    await walker.connect();

    expect(await world.database.models.oAuthRecord.count({ where: { kind: "Session" } })).toBe(0);
  });

  it("keeps a bounded number of tokens, however often it refreshes", async () => {
    let { clientId, ...tokens } = await walker.connect();
    const { id: keyId } = await newestKey();
    for (let round = 0; round < LIMITS.oauth.tokensPerGrant + 2; round++) {
      tokens = (await walker.refresh(clientId, tokens.refresh_token)).body;
    }

    for (const kind of ["AccessToken", "RefreshToken"]) {
      expect(await world.database.models.oAuthRecord.count({ where: { kind, keyId } })).toBe(
        LIMITS.oauth.tokensPerGrant,
      );
    }
    expect((await walker.say(tokens.access_token, "tools/list")).status).toBe(200);
  });

  it("is refused while its user is suspended, and stays connected", async () => {
    const { clientId, ...tokens } = await walker.connect();
    const suspend = (suspendedAt: Date | null) =>
      world.database.models.user.update({ where: { email: walker.email }, data: { suspendedAt } });
    await suspend(new Date());

    expect((await walker.say(tokens.access_token, "tools/list")).status).toBe(403);
    const refused = await walker.refresh(clientId, tokens.refresh_token);
    await suspend(null);

    // On `invalid_grant` it would forget its tokens.
    expect(refused).toMatchObject({ status: 400, body: { error: "temporarily_unavailable" } });
    expect(refused.body.error_description).toContain("suspended");
    expect((await walker.refresh(clientId, tokens.refresh_token)).status).toBe(200);
  });

  it("is told that its user is suspended, also if that was done when they had just agreed", async () => {
    const { body: client } = await walker.register();
    const { location: page } = await walker.begin(client.client_id);
    await walker.visit(`${page}/code`, { email: walker.email });
    await world.giveCode(walker.email, CODE);
    const answered = await walker.visit(`${page}/answer`, { code: CODE, answer: "allow" });
    await world.database.models.user.update({ where: { email: walker.email }, data: { suspendedAt: new Date() } });

    const { location } = await walker.visit(answered.location);

    expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({ error: "temporarily_unavailable" });
  });
});
