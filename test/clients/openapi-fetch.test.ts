import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";
import { runTool } from "./tools.js";

it("lets a client with types generated from /openapi.json compile and work", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  expect((await ask(`${url}/openapi.json`)).status).toBe(200);

  await runTool(
    "node_modules/openapi-typescript/bin/cli.js",
    `${url}/openapi.json`,
    "-o",
    "node_modules/.cache/openapi.d.ts",
  );
  // The project's own compiler, which takes an eighth of the CPU of the one that the clients' packages need.
  await runTool("../../node_modules/typescript/bin/tsc", "-p", "tsconfig.json");
  await runTool("node_modules/.cache/built/openapi-fetch.js", url, ann.key);

  expect(world.bugs).toEqual([]);
});
