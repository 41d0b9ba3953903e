import assert from "node:assert/strict";
import { createServer } from "node:http";

/**
 * A program without a key, with one of the SDKs. It finds the authorization server, registers, sends its user to the
 * page, and gets tokens: `node oauth.js <client> <url> <email> <code> [<path of Chromium>]`.
 */
const [name, url, email, code, chromiumPath] = process.argv.slice(2);
const SDKS = {
  handshake: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
  }),
  stateless: () => import("@modelcontextprotocol/client"),
};
const { Client, StreamableHTTPClientTransport } = await SDKS[name]();

/** Where the program's user returns to. */
const listener = createServer((_request, response) => response.end("Go back to the program.")).listen(0, "localhost");
await new Promise((listening) => listener.once("listening", listening));
const home = `http://localhost:${listener.address().port}`;

/** What the program stores, and where it sends its user. */
class Kept {
  redirectUrl = `${home}/callback`;
  clientMetadata = {
    client_name: "A program",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.saved;
  saveTokens = (tokens) => void (this.saved = tokens);
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  state = () => "a state";
  discoveryState = () => this.discovered;
  saveDiscoveryState = (state) => void (this.discovered = state);
  redirectToAuthorization = (page) => void (this.page = page);
}

/** The user, in a browser without scripts. */
const cookies = new Map();
async function visit(address, form) {
  const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
  const body = form && new URLSearchParams(form);
  const answer = await fetch(address, { redirect: "manual", headers: { cookie }, method: form ? "POST" : "GET", body });
  for (const line of answer.headers.getSetCookie()) cookies.set(...line.split(";", 1)[0].split("="));
  const location = answer.headers.get("location");
  return { status: answer.status, text: await answer.text(), next: location && new URL(location, address) };
}

async function answerPage(start) {
  const { next: page } = await visit(start);
  const shown = await visit(page);
  assert.match(shown.text, /<strong><bdi>A program<\/bdi><\/strong> wants to use/);
  assert.ok(shown.text.includes(`sent back to <strong>${new URL(home).host}</strong>`));
  await visit(`${page}/code`, { email });
  const { next: resumed } = await visit(`${page}/answer`, { code, answer: "allow" });
  return (await visit(resumed)).next;
}

/** The user, in a real browser, which applies the page's policies and keeps cookies by its own rules. */
async function answerInBrowser(start) {
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage();
    await page.goto(start.href);
    await page.getByText("A program wants to use your Memory Graph").waitFor();
    await page.getByText(`sent back to ${new URL(home).host}`).waitFor();
    await page.getByLabel("Your e-mail address").fill(email);
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByLabel("Code").fill(code);
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("Go back to the program.").waitFor();
    return new URL(page.url());
  } finally {
    await browser.close();
  }
}

const kept = new Kept();
const connect = async () => {
  const client = new Client(
    { name, version: "1" },
    name === "stateless" ? { versionNegotiation: { mode: "auto" } } : {},
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: kept });
  return { client, transport, connected: client.connect(transport) };
};

const first = await connect();
await assert.rejects(first.connected, /Unauthorized/i);
const back = await (chromiumPath ? answerInBrowser : answerPage)(kept.page);
assert.equal(back.searchParams.get("iss"), new URL("../oauth", url).href);
assert.equal(back.searchParams.get("state"), "a state");
await first.transport.finishAuth(name === "stateless" ? back.searchParams : back.searchParams.get("code"));

const { client, connected } = await connect();
await connected;
const { tools } = await client.listTools();
const named = new URL(url).searchParams.get("tools")?.split(",");
assert.equal(tools.length, named?.length ?? 9);
const note = { type: "general", title: "By OAuth", content: "No key was needed." };
const { structuredContent } = await client.callTool({ name: "store_memory", arguments: note });
assert.equal(structuredContent.title, note.title);

// The next request has its token refused, and gets a new one.
const { refresh_token: used } = kept.saved;
kept.saved = { ...kept.saved, access_token: "expired" };
const search = named?.includes("search") ? "search" : "search_memories";
const found = await client.callTool({ name: search, arguments: { query: "key" } });
assert.equal(Object.values(found.structuredContent)[0].length, 1);
assert.notEqual(kept.saved.refresh_token, used);
await client.close();
listener.close();
