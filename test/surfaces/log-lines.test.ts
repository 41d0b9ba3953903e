import { expect, it } from "vitest";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { ask } from "../support/http.js";
import { serveWithOAuth } from "../support/oauth.js";
import { aTeam } from "../support/teams.js";
import { createWorld } from "../support/world.js";

const SECRET = "n0body-may-read-this";

/** Where a token, a code or a text of a client may stand. */
const TARGETS = [
  "/v1/memories/SECRET",
  "/v1/memories/search?query=SECRET",
  "/v1/export?format=SECRET",
  "/v1/SECRET",
  "/invitations/SECRET",
  "/teams/invitations/SECRET/accept",
  "/billing/return?session=SECRET",
  "/oauth/authorize?client_id=https://SECRET.example.com",
  "/oauth/token",
  "/oauth/connect/SECRET/answer",
  "/graphql?query={SECRET}",
  "/mcp?SECRET",
  "/signup/confirm",
  "/keys",
  "/billing/stripe-webhook",
  "/%SECRET",
  "/api/v1/memories/SECRET",
  "/healthz?SECRET",
  "/SECRET",
];
const HEADERS = ["x-api-key", "cookie", "user-agent", "referer", "idempotency-key", "stripe-signature", "x-read-after"];
const BODIES = [
  `{"code": "${SECRET}", "email": "${SECRET}", "${SECRET}": "${SECRET}"}`,
  `{"query": "query ${SECRET.replaceAll("-", "_")} { memory(id: \\"${SECRET}\\") { id } }"}`,
  `{"jsonrpc": "2.0", "id": "${SECRET}", "method": "tools/call", "params": {"name": "${SECRET}"}}`,
  `{"${SECRET}`,
];

it("names the user, the key and the team of a request", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, teamId } = await aTeam(world);

  await ask(`${url}/v1/memories`, { key: owner.key });

  const line = JSON.parse(world.log.find((text) => text.includes('"duration_ms"')) ?? "{}") as object;
  expect(line).toMatchObject({ user_id: owner.caller.userId, key_id: owner.caller.keyId, team_id: teamId });
});

it("logs one line for each request, with nothing that its client sent", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
  const { key } = await world.user();
  const headers = Object.fromEntries(HEADERS.map((name) => [name, SECRET]));
  let sent = 0;

  for (const target of TARGETS) {
    for (const authorization of [`Bearer ${key}`, `Bearer ${SECRET}`]) {
      for (const body of [undefined, ...BODIES]) {
        const from = { "x-forwarded-for": `10.3.${sent >> 8}.${sent & 255}` };
        await fetch(url + target.replace("SECRET", SECRET), {
          method: body === undefined ? "GET" : "POST",
          headers: { ...headers, ...from, authorization, "content-type": "application/json" },
          ...(body !== undefined && { body }),
        }).then((answer) => answer.arrayBuffer());
        sent++;
      }
    }
  }
  await ask(`${url}/healthz`);

  const told = world.log.filter((line) => line.includes("n0body") || line.includes(key));
  expect(told).toEqual([]);
  expect(world.log.filter((line) => line.includes('"duration_ms"')).length).toBeGreaterThanOrEqual(sent);
});

