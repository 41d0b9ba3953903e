import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { loadedBy } from "../support/loaded-files.js";
import { startServerProcess } from "../support/server-process.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

it("starts without packages that only some servers or requests need", () => {
  const texts = loadedBy("dist/main.js").map((file) => readFileSync(file, "utf8"));

  expect(texts.some((text) => text.includes("getGraphQLRateLimiter"))).toBe(true);
  // graphql-shield, which comes with graphql-rate-limit; nodemailer; ioredis; prom-client.
  const parts = ["fallbackRule", "SMTPConnection", "enableOfflineQueue", "collectDefaultMetrics"];
  expect(parts.filter((part) => texts.some((text) => text.includes(part)))).toEqual([]);
});

it("keeps Prisma's description of all queries in sparse objects", () => {
  const texts = loadedBy("dist/main.js").map((file) => readFileSync(file, "utf8"));

  expect(texts.join("").match(/\{4294967294:void 0\}/g)).toHaveLength(2);
});

it("does not ask whether it runs at Cloudflare, which would load Node's HTTP client", () => {
  const texts = loadedBy("dist/main.js").map((file) => readFileSync(file, "utf8"));

  expect(texts.join("").match(/getNodejsStreamFuncs|isCloudflareRuntime/g)).not.toContain("isCloudflareRuntime");
});

it("optimizes hardly a function of Prisma's query compiler for the queries of a start", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const flags = ["--trace-wasm-compilation-times"];
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl }, {}, { flags });

  for (const path of ["/me", "/keys", "/teams/me", "/v1/memories", "/v1/export/records", "/v1/activity"]) {
    await ask(`${server.url}${path}`, { key: ann.key });
  }
  await server.kill("SIGTERM");

  expect(server.printed().match(/ using Liftoff/g)?.length).toBeGreaterThan(100);
  // By V8's own budgets 7 (Node 22) to 46 (Node 20).
  expect(server.printed().match(/ using TurboFan/g)?.length ?? 0).toBeLessThan(4);
});
