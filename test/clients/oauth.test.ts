import { expect, it } from "vitest";
import { CODE, serveWithOAuth } from "../support/oauth.js";
import { createWorld } from "../support/world.js";
import { runTool } from "./tools.js";

it.each(["handshake", "stateless"])(
  "lets the SDK's client connect without a key by %s: it registers, asks a person, calls tools, refreshes",
  async (client) => {
    await using world = await createWorld();
    const { url } = await serveWithOAuth(world);
    const email = "ann@example.com";
    await world.giveCode(email, CODE);

    await runTool("mcp/oauth.js", client, `${url}/mcp/oauth`, email, CODE);

    const keys = await world.database.models.apiKey.findMany({ where: { user: { email } } });
    expect(keys).toMatchObject([{ name: "A program", client: "localhost:8123", revokedAt: null }]);
    expect(world.bugs).toEqual([]);
  },
);