it("logs why the database or a parser refuses something, but not what it refuses", async () => {
  await using world = await createWorld();
  const { models, pool } = world.database;
  const { email } = await world.user({ email: `${SECRET}@example.com` });
  const id = world.services.newId();
  const user = { id, email, name: SECRET };
  const refusals: ReadonlyArray<readonly [why: string, refused: () => Promise<unknown>]> = [
    [
      "PrismaClientValidationError Argument `plan`: Invalid",
      () => models.user.create({ data: { ...user, plan: 7 } as never }),
    ],
    [
      "PrismaClientValidationError Unknown argument `nobody`",
      () => models.user.count({ where: { email: SECRET, nobody: SECRET } as never }),
    ],
    [
      'PrismaClientKnownRequestError Invalid input value: invalid input syntax for type uuid: "…"',
      () => models.user.create({ data: { ...user, id: SECRET } }),
    ],
    ["PrismaClientKnownRequestError Unique constraint failed", () => models.user.create({ data: user })],
    [
      "PrismaClientKnownRequestError ",
      () => models.team.create({ data: { id, name: SECRET, ownerId: id, maxMembers: 0 } }),
    ],
    ['DatabaseError invalid input syntax for type uuid: "…"', () => pool.query("SELECT $1::uuid", [SECRET])],
    [
      'PrismaClientKnownRequestError Invalid input value: invalid input syntax for type uuid: "…"',
      () => models.user.create({ data: { ...user, id: `A text\n\nand ${SECRET}` } }),
    ],
    [
      'PrismaClientKnownRequestError Invalid input value: invalid input syntax for type uuid: "…"',
      () => models.user.findMany({ where: { id: `A text\nand ${SECRET}` }, orderBy: { email: "asc" } }),
    ],
    [
      'DatabaseError invalid input syntax for type uuid: "…"',
      () => pool.query("SELECT $1::uuid", [`Error: x\n    at pasted (${SECRET})`]),
    ],
    [
      'Error It failed: Invalid input value: invalid input syntax for type uuid: "…"',
      () =>
        models.user.create({ data: { ...user, id: SECRET } }).catch((cause: unknown) => {
          throw new Error("It failed", { cause });
        }),
    ],
    [
      "TypeError fetch failed: connect ECONNREFUSED",
      async () =>
        Promise.reject(
          new TypeError("fetch failed", { cause: new AggregateError([new Error("connect ECONNREFUSED ::1:80")]) }),
        ),
    ],
    [
      "Error No such price: 'price_1'; a",
      async () => Promise.reject(new Error("No such price: 'price_1'; a similar one")),
    ],
    ["Error ", async () => Promise.reject(Object.assign(new Error(SECRET), { message: undefined, stack: null }))],
    ["DatabaseError invalid input syntax for type json", () => pool.query("SELECT $1::json", [SECRET])],
    ['DatabaseError syntax error in tsquery: "…"', () => pool.query("SELECT to_tsquery($1)", [`${SECRET} (`])],
    [
      'DatabaseError new row for relation "team"',
      () => pool.query("INSERT INTO team (id, name, owner_id, max_members) VALUES ($1, $2, $1, 0)", [id, SECRET]),
    ],
    ["SyntaxError Unexpected", async () => void JSON.parse(SECRET)],
    [
      "SyntaxError ",
      async () => Promise.reject(new SyntaxError(`Unexpected token 'n', "${SECRET}" is not valid JSON`)),
    ],
    ["SyntaxError ", async () => void JSON.parse(`{"a": 1, "b": "${SECRET}" x, "c": "${"y".repeat(50)}"}`)],
    ["SyntaxError ", async () => Promise.reject(new SyntaxError(`Unexpected token 'n', ..."${SECRET}"...`))],
    [
      "Error ungültige Eingabesyntax für Typ uuid:",
      async () => Promise.reject(new Error(`ungültige Eingabesyntax für Typ uuid: »${SECRET}«`)),
    ],
    ['TypeError The "size" argument', async () => void Buffer.alloc(SECRET as never)],
  ];

  for (const [why, refused] of refusals) {
    const lines: string[] = [];
    const log = loggerTo({ write: (line) => void lines.push(line) }, "trace");
    await refused().then(
      () => lines.push("It was not refused."),
      (err: unknown) => log.error({ err }),
    );
    const [line = ""] = lines;
    const { err } = JSON.parse(line) as { err: { type: string; message: string } };
    expect(`${err.type} ${err.message}`).toContain(why);
    expect(line).not.toContain(SECRET);
  }
});

