import { expect, it } from "vitest";
import { CHROMIUM, isBrowserExpected } from "../support/browser.js";
import { CODE, serveWithOAuth } from "../support/oauth.js";
import { createWorld } from "../support/world.js";
import { runTool } from "./tools.js";

/** The same program, whose user answers by plain requests or in a real browser. */
async function connect(client: string, ...browser: readonly string[]): Promise<void> {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  const email = "ann@example.com";
  await world.giveCode(email, CODE);

  await runTool("mcp/oauth.js", client, `${url}/mcp/oauth`, email, CODE, ...browser);

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

it.skipIf(!isBrowserExpected).each(["handshake", "stateless"])(
  "lets a person connect the SDK's client by %s in a browser",
  (client) => connect(client, CHROMIUM),
);
