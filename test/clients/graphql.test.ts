import { expect, it } from "vitest";
import { createWorld } from "../support/world.js";
import { runTool } from "./tools.js";

it.each(["apollo-client", "urql", "urql-graphcache", "graphql-request", "relay"])(
  "%s stores, links, finds, walks, updates, sees a conflict and pages",
  async (client) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();

    await runTool("graphql/run.js", client, url, key);

    expect(world.bugs).toEqual([]);
  },
);