it("names what failed in each request that is answered with an error's status, and counts none of them as ok", async () => {
  await using world = await createWorld();
  const { url, metricsUrl } = await serveWithOAuth(world, { METRICS_PORT: "0" });
  const bodies = [...BODIES, "grant_type=authorization_code&client_id=nobody&code=x", "grant_type=x", "token=x"];
  const isWithoutHealth = (target: string) => !target.startsWith("/healthz");
  const oauth = ["/oauth/register", "/oauth/revoke", "/oauth/token", "/oauth/authorize?client_id=nobody"];
  let sent = 0;
  for (const target of [...TARGETS.filter(isWithoutHealth), ...oauth]) {
    for (const method of ["GET", "POST", "PUT"]) {
      for (const body of method === "GET" ? [undefined] : bodies) {
        for (const type of ["application/json", "application/x-www-form-urlencoded", "text/csv"]) {
          const headers = {
            "x-forwarded-for": `10.4.${sent >> 8}.${sent++ & 255}`,
            "content-type": type,
            accept: "*/*",
          };
          const answer = await fetch(url + target, { method, headers, redirect: "manual", ...(body && { body }) });
          await answer.arrayBuffer();
        }
      }
    }
  }

  const lines = () =>
    world.log
      .map((line) => JSON.parse(line) as { duration_ms?: number; status?: number; failures?: string[] })
      .filter((line) => line.duration_ms !== undefined);
  await expect.poll(() => lines().length).toBeGreaterThanOrEqual(sent);
  const failed = lines().filter(({ status = 0 }) => status >= 400);
  expect(failed.filter(({ failures }) => failures === undefined)).toEqual([]);
  const codes = new Set(failed.flatMap(({ failures = [] }) => failures));
  for (const code of ["unsupported_grant_type", "unauthorized", "not_found"]) expect(codes).toContain(code);
  const { body: metrics } = await ask(metricsUrl ?? "");
  const counts = String(metrics).matchAll(/^memory_graph_requests_total\{.*outcome="ok"\} (\d+)$/gm);
  const ok = Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
  expect(ok).toBe(
    lines().length - failed.length - lines().filter(({ status = 0, failures }) => status < 400 && failures).length,
  );
});

it("names OAuth's code for what is wrong with a program's request", async () => {
  await using world = await createWorld();
  const { url } = await serveWithOAuth(world);
  const redirect = "http://127.0.0.1:1/callback";
  const registered = await ask(`${url}/oauth/register`, { body: { redirect_uris: [redirect] } });
  const { client_id: program } = registered.body as { client_id: string };
  const authorize = new URLSearchParams({ client_id: program, redirect_uri: redirect, response_type: "token" });

  for (const [code, status, target, body] of [
    ["invalid_client", 401, "/oauth/token", "grant_type=authorization_code&client_id=nobody&code=x"],
    ["invalid_grant", 400, "/oauth/token", `grant_type=refresh_token&client_id=${program}&refresh_token=x`],
    ["unsupported_grant_type", 400, "/oauth/token", "grant_type=password"],
    ["invalid_target", 400, "/oauth/token", "grant_type=refresh_token&resource=x"],
    ["invalid_client", 401, "/oauth/revoke", "client_id=nobody&token=x"],
    ["invalid_redirect_uri", 400, "/oauth/register", '{"redirect_uris": ["http://example.com"]}'],
    ["invalid_client", 400, "/oauth/authorize?client_id=nobody", undefined],
    ["unsupported_response_type", 303, `/oauth/authorize?${authorize}`, undefined],
  ] as const) {
    const type = body?.startsWith("{") ? "application/json" : "application/x-www-form-urlencoded";
    const post = body !== undefined && { method: "POST", body, headers: { "content-type": type } };
    const { headers } = await fetch(url + target, { redirect: "manual", ...post });

    const line = () => world.log.find((text) => text.includes(String(headers.get("x-request-id")))) ?? "{}";
    await expect.poll(() => JSON.parse(line()) as object).toMatchObject({ status, failures: [code] });
  }
});
