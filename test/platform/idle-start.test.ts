import { cpSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { aFolder } from "../support/folder.js";
import { loadedBy } from "../support/loaded-files.js";
import { mailSettings, startMailServer } from "../support/mail-server.js";
import { startServerProcess } from "../support/server-process.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

it("starts without packages that only some servers need", () => {
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

it("hashes by Node, not in JavaScript", () => {
  const texts = loadedBy("dist/main.js").map((file) => readFileSync(file, "utf8"));

  expect(texts.some((text) => text.includes("computeCoreSchemaHash"))).toBe(true);
  // From the base class of sha.js.
  expect(texts.some((text) => text.includes("_update must be implemented by subclass"))).toBe(false);
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

it("has loaded all of its build's code before a request needs it: Node never tries a failed import again", async () => {
  await using world = await createWorld();
  const { key } = await world.user();
  await using mails = await startMailServer();
  const folder = await aFolder();
  for (const name of ["node_modules", "prisma"]) symlinkSync(resolve(name), join(folder, name));
  for (const name of ["dist/main.js", "dist/limits.js", "dist/assets", "dist/chunks", "package.json"])
    cpSync(name, join(folder, name), { recursive: true });
  const environment = { DATABASE_URL: world.databaseUrl, ...mailSettings(mails.url) };
  await using server = await startServerProcess(environment, {}, { folder });

  rmSync(join(folder, "dist/chunks"), { recursive: true });
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const body = "grant_type=refresh_token&refresh_token=a&client_id=b";
  const token = await ask(`${server.url}/oauth/token`, { headers: form, body });
  const graphql = await ask(`${server.url}/graphql`, { key, body: { query: "{ __schema { queryType { name } } }" } });
  await ask(`${server.url}/signup`, { body: { email: "ann@example.com" } });

  expect(token.body).toMatchObject({ error: "invalid_client" });
  expect(graphql.body).toMatchObject({ data: expect.anything() as object });
  expect(await mails.take("ann@example.com")).toMatchObject({ to: "ann@example.com" });
});
