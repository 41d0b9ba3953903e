/** Clients whose id is the address of a document that describes them. */
import { randomUUID } from "node:crypto";
import dns from "node:dns";
import { type RequestListener, type ServerResponse, createServer as createHttpServer } from "node:http";
import { type LookupFunction, type NetConnectOpts, connect, createServer, isIP } from "node:net";
import tls from "node:tls";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { fetchDocument } from "../../src/surfaces/oauth/known-documents.js";
import { listen } from "../support/listening.js";
import { CALLBACK, OAuthWalker, serveWithOAuth } from "../support/oauth.js";
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

const CLIENT = "https://client.example.com/client.json";
const LIST = "https://client.example.com:8443/list.json";

const { lookup } = dns;
type Found = Parameters<LookupFunction>[2];

/** Answers every request to any public name, as if all led to this address; tests do not reach the web. */
async function serveWeb(answer: RequestListener, address = "1.1.1.1"): Promise<void> {
  const site = createHttpServer(answer);
  const port = await listen(site);
  onTestFinished(() => void site.close());
  vi.spyOn(dns, "lookup").mockImplementation(((...asked: [string, dns.LookupAllOptions, Found]) => {
    const [host, , done] = asked;
    if (!/[a-z]\.[a-z]/.test(host)) return Reflect.apply(lookup, dns, asked);
    done(null, [{ address, family: isIP(address) }]);
  }) as typeof dns.lookup);
  vi.spyOn(tls, "connect").mockImplementation(((options: NetConnectOpts & { lookup: LookupFunction }) =>
    connect({
      port,
      host: "client.example.com",
      autoSelectFamily: true,
      lookup: (host, asked, done) =>
        options.lookup(host, asked, (error) => done(error, [{ address: "127.0.0.1", family: 4 }])),
    })) as typeof tls.connect);
}
afterEach(() => void vi.restoreAllMocks());

/** Publishes a document at every address, unless there is another answer. @returns the addresses that were read */
async function publish(document: object, answer?: (response: ServerResponse) => void): Promise<string[]> {
  const read: string[] = [];
  await serveWeb(({ headers, url: path }, response) => {
    read.push(`https://${headers.host}${path}`);
    if (answer) return answer(response);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ client_id: CLIENT, redirect_uris: [CALLBACK], ...document }));
  });
  return read;
}

it("never reads a client's document from an internal address", async () => {
  let connections = 0;
  const internal = createServer((socket) => void (connections++, socket.destroy()));
  const port = await listen(internal);
  for (const host of ["localhost", "127.0.0.1", "[::1]", "service.local", "x.localhost"]) {
    const { status } = await walker.begin(`https://${host}:${port}/client.json`);
    expect([host, status]).toEqual([host, 400]);
  }
  // Node looks up nothing for them.
  for (const host of ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"]) {
    await expect(fetchDocument(`https://${host}:${port}/client.json`, {})).rejects.toThrow("is no name");
  }
  internal.close();

  expect(connections).toBe(0);
});

const INTERNAL = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1"];

it.each(["1.1.1.1", "2606:4700::1111", ...INTERNAL])(
  "sends nothing to %s unless it is public, where a public name leads",
  async (address) => {
    let requests = 0;
    await serveWeb((_request, response) => void (requests++, response.writeHead(404).end()), address);

    const { status } = await walker.begin(`https://client.example.com/${randomUUID()}`);

    expect(status).toBe(400);
    expect(tls.connect).toHaveBeenCalled();
    // Shown with the reason, the client is looked for again.
    expect(requests > 0).toBe(!INTERNAL.includes(address));
  },
);

it("logs why a document could not be read, and does not say it to people", async () => {
  await serveWeb((_request, response) => void response.writeHead(418).end());

  const { text } = await walker.begin(`https://${"a".repeat(40)}.example.com/${randomUUID()}`);

  const lines = world.log.map((line) => JSON.parse(line) as { host?: string; reason?: string });
  const logged = { host: `${"a".repeat(40)}.example.com`, reason: "the status is 418, the coding identity" };
  expect(lines).toContainEqual(expect.objectContaining(logged));
  expect(text).not.toContain("418");
});

it.each<[string, (text: string) => Buffer]>([
  ["identity", Buffer.from],
  ["br", brotliCompressSync],
  ["gzip", gzipSync],
  ["deflate", deflateSync],
])("decodes nothing that a site sends: a document in %s", async (coding, encode) => {
  const client = `https://client.example.com/${randomUUID()}.json`;
  const document = JSON.stringify({ client_id: client, redirect_uris: [CALLBACK] });
  const asked = new Set<unknown>();
  await serveWeb(({ headers }, response) => {
    asked.add(headers["accept-encoding"]).add(headers["user-agent"]);
    response.setHeader("content-encoding", coding).setHeader("content-type", "application/json");
    response.end(encode(document));
  });

  const { status } = await walker.begin(client);

  expect([status, ...asked]).toEqual([coding === "identity" ? 303 : 400, "identity", "memory-graph-gateway"]);
});

