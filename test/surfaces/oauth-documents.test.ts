/** Clients whose id is the address of a document that describes them. */
import { randomUUID } from "node:crypto";
import { connect, createServer } from "node:net";
import tls from "node:tls";
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

/** What oidc-provider adds to close connections to internal addresses. */
const CLOSES = { dispatcher: {} } as RequestInit;

/** Replaces the web, which tests do not reach. @returns the addresses that were read */
function publish(document: object, answer = (): Response | undefined => undefined): string[] {
  const read: string[] = [];
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (address: string | URL, options?: RequestInit) => {
    if (!String(address).startsWith("https:")) return fetch(address, options);
    read.push(String(address));
    return answer() ?? Response.json({ client_id: CLIENT, redirect_uris: [CALLBACK], ...document });
  });
  return read;
}
afterEach(() => vi.unstubAllGlobals());

it("never reads a client's document from an internal address", async () => {
  let connections = 0;
  const internal = createServer((socket) => void (connections++, socket.destroy()));
  const port = await listen(internal);
  for (const host of ["localhost", "127.0.0.1", "[::1]", "service.local", "x.localhost"]) {
    const { status } = await walker.begin(`https://${host}:${port}/client.json`);
    expect([host, status]).toEqual([host, 400]);
  }
  internal.close();

  expect(connections).toBe(0);
});

const INTERNAL = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1"];

it.each(["1.1.1.1", ...INTERNAL])(
  "sends nothing to %s unless it is public, where a public name leads",
  async (address) => {
    const received: string[] = [];
    const site = createServer((socket) => {
      socket
        .on("error", () => {})
        .on("data", (bytes) => {
          received.push(String(bytes).slice(0, 3));
          socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        });
    });
    const port = await listen(site);
    const reached = vi.spyOn(tls, "connect").mockImplementation((() => {
      const socket = connect(port, "127.0.0.1");
      Object.defineProperty(socket, "remoteAddress", { value: address });
      return socket.once("connect", () => socket.emit("secureConnect"));
    }) as unknown as typeof tls.connect);
    onTestFinished(() => reached.mockRestore());

    const { status } = await walker.begin(`https://client.example.com/${randomUUID()}`);
    site.close();

    expect(status).toBe(400);
    expect(reached).toHaveBeenCalled();
    // Shown with the reason, the client is looked for again.
    expect([...new Set(received)]).toEqual(INTERNAL.includes(address) ? [] : ["GET"]);
  },
);

it("shows the page of a request also on a server that has not read the client's document, and reads it only then", async () => {
  const client = `https://client.example.com/${randomUUID()}.json`;
  const read = publish({ client_id: client, client_name: "A site" });
  const { location } = await walker.begin(client);
  const { url: other } = await world.serve({ PUBLIC_URL: url, TRUSTED_PROXIES: "1" });
  const before = read.length;

  const { status, text } = await walker.visit(new URL(location, other).href);

  expect([status, text.includes("<bdi>A site</bdi>"), read.length - before]).toEqual([200, true, 0]);
});

it("reads no other address, whatever the document names", async () => {
  const named = { sector_identifier_uri: LIST, jwks_uri: LIST, logo_uri: LIST, policy_uri: LIST };
  const read = publish({ client_name: "A site", ...named });
  const { location } = await walker.begin(CLIENT);

  expect((await walker.visit(location)).text).toContain("<bdi>A site</bdi>");
  const inner = ["localhost", "127.0.0.1", "[::1]", "x.localhost", "service", "service.local", "service.internal"];
  for (const host of [...inner, "client.example.com:8443"]) {
    expect([host, (await walker.begin(`https://${host}/client.json`)).status]).toEqual([host, 400]);
  }
  expect(read).toEqual([CLIENT]);
});

it("reads documents again and again only within limits, and knows those that it has read", async () => {
  const read = publish({});
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
      publish({ client_id: client, application_type: type, redirect_uris: [redirect_uri] });
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
    ...{ client_name: "Claude", client_uri: "https://claude.ai", token_endpoint_auth_method: "none" },
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    response_types: ["code"],
  },
  ChatGPT: {
    ...{ client_uri: "https://client.example.com/", client_name: "ChatGPT", logo_uri: LIST },
    ...{ token_endpoint_auth_method: "private_key_jwt", token_endpoint_auth_signing_alg: "RS256" },
    ...{ token_endpoint_auth_methods_supported: ["none", "private_key_jwt"], jwks_uri: LIST },
    ...{ grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] },
  },
  "VS Code": {
    ...{ client_name: "Visual Studio Code", logo_uri: LIST, client_uri: "https://vscode.dev/product" },
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    ...{ response_types: ["code"], token_endpoint_auth_method: "none", application_type: "native" },
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
    const read = publish({ ...document, client_id: client });

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
  const read = publish({}, () => new Response("<title>Just a moment...</title>", { status: 403 }));

  const code = (await walker.agree(client, { redirect_uri })).get("code") ?? "";
  const { status } = await walker.exchange(client, code, { redirect_uri });
  const unknown = await walker.begin(`${CLIENT}?refused`);
  const elsewhere = await walker.begin(client, { redirect_uri: CALLBACK });

  expect([status, unknown.status, elsewhere.status]).toEqual([200, 400, 400]);
  expect(unknown.text).toContain(`describes itself at ${CLIENT}?refused, which this server cannot read`);
  expect(read[0]).toBe(client);
});

it.each<[string, () => Response]>([
  ["is not found", () => new Response(null, { status: 404 })],
  ["is a page", () => new Response("<title>Codex</title>", { headers: { "content-type": "text/html" } })],
  [
    "cannot be reached",
    () => {
      throw new TypeError("fetch failed");
    },
  ],
])("takes the known document where it %s", async (_what, answer) => {
  const client = "https://chatgpt.com/oauth/codex/client.json";
  publish({}, answer);

  const document: unknown = await (await fetchDocument(client, CLOSES)).json();

  expect(document).toMatchObject({ client_id: client, client_name: "Codex" });
});

it("knows both callbacks of Claude", async () => {
  publish({}, () => new Response(null, { status: 403 }));

  const document: unknown = await (
    await fetchDocument("https://claude.ai/oauth/mcp-oauth-client-metadata", CLOSES)
  ).json();

  expect(document).toMatchObject({
    redirect_uris: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
  });
});

it("takes a document of claude.ai as it is published, where it can be read", async () => {
  const client = "https://claude.ai/oauth/mcp-oauth-client-metadata";
  publish({ client_id: client, client_name: "Claude of today" });

  expect(await (await fetchDocument(client, CLOSES)).json()).toMatchObject({ client_name: "Claude of today" });
});

it("reads no document if nothing closes connections to internal addresses", async () => {
  const read = publish({});

  await expect(fetchDocument(CLIENT, {})).rejects.toThrow("internal addresses");
  expect(read).toEqual([]);
});
