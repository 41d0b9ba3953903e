import type { AddressInfo } from "node:net";
import express from "express";
import type pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { healthOf, healthRoutes } from "../../src/surfaces/health.js";
import { onServer } from "../bench/on-server.js";
import { type Answer, ask } from "../support/http.js";
import { withLimits } from "../support/limits.js";
import { createWorld } from "../support/world.js";

const seen = ({ status, body }: Answer) => [status, body];

it("says without a key that the process is alive and ready", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();

  expect(seen(await ask(`${url}/healthz`))).toEqual([200, { status: "ok" }]);
  expect(seen(await ask(`${url}/readyz`))).toEqual([200, { status: "ready" }]);
});

it("answers 405 to other methods than reading, as every path of the reference", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();

  for (const path of ["/healthz", "/readyz", "/health"]) {
    const { status, headers, body } = await ask(url + path, { method: "POST", body: {} });
    expect([path, status, headers.get("allow"), body]).toMatchObject([
      path,
      405,
      "GET, HEAD",
      { error: { code: "method_not_allowed" } },
    ]);
    expect((await ask(url + path, { method: "HEAD" })).status).toBe(200);
  }
});

it("is not ready before the database has every migration", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  await world.database.pool.query("DELETE FROM _prisma_migrations");

  expect(seen(await ask(`${url}/readyz`))).toEqual([503, { status: "unavailable", problem: "migrations are pending" }]);
  expect((await ask(`${url}/health`)).body).toMatchObject({ detail: "migrations are pending" });
  // Nobody's request failed.
  const told = () => world.log.filter((line) => line.includes('"status":503,"failures":["not_ready"]'));
  await expect.poll(() => told().length).toBe(2);
});

it("is not ready when a migration differs from the one that was applied", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  await world.database.pool.query("UPDATE _prisma_migrations SET checksum = 'another'");

  expect((await ask(`${url}/readyz`)).body).toMatchObject({
    problem: "a migration was changed after it had been applied",
  });
});

it("stays ready while the database accepts no changes, says so, and answers reads", async () => {
  await using world = await createWorld();
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const ann = await world.user();
  const metric = async () =>
    /^memory_graph_database_read_only (\d)$/m.exec(String((await ask(metricsUrl ?? "")).body))?.[1];
  expect([seen(await ask(`${url}/readyz`)), await metric()]).toEqual([[200, { status: "ready" }], "0"]);

  const name = new URL(world.databaseUrl).pathname.slice(1);
  await onServer(world.databaseUrl.replace(name, "postgres"), async (server) => {
    await server.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    // New connections have it.
    await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
  });

  await expect.poll(async () => (await ask(`${url}/readyz`)).body).toEqual({ status: "ready", read_only: true });
  expect((await ask(`${url}/health`)).body).toMatchObject({ status: "healthy", read_only: true });
  expect(await metric()).toBe("1");
  expect((await ask(`${url}/v1/memories`, { key: ann.key })).status).toBe(200);
  const body = { type: "fix", title: "t", content: "c" };
  expect((await ask(`${url}/v1/memories`, { key: ann.key, body })).status).toBe(503);
  expect(world.log.join("\n")).toContain('"why":"read_only"');
});

it("queries the database once per second for all concurrent checks", async () => {
  await using world = await createWorld();
  const pool = world.database.reservedPool;
  const query = vi.spyOn(pool, "query");
  const server = express()
    .use(healthRoutes(healthOf(pool, () => false)))
    .listen(0);
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`;
  const statuses = async () =>
    (await Promise.all(Array.from({ length: 20 }, () => ask(url)))).map(({ status }) => status);

  expect(new Set(await statuses())).toEqual(new Set([200]));
  const questions = query.mock.calls.length;
  await statuses();
  const before = query.mock.calls.length;
  // Once, or a few times if that takes seconds.
  expect(before).toBeLessThan(5 * questions);

  await expect.poll(async () => (await statuses()) && query.mock.calls.length).toBeGreaterThan(before);
});

it("is not ready while the database does not answer", async () => {
  using _short = withLimits("database", { readinessMs: 50 });
  const silent = { query: () => new Promise(() => {}) } as unknown as pg.Pool;

  expect(await healthOf(silent, () => false).problem()).toBe("the database does not answer");
});

it("is alive but not ready while the database cannot be reached, and answers 503 at every door", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const name = new URL(world.databaseUrl).pathname.slice(1);
  const allow = (allowed: boolean) =>
    onServer(world.databaseUrl.replace(name, "postgres"), async (server) => {
      await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${allowed}`);
      if (!allowed)
        await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
    });

  await allow(false);
  const statuses = [];
  for (const path of ["/healthz", "/readyz", "/me"]) statuses.push((await ask(url + path, { key: ann.key })).status);
  const graphql = await ask(`${url}/graphql`, { key: ann.key, body: { query: "{ viewer { id } }" } });
  const { body } = await ask(`${url}/v1/memories`, { key: ann.key });
  await allow(true);

  expect(statuses).toEqual([200, 503, 503]);
  const told = world.log.flatMap(
    (line) => /"why":"([^"]+)".*(?:answered 503\. \w|answers 503: .* says what to do\.)/.exec(line)?.[1] ?? [],
  );
  // Four requests were refused, and each reason is logged once.
  expect(told).toHaveLength(new Set(told).size);
  expect(told).toContain("the database cannot be used");
  expect(told.length).toBeGreaterThan(1);
  expect(body).toMatchObject({ error: { code: "unavailable" } });
  expect(seen(graphql)).toMatchObject([503, { errors: [{ extensions: { code: "UNAVAILABLE" } }] }]);
  expect((await ask(`${url}/me`, { key: ann.key })).status).toBe(200);
  expect(world.bugs).toEqual([]);
});