it.each<[string, (response: ServerResponse) => void]>([
  ["redirects", (response) => response.writeHead(302, { location: "/" }).end()],
  ["changes to another protocol", (response) => response.writeHead(101, { connection: "upgrade", upgrade: "x" }).end()],
  ["begins a refusal and never ends it", (response) => response.writeHead(403).write("<")],
  ["breaks off a document", (response) => response.writeHead(200).write("{", () => response.destroy())],
  ["never ends a document", (response) => response.writeHead(200).write("{")],
  ["never ends one that is too large", (response) => response.writeHead(200).write(" ".repeat(100_000))],
])("goes on if a site %s", async (_what, answer) => {
  const left: Promise<void>[] = [];
  await serveWeb(({ socket }, response) => {
    left.push(new Promise((resolve) => void socket.on("error", () => {}).once("close", () => resolve())));
    answer(response);
  });

  const { status } = await walker.begin(`https://broken.example.com/${randomUUID()}.json`);

  expect(status).toBe(400);
  expect(left.length).toBeGreaterThan(0);
  // An error of the connection that nothing handles would end the process.
  await Promise.all(left);
});

it("shows the page of a request also on a server that has not read the client's document, and reads it only then", async () => {
  const client = `https://client.example.com/${randomUUID()}.json`;
  const read = await publish({ client_id: client, client_name: "A site" });
  const { location } = await walker.begin(client);
  const { url: other } = await world.serve({ PUBLIC_URL: url, TRUSTED_PROXIES: "1" });
  const before = read.length;

  const { status, text } = await walker.visit(new URL(location, other).href);

  expect([status, text.includes("<bdi>A site</bdi>"), read.length - before]).toEqual([200, true, 0]);
});

it("keeps a program connected whose document cannot be read for a while", async () => {
  const client = `https://client.example.com/${randomUUID()}.json`;
  await publish({ client_id: client });
  const answer = await walker.agree(client);
  const { body: tokens } = await walker.exchange(client, answer.get("code") ?? "");
  // It has not read the document.
  const { url: other } = await world.serve({ PUBLIC_URL: url, TRUSTED_PROXIES: "1" });
  const there = new OAuthWalker(other, world);
  await publish({}, (response) => void response.writeHead(502).end());

  const refused = [
    await there.refresh(client, tokens.refresh_token),
    await there.token({ client_id: client, token: tokens.refresh_token }, "/oauth/revoke"),
  ];

  for (const { status, body } of refused) {
    expect([status, body.error]).toEqual([400, "temporarily_unavailable"]);
    expect(body.error_description).toContain(client);
  }
  await publish({ client_id: client });
  expect(await there.refresh(client, tokens.refresh_token)).toMatchObject({ status: 200 });
});

it("reads no other address, whatever the document names", async () => {
  const named = { sector_identifier_uri: LIST, jwks_uri: LIST, logo_uri: LIST, policy_uri: LIST };
  const read = await publish({ client_name: "A site", ...named });
  const { location } = await walker.begin(CLIENT);

  expect((await walker.visit(location)).text).toContain("<bdi>A site</bdi>");
  const inner = ["localhost", "127.0.0.1", "[::1]", "x.localhost", "service", "service.local", "service.internal"];
  for (const host of [...inner, "client.example.com:8443"]) {
    expect([host, (await walker.begin(`https://${host}/client.json`)).status]).toEqual([host, 400]);
  }
  expect(read).toEqual([CLIENT]);
});

it("reads documents again and again only within limits, and knows those that it has read", async () => {
  const read = await publish({});
  const { documentsPerNetwork, documentsPerShare } = LIMITS.oauth;
  const [limit, share] = [documentsPerNetwork.limit, documentsPerShare.limit];
  const other = new OAuthWalker(url, world);
  expect((await other.begin(CLIENT)).status).toBe(303);
  const ask = (from: OAuthWalker, id: string) => from.refresh(id, "a token");
  const unknown = (count: number) =>
    Array.from({ length: count }, (_, index) => `https://site${Math.floor(index / share)}.example.com/${randomUUID()}`);

  // The document names another client, so none of these is ever known.
  const answers = [];
  for (const id of unknown(limit + 2)) answers.push(await ask(walker, id));

  expect(answers.map(({ status }) => status)).toEqual([...Array(limit).fill(400), 429, 429]);
  expect(answers.at(-1)?.body.error).toBe("temporarily_unavailable");
  expect(read.filter((address) => address !== CLIENT)).toHaveLength(limit);
  expect((await walker.begin(CLIENT)).status).toBe(303);
  // One network has only a share of a host, and others still have theirs.
  const [third, fourth] = [new OAuthWalker(url, world), new OAuthWalker(url, world)];
  const statuses = async (from: OAuthWalker, count: number) => {
    const asked = [];
    for (let n = 0; n < count; n++) asked.push((await ask(from, `https://one.example.com/${randomUUID()}`)).status);
    return asked;
  };
  expect(await statuses(third, share + 1)).toEqual([...Array(share).fill(400), 429]);
  expect(await statuses(fourth, 1)).toEqual([400]);
});

