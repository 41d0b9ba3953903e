import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type Server, connect, createServer } from "node:net";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { readBacklog } from "../../src/backlog.js";
import { CONNECTIONS_PER_ACCOUNT } from "../../src/operation/shares.js";
import { WAITED_FOR } from "../../src/operation/waits.js";
import { UNAVAILABLE } from "../../src/platform/database/database-errors.js";
import { Metrics } from "../../src/platform/telemetry/metrics.js";
import { aPayer, createBillingWorld } from "../support/billing.js";
import { startEmbeddingsServer } from "../support/embeddings-server.js";
import { ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { lockMemories } from "../support/locks.js";
import { mailSettings, startMailServer } from "../support/mail-server.js";
import { PATIENT } from "../support/patience.js";
import { openConnection, exchange, untilClosed } from "../support/socket.js";
import { createWorld } from "../support/world.js";

const MONITORING = {
  dashboard: readFileSync("docs/monitoring/dashboard.json", "utf8"),
  alerts: readFileSync("docs/monitoring/alerts.yml", "utf8"),
  documentation: readFileSync("docs/operations.md", "utf8").split("## Metrics")[1]?.split("\n## ")[0] ?? "",
};

async function metricsOf(url: string | undefined): Promise<string> {
  const { status, body } = await ask(url ?? "");
  expect(status).toBe(200);
  return String(body);
}

/** The value of the only line that begins with this. */
function valueOf(text: string, series: string): number | undefined {
  const line = text.split("\n").find((known) => known.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

/** Sources of metrics without any work. */
const NOTHING = {
  pools: {},
  waiting: () => ({}),
  errors: () => 0,
  backlog: async () => ({}),
  isReadOnly: async () => false,
};

it("counts requests by door, operation and outcome, and measures their time", async () => {
  await using world = await createWorld();
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const ann = await world.user();
  for (const path of ["/v1/memories", "/v1/memories", "/v1/memories/nobody"]) await ask(url + path, { key: ann.key });
  const query = "{ viewer { email } }";
  await ask(`${url}/graphql`, { key: ann.key, body: { query } });
  await ask(`${url}/graphql`, { key: ann.key, body: { query: "{ viewer { email } memories { nextCursor } }" } });
  await ask(`${url}/graphql`, {
    key: ann.key,
    body: { query: "{ a: viewer { email } b: memories { totalCount } c: wrong }" },
  });
  for (const path of ["/v1/memories", "/me"]) await ask(url + path, { key: "mg_live_nobodys" });
  await ask(`${url}/invitations/${"x".repeat(43)}`);

  await expect.poll(async () => valueOf(await metricsOf(metricsUrl), requests("rest", "none", "unauthorized"))).toBe(2);
  const text = await metricsOf(metricsUrl);
  expect(valueOf(text, requests("rest", "memories", "ok"))).toBe(2);
  expect(valueOf(text, requests("rest", "memory", "not_found"))).toBe(1);
  expect(valueOf(text, requests("graphql", "viewer", "ok"))).toBe(1);
  expect(valueOf(text, requests("graphql", "several", "ok"))).toBe(1);
  expect(text).toContain(`memory_graph_requests_total{door="page",operation="invitation",`);
  expect(valueOf(text, requests("graphql", "none", "graphql_validation_failed"))).toBe(1);
  expect(valueOf(text, 'memory_graph_request_duration_seconds_count{door="rest",operation="memories"}')).toBe(2);
});

const requests = (door: string, operation: string, outcome: string) =>
  `memory_graph_requests_total{door="${door}",operation="${operation}",outcome="${outcome}"}`;

it("counts refusals by budget, and successful jobs", async () => {
  await using world = await createWorld();
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const ann = await world.user({ plan: "free" });
  for (let sent = 0; sent < 63; sent++) await ask(`${url}/v1/memories`, { key: ann.key });
  const body = { email: "ann@example.com" };
  for (let sent = 0; sent < 6; sent++) await ask(`${url}/signup`, { body });

  const text = await metricsOf(metricsUrl);
  expect(valueOf(text, 'memory_graph_refused_total{budget="free"}')).toBe(3);
  expect(valueOf(text, 'memory_graph_refused_total{budget="sign-up-for"}')).toBe(1);
  expect(valueOf(text, 'memory_graph_backlog{kind="mails"}')).toBeGreaterThanOrEqual(0);
  const now = Date.now() / 1_000;
  await expect
    .poll(async () =>
      valueOf(await metricsOf(metricsUrl), 'memory_graph_chore_last_success_timestamp_seconds{chore="forget mails"}'),
    )
    .toBeGreaterThan(now - 600);
});

it("counts statements that wait for a connection, and those that wait for their account's share", async () => {
  await using world = await createWorld({ fresh: true });
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const users = await Promise.all(Array.from({ length: 5 }, () => world.user()));
  const waiting = async (pool: string) =>
    valueOf(await metricsOf(metricsUrl), `memory_graph_database_waiting{pool="${pool}"}`);
  await using lock = await lockMemories(world);
  const perAccount = CONNECTIONS_PER_ACCOUNT + 1;

  const answers = users.flatMap(({ key }) =>
    Array.from({ length: perAccount }, () => ask(`${url}/v1/memories`, { key })),
  );

  await expect.poll(() => waiting("shared")).toBeGreaterThanOrEqual(users.length);
  await expect.poll(() => waiting("account")).toBe(users.length);
  await lock.release();
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([200]));
});

it("counts 503 by reason, and says in the documentation what each wait and each reason of a table means", async () => {
  await using world = await createWorld({ fresh: true });
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" }, undefined, {}, { ...PATIENT, lockWaitMs: 100 });
  const { key } = await world.user();
  const text = await metricsOf(metricsUrl);
  const reasons = Array.from(text.matchAll(/^memory_graph_unavailable_total\{why="(\w+)"\} 0$/gm), ([, why]) => why);
  expect(reasons).toEqual(Object.keys(UNAVAILABLE));
  await using _lock = await lockMemories(world);

  expect((await ask(`${url}/v1/memories`, { key })).status).toBe(503);

  await expect
    .poll(async () => valueOf(await metricsOf(metricsUrl), 'memory_graph_unavailable_total{why="slow"}'))
    .toBe(1);
  expect(await metricsOf(metricsUrl)).toMatch(/waited_seconds_total\{operation="memories",what="lock"\} [0-9.]+/);
  const section = readFileSync("docs/operations.md", "utf8").split("### Why was it slow?")[1]?.split("\n## ")[0] ?? "";
  const [waits = "", causes = ""] = section.split("| cause |");
  const named = Array.from(waits.matchAll(/^\| (`.+?) \|/gm), ([, names = ""]) => names.match(/\w+/g) ?? []).flat();
  expect(named.toSorted()).toEqual(WAITED_FOR.toSorted());
  const told = Array.from(causes.matchAll(/why="(\w+)"/g), ([, why = ""]) => why);
  expect([told.length > 0, told.filter((why) => !reasons.includes(why))]).toEqual([true, []]);
});

it("counts each error in the log, from the first one on", async () => {
  await using world = await createWorld({ fresh: true });
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const ann = await world.user();
  const errors = async () => valueOf(await metricsOf(metricsUrl), "memory_graph_log_errors_total");
  expect(await errors()).toBe(0);

  await world.database.pool.query("ALTER TABLE memory RENAME title TO name");
  expect((await ask(`${url}/v1/memories`, { key: ann.key })).status).toBe(500);

  await expect.poll(errors).toBe(1);
  expect(world.bugs).toHaveLength(1);
  world.bugs.length = 0;
});

it("says whether the server can serve", async () => {
  await using world = await createWorld({ fresh: true });
  const { metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const ready = async () => valueOf(await metricsOf(metricsUrl), "memory_graph_ready");
  await expect.poll(ready).toBe(1);

  await world.breakConnections();

  await expect.poll(ready).toBe(0);
});

it("still reports the process while the database is lost", async () => {
  await using world = await createWorld({ fresh: true });
  const { metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  await world.breakConnections();

  const text = await metricsOf(metricsUrl);

  expect(valueOf(text, 'memory_graph_database_waiting{pool="shared"}')).toBeGreaterThanOrEqual(0);
  expect(text).toContain("nodejs_eventloop_lag_p99_seconds");
});

it("leaves its own address when that of the metrics is taken", async () => {
  await using world = await createWorld();
  const [own, taken] = [createServer(), createServer()];
  onTestFinished(() => void taken.close());
  const [PORT, METRICS_PORT] = [String(await listen(own)), String(await listen(taken))];
  own.close();
  await once(own, "close");

  await expect(world.serve({ PORT, METRICS_PORT })).rejects.toThrow("choose another METRICS_PORT");

  await expect(ask(`http://127.0.0.1:${PORT}/healthz`)).rejects.toThrow("ECONNREFUSED");
});

it("reports background jobs that have never succeeded since the start", async () => {
  await using world = await createWorld();
  const { metricsUrl } = await world.serve({ METRICS_PORT: "0" }, "postgres://postgres@127.0.0.1:1/none");

  const began = valueOf(
    await metricsOf(metricsUrl),
    'memory_graph_chore_last_success_timestamp_seconds{chore="forget mails"}',
  );
  expect(began).toBeGreaterThan(Date.now() / 1_000 - 600);
});

it("reports no stale backlog while the database is lost, and embeddings only if they are configured", async () => {
  await using world = await createWorld();
  const { metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  expect(await metricsOf(metricsUrl)).not.toContain('kind="embeddings"');

  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const backlog = vi.fn(async () => ({ mails: { count: 7, oldestSeconds: 60 } }));
  const metrics = new Metrics({
    pools: {},
    waiting: () => ({}),
    errors: () => 0,
    isReady: async () => true,
    isReadOnly: async () => false,
    backlog,
  });
  expect(await metrics.text()).toContain('memory_graph_backlog{kind="mails"} 7');

  backlog.mockRejectedValue(new Error("lost"));
  vi.advanceTimersByTime(60_000);

  expect(await metrics.text()).not.toMatch(/memory_graph_backlog(_oldest_seconds)?\{/);
});

it("reports how long mails have waited, however often they were tried", async () => {
  await using world = await createWorld({ fresh: true });
  const { metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const [createdAt, dueAt] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 60_000)];
  const mail = { id: randomUUID(), kind: "notice", email: "ann@example.com", subject: "Hello", body: "Hello" };
  await world.database.models.mail.create({ data: { ...mail, createdAt, dueAt, attempts: 9 } });

  const age = valueOf(await metricsOf(metricsUrl), 'memory_graph_backlog_oldest_seconds{kind="mails"}');
  expect(age).toBeGreaterThanOrEqual(3_600);
});

it("counts only work that waits, and none as older than nothing", async () => {
  await using world = await createWorld({ fresh: true });
  const { paymentEvent, billingAccount, billingRequest } = world.database.models;
  const ended = new Date();
  // By a clock that is ahead of this one.
  const receivedAt = new Date(Date.now() + 60_000);
  const event = (id: string) => ({ id, type: "invoice.paid", receivedAt });
  await paymentEvent.createMany({ data: [{ ...event("evt_1"), processedAt: ended }, event("evt_2")] });
  const teamId = randomUUID();
  await billingAccount.create({ data: { teamId } });
  const request = () => ({ id: randomUUID(), teamId, kind: "cancel", request: {}, door: "rest" });
  await billingRequest.createMany({ data: [{ ...request(), outcome: "done", endedAt: ended }, request()] });

  const backlog = await readBacklog(world.services);

  expect(backlog).toMatchObject({ payment_events: { count: 1, oldestSeconds: 0 }, billing_requests: { count: 1 } });
});

it("has labels of few values, whatever clients send", async () => {
  await using world = await createWorld();
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const ann = await world.user();
  for (let sent = 0; sent < 20; sent++) {
    await ask(`${url}/v1/strange-${sent}`, { key: ann.key });
    await ask(`${url}/graphql`, {
      key: ann.key,
      body: { query: `query Strange${sent} { strange${sent}: viewer { email } }` },
    });
  }

  expect(await metricsOf(metricsUrl)).not.toMatch(/strange/i);
});

it("serves nothing else on the metrics port, and no metrics on the service's own port", async () => {
  await using world = await createWorld();
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });

  expect((await ask(`${url}/metrics`)).status).toBe(404);
  expect((await ask(String(metricsUrl).replace("/metrics", "/v1/memories"))).status).toBe(404);
  expect((await ask(`${metricsUrl}?job=graph`)).status).toBe(200);
  expect((await world.serve()).metricsUrl).toBeUndefined();
});

it("answers one request for each connection, and collects once for simultaneous requests", async () => {
  await using world = await createWorld();
  const { metricsUrl = "" } = await world.serve({ METRICS_PORT: "0" });
  let collected = 0;
  const isReady = async () => ++collected > 0;
  const metrics = new Metrics({ ...NOTHING, isReady });

  const answers = await exchange(metricsUrl, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100));
  expect(answers.match(/^HTTP\/1\.1 200 /gm)).toHaveLength(1);
  const texts = await Promise.all(Array.from({ length: 100 }, () => metrics.text()));
  expect(new Set(texts).size).toBe(1);
  expect(collected).toBe(1);
  await metrics.text();
  expect(collected).toBe(2);
});

const connectionsOf = (server: Server): Promise<number> =>
  promisify<number>((done) => server.getConnections((error, count) => done(error, count)))();

it("accepts a limited number of connections, and says when the metrics cannot be read", async () => {
  const server = new Metrics({ ...NOTHING, isReady: () => Promise.reject(new Error("broken")) }).createServer();
  const port = await listen(server);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });

  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(500);
  await expect.poll(() => connectionsOf(server)).toBe(0);
  const sockets = Array.from({ length: 100 }, () => connect(port, "127.0.0.1"));
  await expect.poll(() => connectionsOf(server)).toBe(sockets.length);
  await once(connect(port, "127.0.0.1"), "close");
  for (const socket of sockets) socket.destroy();
});

it("parses hardly more than the first request of a connection, whatever is sent ahead", async () => {
  const server = new Metrics({ ...NOTHING, isReady: async () => true }).createServer();
  onTestFinished(() => void server.close());
  let parsed = 0;
  server.on("request", () => parsed++);
  const socket = openConnection(`http://127.0.0.1:${await listen(server)}`);

  socket.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50_000));

  expect((await untilClosed(socket)).match(/^HTTP\/1\.1 200 /gm)).toHaveLength(1);
  expect(parsed).toBeLessThan(5);
});

