import { expect, it } from "vitest";
import { CHROMIUM, isBrowserExpected } from "../support/browser.js";
import { CODE, serveWithOAuth } from "../support/oauth.js";
import { startPrefixProxy } from "../support/prefix-proxy.js";
import { type World, createWorld } from "../support/world.js";
import { runTool } from "./tools.js";

/** Connects the SDK's client, whose user answers by plain requests, or in the browser at the path `browser`. */
async function connect(client: string, ...browser: readonly string[]): Promise<void> {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  await connectAt(`${url}/mcp/oauth`, world, client, ...browser);
}

async function connectAt(address: string, world: World, client: string, ...browser: readonly string[]): Promise<void> {
  const email = "ann@example.com";
  await world.giveCode(email, CODE);

  await runTool("mcp/oauth.js", client, address, email, CODE, ...browser);

  const keys = await world.database.models.apiKey.findMany({ where: { user: { email } } });
  expect(keys).toMatchObject([
    { name: "A program", client: expect.stringMatching(/^localhost:\d+$/), revokedAt: null },
  ]);
  expect(world.bugs).toEqual([]);
}

it.each(["handshake", "stateless"])(
  "lets the SDK's client connect without a key by %s: it registers, asks a person, calls tools, refreshes",
  (client) => connect(client),
);

it.each(["handshake", "stateless"])(
  "lets the SDK's client connect by %s to an address that names tools",
  async (client) => {
    await using world = await createWorld();
    const { url } = await serveWithOAuth(world);
    await connectAt(`${url}/mcp/oauth?tools=search,fetch,store_memory`, world, client);
  },
);

it.skipIf(!isBrowserExpected)("lets a person connect the SDK's client in a browser", () =>
  connect("handshake", CHROMIUM),
);

it.skipIf(!isBrowserExpected)("lets a person connect in a browser where a proxy adds a prefix", async () => {
  await using world = await createWorld();
  await using proxy = await startPrefixProxy("/.well-known/oauth-");
  proxy.leadsTo((await world.serve({ PUBLIC_URL: proxy.url, TRUSTED_PROXIES: "1" })).url);

  await connectAt(`${proxy.url}/mcp/oauth`, world, "stateless", CHROMIUM);

  expect(proxy.outside).toEqual([]);
});
