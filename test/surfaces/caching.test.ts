import { expect, it } from "vitest";
import { operations } from "../../src/operations.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { ask } from "../support/http.js";
import { askRest } from "../support/operations.js";
import { createWorld } from "../support/world.js";

it("lets no cache keep an answer of an operation, whatever it says", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const ann = await world.user();
  const input = await thingsOf(world, ann);
  for (const [index, operation] of operations.entries()) {
    const headers = { "x-forwarded-for": `10.0.0.${index}` };
    const asked = exampleInput(operation, input);
    const keys = operation.kind === "query" ? [ann.key, undefined] : [undefined];
    for (const key of keys) {
      const answer = await askRest(url, key, operation, asked, headers);
      expect([operation.name, answer.status, answer.headers.get("cache-control")]).toEqual([
        operation.name,
        answer.status,
        "no-store",
      ]);
    }
  }
  for (const path of ["/v1/nothing", "/healthz", "/me?unknown=1", "/graphql?query={viewer{id}}", "/mcp", "/nothing"]) {
    const answer = await ask(url + path, { key: ann.key });
    expect([path, answer.headers.get("cache-control")]).toEqual([path, "no-store"]);
  }
});
