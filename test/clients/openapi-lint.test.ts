import { expect, it } from "vitest";
import { runTool } from "./tools.js";

it("conforms to OpenAPI's own schema and Redocly's recommended rules", async () => {
  expect(JSON.parse(await runTool("lint-openapi.mjs", "../contract/openapi.json"))).toEqual({
    valid: true,
    problems: [],
  });
});