it("redirects to no site without TLS, whatever type the client claims", async () => {
  for (const type of ["web", "native"]) {
    const client = `${CLIENT}?${type}`;
    for (const redirect_uri of ["http://site.example.com/callback", " http://site.example.com/callback"]) {
      await publish({ client_id: client, application_type: type, redirect_uris: [redirect_uri] });
      for (const changed of [{}, { response_type: "token" }, { prompt: "none" }]) {
        const { status, location } = await walker.begin(client, { redirect_uri, ...changed });
        expect([type, redirect_uri, changed, status, location]).toEqual([type, redirect_uri, changed, 400, ""]);
      }
    }
  }
});

/** What the documents of published clients say, besides their ids and redirect URIs. */
const PUBLISHED = {
  "claude.ai": {
    client_name: "Claude",
    client_uri: "https://claude.ai",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    response_types: ["code"],
  },
  ChatGPT: {
    client_uri: "https://client.example.com/",
    client_name: "ChatGPT",
    logo_uri: LIST,
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: "RS256",
    token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
    jwks_uri: LIST,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  "VS Code": {
    client_name: "Visual Studio Code",
    logo_uri: LIST,
    client_uri: "https://vscode.dev/product",
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "native",
    redirect_uris: ["http://127.0.0.1:33418/", CALLBACK],
  },
};

/** A client that can do without may send it all the same. */
const SIGNATURE = {
  client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  client_assertion: "header.payload.signature",
};

it.each(Object.entries(PUBLISHED))(
  "connects a client with the document of %s, and reads nothing else",
  async (name, document) => {
    const client = `${CLIENT}?${encodeURIComponent(name)}`;
    const read = await publish({ ...document, client_id: client });

    const code = (await walker.agree(client)).get("code") ?? "";
    const { status, body } = await walker.exchange(client, code, SIGNATURE);
    const refreshed = await walker.refresh(client, body.refresh_token);

    expect([status, refreshed.status]).toEqual([200, 200]);
    expect((await walker.say(refreshed.body.access_token, "tools/list")).status).toBe(200);
    expect(read).toEqual([client]);
  },
);

it.each([
  ["https://claude.ai/oauth/mcp-oauth-client-metadata", "https://claude.ai/api/mcp/auth_callback"],
  ["https://claude.ai/oauth/claude-code-client-metadata", "http://localhost:53123/callback"],
  ["https://chatgpt.com/oauth/client.json", "https://chatgpt.com/connector_platform_oauth_redirect"],
  ["https://chatgpt.com/oauth/tU1UVEq8rRTK/client.json", "https://chatgpt.com/connector/oauth/tU1UVEq8rRTK"],
  ["https://chatgpt.com/oauth/codex/client.json", "http://127.0.0.1:53123/callback"],
  ["https://github.com/copilot/cli/client-metadata.json", "http://127.0.0.1:53123/callback"],
  ["https://opencode.ai/oauth/opencode/client.json", "http://127.0.0.1:53123/callback"],
  ["https://vscode.dev/oauth/client-metadata.json", "http://127.0.0.1:33418/"],
  ["https://zed.dev/oauth/client-metadata.json", "http://127.0.0.1:53123/callback"],
])("connects %s also where its site shows only browsers the document", async (client, redirect_uri) => {
  const read = await publish({}, (response) => void response.writeHead(403).end("<title>Just a moment...</title>"));

  const code = (await walker.agree(client, { redirect_uri })).get("code") ?? "";
  const { status } = await walker.exchange(client, code, { redirect_uri });
  const unknown = await walker.begin(`${CLIENT}?refused`);
  const elsewhere = await walker.begin(client, { redirect_uri: CALLBACK });

  expect([status, unknown.status, elsewhere.status]).toEqual([200, 400, 400]);
  expect(unknown.text).toContain(`describes itself at ${CLIENT}?refused, which this server cannot read`);
  expect(read[0]).toBe(client);
});

const COMPRESSED = { "content-encoding": "gzip", "content-type": "application/json" };

it.each<[string, (response: ServerResponse) => void]>([
  ["is not found", (response) => response.writeHead(404).end()],
  ["is a page", (response) => response.setHeader("content-type", "text/html").end("<title>Codex</title>")],
  ["is compressed", (response) => response.writeHead(200, COMPRESSED).end(gzipSync("{}"))],
  ["cannot be reached", (response) => response.destroy()],
])("takes the known document where it %s", async (_what, answer) => {
  const client = "https://chatgpt.com/oauth/codex/client.json";
  await publish({}, answer);

  const document: unknown = await (await fetchDocument(client, {})).json();

  expect(document).toMatchObject({ client_id: client, client_name: "Codex" });
});

it("knows both callbacks of Claude", async () => {
  await publish({}, (response) => void response.writeHead(403).end());

  const document: unknown = await (await fetchDocument("https://claude.ai/oauth/mcp-oauth-client-metadata", {})).json();

  expect(document).toMatchObject({
    redirect_uris: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
  });
});

it("takes a document of claude.ai as it is published, where it can be read", async () => {
  const client = "https://claude.ai/oauth/mcp-oauth-client-metadata";
  await publish({ client_id: client, client_name: "Claude of today" });

  expect(await (await fetchDocument(client, {})).json()).toMatchObject({ client_name: "Claude of today" });
});
