import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aPayer, createStripeWorld } from "../support/billing.js";
import { type Collector, type Span, startCollector, treeOf } from "../support/collector.js";
import { ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { DYNAMIC, loadedBy, placesIn } from "../support/loaded-files.js";
import { lockMemories } from "../support/locks.js";
import { callTool } from "../support/mcp.js";
import { PATIENT } from "../support/patience.js";
import { startServerProcess } from "../support/server-process.js";
import { createWorld, environmentOf } from "../support/world.js";

/** Short delays before sending, so that tests need not wait; in a form that they can read. */
const SOON = {
  OTEL_BSP_SCHEDULE_DELAY: "50",
  OTEL_BLRP_SCHEDULE_DELAY: "50",
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
};
const CALLER = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" };
const traceparent = (sampled = "01") => ({ traceparent: `00-${CALLER.trace}-${CALLER.span}-${sampled}` });

const requestOf = ({ spans }: Collector, operation: string): Span | undefined =>
  spans.find(({ attributes }) => JSON.stringify(attributes["memory_graph.operations"])?.includes(`"${operation}"`));

/** The spans below the request that ran the operation. Waits for the request's span, which is sent last. */
async function treeBelow(collector: Collector, operation: string): Promise<string[]> {
  await expect.poll(() => requestOf(collector, operation)?.name).toBeDefined();
  const { traceId, spanId, name } = requestOf(collector, operation) as Span;
  return [name, ...treeOf(ofTrace(collector, traceId), spanId, 1)];
}

const ofTrace = ({ spans }: Collector, id: string) => spans.filter(({ traceId }) => traceId === id);

it("sends a span for each request, operation, statement and call of Stripe, at every door", async () => {
  await using collector = await startCollector();
  await using world = await createStripeWorld();
  await using server = await startServerProcess({
    DATABASE_URL: world.databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...SOON,
    ...environmentOf(world.stripe),
    OTEL_SERVICE_NAME: "graph-of-tests",
  });
  const { url } = server;
  const { owner, teamId } = await aPayer(world);
  // Its last use is recorded in the background; later requests of this minute do not record theirs.
  const used = { userId: owner.caller.userId, lastUsedAt: { not: null } };
  await expect.poll(() => world.database.models.apiKey.count({ where: used })).toBe(1);
  const secret = "a content that nobody may see";
  const body = { type: "fix", title: secret, content: secret };

  await ask(`${url}/v1/memories`, { key: owner.key, body, headers: traceparent() });
  await ask(`${url}/graphql`, { key: owner.key, body: { query: "{ memories { memories { id } } }" } });
  await callTool(url, owner.key, "search_memories", { query: secret });
  await ask(`${url}/billing/team-checkout`, { key: owner.key, body: {} });

  expect(await treeBelow(collector, "createMemory")).toEqual([
    "POST rest",
    "  callers_by_keys",
    "  createMemory",
    "    create_memory",
  ]);
  expect(await treeBelow(collector, "memories")).toEqual([
    "POST graphql",
    "  callers_by_keys",
    "  memories",
    "    pages",
    "      memory.findMany",
  ]);
  const searched = await treeBelow(collector, "searchMemories");
  expect(searched.slice(0, 4)).toEqual(["POST mcp", "  callers_by_keys", "  searchMemories", "    search"]);
  expect(searched[4]).toMatch(/^ {6}\w+$/);
  const paid = await treeBelow(collector, "createTeamCheckout");
  expect(paid.slice(0, 3)).toEqual(["POST rest", "  callers_by_keys", "  createTeamCheckout"]);
  expect(paid.filter((line) => line.includes("Stripe"))).toEqual(
    expect.arrayContaining(["    Stripe POST /v1/customers", "    Stripe POST /v1/checkout/sessions"]),
  );
  const request = requestOf(collector, "createMemory");
  expect(request).toMatchObject({
    traceId: CALLER.trace,
    parentSpanId: CALLER.span,
    resource: { "service.name": "graph-of-tests" },
    attributes: {
      "user.id": owner.caller.userId,
      "memory_graph.outcome": "ok",
      "http.route": "/v1/memories",
      "memory_graph.key_id": owner.caller.keyId,
      "memory_graph.team_id": teamId,
    },
  });

  // The log and the collector have the same ids.
  const ids = `"trace_id":"${CALLER.trace}","span_id":"${request?.spanId}"`;
  await expect.poll(server.printed).toContain(ids);
  await expect
    .poll(() => collector.logs.filter(({ traceId }) => traceId === CALLER.trace))
    .toEqual([expect.objectContaining({ severityText: "info", body: { stringValue: "request" }, flags: 1 })]);
  const sent = collector.bodies.join("\n");
  for (const hidden of [secret, owner.key, owner.email]) expect(sent).not.toContain(hidden);
});

it("takes its variables with spaces around them and in capitals, as all others", async () => {
  await using collector = await startCollector();
  await using world = await createWorld();
  await using server = await startServerProcess({
    DATABASE_URL: world.databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: ` ${collector.url} `,
    ...SOON,
    OTEL_TRACES_SAMPLER: "Always_OFF ",
  });
  const { key } = await world.user();

  await ask(`${server.url}/v1/memories`, { key });

  await expect.poll(() => collector.logs.length).toBeGreaterThan(0);
  await server.kill("SIGTERM");
  expect(collector.spans).toEqual([]);
});

it("keeps simultaneous requests apart while they wait for their turns", async () => {
  await using collector = await startCollector();
  await using world = await createWorld();
  const endpoint = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces` };
  await using server = await startServerProcess(
    { DATABASE_URL: world.databaseUrl, ...endpoint, ...SOON },
    { http: { turnMs: 0 }, database: PATIENT },
  );
  const ann = await world.user();
  const body = { type: "fix", title: "t", content: "c" };
  const statements = () => collector.spans.filter(({ name }) => name === "create_memory");

  const answers = await Promise.all(
    Array.from({ length: 20 }, () => ask(`${server.url}/v1/memories`, { key: ann.key, body })),
  );

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  await expect.poll(() => statements().length).toBe(20);
  // Simultaneous requests share the look-up of their key, one of them records its use, and they wait for the account's
  // share of the database.
  const trees = statements().map(({ traceId }) =>
    treeOf(ofTrace(collector, traceId), undefined).filter((line) => !/callers_by_keys|apiKey|wait/.test(line)),
  );
  expect(new Set(trees.map(String))).toEqual(new Set(["POST rest,  createMemory,    create_memory"]));
  expect(new Set(statements().map(({ traceId }) => traceId)).size).toBe(20);
});

it("reports PostgreSQL's code when a statement waited for a lock in vain, whoever sent it", async () => {
  await using collector = await startCollector();
  await using world = await createWorld();
  const { key } = await world.user();
  await using server = await startServerProcess({
    DATABASE_URL: world.databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...SOON,
  });
  await using _lock = await lockMemories(world);

  await ask(`${server.url}/v1/memories`, { key });
  await ask(`${server.url}/v1/memories`, { key, body: { type: "fix", title: "Retry", content: "Wait longer." } });

  // What no span shows, such as waiting for a lock or for the turn of the event loop, is in the span of the request.
  await expect
    .poll(() => requestOf(collector, "createMemory")?.attributes)
    .toMatchObject({ "memory_graph.waited_ms.lock": expect.toSatisfy((ms) => Number(ms) > 1_000) });
  const codesOf = (name: string) =>
    new Set(collector.spans.filter((span) => span.name === name).map(({ attributes }) => attributes["error.type"]));
  await expect.poll(() => codesOf("memory.findMany")).toEqual(new Set(["55P03"]));
  await expect.poll(() => codesOf("create_memory")).toEqual(new Set(["55P03"]));
});

it("marks the span of a request as failed where the service failed, at every door, and not where the client did", async () => {
  await using collector = await startCollector();
  await using world = await createWorld();
  const { key } = await world.user();
  await using server = await startServerProcess({
    DATABASE_URL: world.databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...SOON,
  });
  const { url } = server;
  const id = randomUUID();
  const askEach = async () => {
    await ask(`${url}/v1/memories/${id}`, { key });
    await ask(`${url}/graphql`, { key, body: { query: `{ memory(id: "${id}") { id } }` } });
    await ask(`${url}/graphql?query=${encodeURIComponent(`{ memory(id: "${id}") { id } }`)}`, { key });
    await callTool(url, key, "get_memory", { id });
  };

  await askEach();
  await ask(`${url}/graphql`, { key, body: { query: "{ nothing }" } });
  await using _lock = await lockMemories(world);
  await askEach();

  const requests = () => collector.spans.filter(({ attributes }) => attributes["memory_graph.request_id"]);
  await expect.poll(() => requests().length).toBe(9);
  const said = requests().map(({ name, attributes, status }) => {
    return [name, attributes["memory_graph.outcome"], status.code === 2, attributes["error.type"]].join(" ").trim();
  });
  const routes = new Set(requests().map(({ attributes }) => attributes["http.route"]));
  expect(routes).toEqual(new Set(["/v1/memories/:id", "/graphql", "/mcp"]));
  const doors = ["POST mcp", "GET graphql", "GET rest", "POST graphql"];
  expect(said.sort()).toEqual(
    [
      ...doors.flatMap((door) => [`${door} not_found false`, `${door} unavailable true unavailable`]),
      "POST graphql graphql_validation_failed false",
    ].sort(),
  );
});

it("sends as protobuf, unless JSON is asked for: not each collector reads that", async () => {
  await using collector = await startCollector();
  await using world = await createWorld();
  const { OTEL_EXPORTER_OTLP_PROTOCOL: _json, ...soon } = SOON;
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: "graph-of-tests" };
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl, ...endpoint, ...soon });
  const { key } = await world.user();

  await ask(`${server.url}/v1/memories`, { key });

  const paths = ["/v1/logs", "/v1/traces"].map((path) => `${path} application/x-protobuf`);
  await expect.poll(() => [...collector.requests].toSorted()).toEqual(paths);
  for (const told of ["graph-of-tests", "memory.findMany"]) {
    await expect.poll(() => collector.bodies.join("\n")).toContain(told);
  }
  // It answers in JSON, as some do, which is no answer in this form.
  expect(server.printed()).not.toContain("telemetry could not be sent");
});

it("records nothing that the caller does not sample, but still logs its trace id", async () => {
  await using collector = await startCollector();
  await using world = await createWorld();
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_LOGS_EXPORTER: "none" };
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl, ...endpoint, ...SOON });
  const ann = await world.user();

  await ask(`${server.url}/v1/memories`, { key: ann.key, headers: traceparent("00") });
  await ask(`${server.url}/v1/graph/statistics`, { key: ann.key });

  await expect.poll(server.printed).toContain(`"trace_id":"${CALLER.trace}"`);
  await expect.poll(() => collector.spans.length).toBeGreaterThan(0);
  expect(ofTrace(collector, CALLER.trace)).toEqual([]);
  expect(collector.logs).toEqual([]);
});

const LEFT_OUT = '{"rejectedSpans":1,"errorMessage":"too old"}';

it.each([
  ["is missing", undefined, "connect ECONNREFUSED 127.0.0.1:1"],
  ["takes too much at once", 429, "Export failed with retryable status"],
  ["wants another key", 401, "Unauthorized"],
  ["takes only a part", 200, `Received Partial Success response: ${LEFT_OUT}`],
])("serves while the collector %s, and says so in the log", async (_what, status, reason) => {
  const answer = `{"partialSuccess":${LEFT_OUT}}`;
  const refusing = createServer((_request, response) => void response.writeHead(status ?? 200).end(answer));
  const own = await listen(refusing);
  const port = status === undefined ? 1 : own;
  await using world = await createWorld();
  await using server = await startServerProcess({
    DATABASE_URL: world.databaseUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    ...SOON,
    OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    OTEL_LOGS_EXPORTER: "none",
  });
  const ann = await world.user();

  expect((await ask(`${server.url}/v1/memories`, { key: ann.key })).status).toBe(200);

  await expect.poll(server.printed).toContain("telemetry could not be sent");
  const line =
    server
      .printed()
      .split("\n")
      .find((known) => known.includes("telemetry could not be sent")) ?? "";
  expect(JSON.parse(line)).toMatchObject({ reason });
  expect(await server.kill("SIGTERM")).toBe(0);
  refusing.close();
});

it("loads no part of OpenTelemetry's SDK without its variables", () => {
  const loaded = loadedBy("dist/main.js");
  const texts = loaded.map((file) => readFileSync(file, "utf8"));

  expect(loaded.length).toBeGreaterThan(3);
  expect(texts.filter(hasSdk)).toEqual([]);
  const later = texts.flatMap((text) => placesIn(text, DYNAMIC)).find((place) => /\/telemetry-/.test(place)) ?? "";
  expect(hasSdk(readFileSync(join("dist/chunks", later), "utf8"))).toBe(true);
});

const hasSdk = (text: string): boolean => /\bBatchSpanProcessor\b/.test(text);