it("names only existing metrics in dashboard, alerts and documentation, and there each of the service's own", async () => {
  await using world = await createWorld();
  const { metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const text = await metricsOf(metricsUrl);
  const known = new Set(Array.from(text.matchAll(/^# TYPE (\w+) (\w+)/gm), ([, name = ""]) => name));

  for (const [place, words] of Object.entries(MONITORING)) {
    const named = words.match(/\b(?:memory_graph|nodejs|process)_[a-z0-9_]*[a-z0-9]\b/g) ?? [];
    const unknown = named.filter((name) => !known.has(name.replace(/_(?:bucket|count|sum)$/, "")));
    expect([place, unknown, named.length > 0]).toEqual([place, [], true]);
  }
  const own = [...known].filter((name) => name.startsWith("memory_graph_"));
  expect(
    own.filter((name) => !MONITORING.documentation.includes(`\`${name}\``)),
    "Say in docs/operations.md what these tell.",
  ).toEqual([]);
});

it("begins each series with 0 whose increase raises an alert, since Prometheus misses the step to a first value", async () => {
  await using world = await createWorld();
  const { metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const text = await metricsOf(metricsUrl);
  const counted = Array.from(MONITORING.alerts.matchAll(/increase\(([^[]+)\[/g), ([, series = ""]) => series);

  expect(counted.length).toBeGreaterThan(3);
  const one = (series: string) => series.replace(/=~"(\w+)\|[^"]*"/, '="$1"');
  expect(counted.filter((series) => valueOf(text, one(series)) === undefined)).toEqual([]);
});

it("measures requests to every other server, and logs each mail", async () => {
  await using smtp = await startMailServer();
  await using embeddings = await startEmbeddingsServer();
  await using world = await createBillingWorld({
    environment: {
      ...mailSettings(smtp.url),
      METRICS_PORT: "0",
      EMBEDDINGS_URL: embeddings.url,
      EMBEDDINGS_MODEL: "one",
    },
  });
  const { url, metricsUrl } = world.app;
  const { owner } = await aPayer(world, { seats: 7 });
  await ask(`${url}/signup`, { body: { email: "bob@example.com" } });
  await ask(`${url}/billing/team-checkout`, { key: owner.key, body: {} });
  const memory = { type: "general", title: "A car", content: "It is slow." };
  await ask(`${url}/v1/memories`, { key: owner.key, body: memory });
  await smtp.take("bob@example.com");

  const measured = async () =>
    Array.from(
      (await metricsOf(metricsUrl)).matchAll(/^memory_graph_outgoing_duration_seconds_count\{to="(\w+)"\} [1-9]/gm),
      ([, to]) => to,
    ).sort();
  await expect.poll(measured).toEqual(["embeddings", "mail", "stripe"]);
  const sent = world.log.filter((line) => line.includes("a mail was sent")).map((line) => JSON.parse(line) as object);
  expect(sent).toMatchObject([{ kind: "sign_up", domain: "example.com", attempts: 1 }]);
  expect(world.log.join("\n")).not.toContain("bob@");
});

it("counts requests that the payment provider failed", async () => {
  await using world = await createBillingWorld();
  const { url, metricsUrl } = await world.serve({ METRICS_PORT: "0" });
  const { owner } = await aPayer(world, { seats: 7 });
  world.stripe.fail({ kind: "500", times: 10 });

  expect((await ask(`${url}/billing/team-checkout`, { key: owner.key, body: {} })).status).toBe(502);
  await expect.poll(async () => valueOf(await metricsOf(metricsUrl), "memory_graph_payments_failed_total")).toBe(1);
});
