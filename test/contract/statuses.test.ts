import { afterAll, describe, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { operations } from "../../src/operations.js";
import { type Operation, methodsOf } from "../../src/operation/operation.js";
import type { StandInStripe } from "../../src/stand-in/stripe/index.js";
import { worldFor } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { snakeCase } from "../../src/operation/names.js";
import { type Answer, ask } from "../support/http.js";
import { askMcp, offered as offeredToAgents } from "../support/mcp.js";
import { document } from "../support/openapi.js";
import { askRest, operationNamed } from "../support/operations.js";
import { type Actor, type World, createWorld } from "../support/world.js";

/** Everything needed to produce an answer: a world with a user who owns objects, and a server over it. */
interface Scene {
  readonly world: World & { readonly stripe?: StandInStripe };
  readonly url: string;
  readonly ann: Actor;
  readonly operation: Operation;
  readonly input: Record<string, unknown>;
}

const JSON_TYPE = { "content-type": "application/json" };
const pathOf = ({ url, operation }: Scene) => url + operation.rest.path.replaceAll(/:\w+/g, "nothing");
const raw = (scene: Scene, wish: Parameters<typeof ask>[1]) =>
  ask(pathOf(scene), { method: scene.operation.rest.method, key: scene.ann.key, ...wish });
const rightly = ({ url, ann, operation, input }: Scene, headers?: Record<string, string>) =>
  askRest(url, ann.key, operation, input, headers);

/** How to produce each documented status. An operation is asked only for the statuses that it documents. */
const PRODUCERS: Readonly<Record<string, (scene: Scene) => Promise<Answer>>> = {
  "200": (scene) => rightly(scene),
  "201": (scene) => rightly(scene),
  "202": (scene) => rightly(scene),
  "204": (scene) => rightly(scene),
  "400": (scene) => ask(`${pathOf(scene)}?unknown=1`, { method: scene.operation.rest.method, key: scene.ann.key }),
  "401": (scene) => raw(scene, { key: "mg_live_unknown" }),
  async "403"({ world, url, operation, input }) {
    const suspended = await world.user();
    const { userId: id } = suspended.caller;
    await world.database.models.user.update({ where: { id }, data: { suspendedAt: new Date() } });
    const answer = await askRest(url, suspended.key, operation, input);
    await world.database.models.user.update({ where: { id }, data: { suspendedAt: null } });
    return answer;
  },
  async "404"({ world, url, ann, operation, input }) {
    // An id that the client chooses is new or known, never wrong.
    const isName = (name: string) => /(id|token)$/i.test(name) && name !== "clientId";
    const unknown = Object.entries(input).map(([name, value]) => [name, isName(name) ? "nothing" : value]);
    if (unknown.some(([, value]) => value === "nothing")) {
      return askRest(url, ann.key, operation, Object.fromEntries(unknown));
    }
    // Other operations answer 404 to a user without a team who names the graph of a team.
    const inTeam = operation.rest.path.startsWith("/v1") && operation.name !== "shareMemories" ? { graph: "team" } : {};
    return askRest(url, (await world.user()).key, operation, { ...input, ...inTeam });
  },
  async "409"(scene) {
    if (scene.operation.name === "confirmSignUp") return withoutRoomForKeys(scene);
    if (scene.operation.name === "deleteAccount") return asOwner(scene);
    if (scene.operation.name === "changeEmail") return toAnothers(scene);
    if (scene.operation.name === "mailInvitation") return whileRevoked(scene);
    if (scene.operation.name === "teamUpgradePreview") return withoutSubscription(scene);
    // Any other change under the same key conflicts.
    const note = { type: "general", title: "First", content: "Under the same key." };
    const headers = { "idempotency-key": "used" };
    await ask(`${scene.url}/v1/memories`, { key: scene.ann.key, headers, body: note });
    return rightly(scene, headers);
  },
  async "413"(scene) {
    // A head that is too large gives 413, too.
    expect((await ask(`${pathOf(scene)}?${"x".repeat(LIMITS.http.urlBytes)}`)).status).toBe(413);
    return raw(scene, { body: `"${"x".repeat(1_048_577)}"`, headers: JSON_TYPE });
  },
  "415": (scene) => raw(scene, { body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } }),
  async "429"(scene) {
    const { world, operation, url, ann } = scene;
    // The smallest budget is used up first.
    await world.database.models.user.updateMany({ where: { id: ann.caller.userId }, data: { plan: "free" } });
    if (operation.permission === "public") return firstOf(429, () => rightly(scene));
    await useUpBudget(url, ann.key);
    return firstOf(429, () => rightly(scene));
  },
  async "500"(scene) {
    const rename = async (from: string, to: string) => {
      for (const table of ["api_key", "mail", "sign_up_code", "invitation_token"]) {
        await scene.world.database.pool.query(`ALTER TABLE ${table}${from} RENAME TO ${table}${to}`);
      }
    };
    await rename("", "_lost");
    const answer = await rightly(scene);
    await rename("_lost", "");
    return answer;
  },
  async "502"(scene) {
    const { stripe } = scene.world;
    const { name } = scene.operation;
    // A team without a checkout or subscription is deleted, and grows, without calling the payment provider.
    if (name === "deleteTeam" || name === "updateTeam") await scene.ann.did(operationNamed("createTeamCheckout"));
    const input = name === "updateTeam" ? { ...scene.input, maxMembers: 100 } : scene.input;
    stripe?.fail({ kind: "500", times: 10 });
    const answer = await rightly({ ...scene, input });
    stripe?.clearFaults();
    return answer;
  },
  async "503"(scene) {
    return rightly({ ...scene, url: await withoutDatabase() });
  },
};

const UNREACHABLE = "postgres://postgres@127.0.0.1:1/none";
const nobodys = await createWorld();
let outage: Promise<string> | undefined;
afterAll(() => nobodys[Symbol.asyncDispose]());

/** The URL of a server that cannot reach its database. All cases share it. */
const withoutDatabase = (): Promise<string> => (outage ??= nobodys.serve({}, UNREACHABLE).then(({ url }) => url));

/** Uses 15 fields a request, so the rest of the budget is less than one such request costs. */
async function useUpBudget(url: string, key: string): Promise<void> {
  const query = `{ ${Array.from({ length: 15 }, (_, n) => `a${n}: __typename`).join(" ")} }`;
  await firstOf(429, () => ask(`${url}/graphql`, { key, body: { query } }));
}

/** Calls the operation while the user owns a team. */
async function asOwner(scene: Scene): Promise<Answer> {
  const { userId } = scene.ann.caller;
  await scene.world.database.models.teamMember.deleteMany({ where: { userId } });
  const team = await scene.ann.did<object, { id?: string }>(operationNamed("createTeam"), {
    name: "Own",
    maxMembers: 5,
  });
  const answer = await rightly(scene);
  await scene.ann.did(operationNamed("deleteTeam"), { teamId: team.id });
  return answer;
}

/** Calls the operation while all invitations are revoked. */
async function whileRevoked(scene: Scene): Promise<Answer> {
  const { invitation } = scene.world.database.models;
  await invitation.updateMany({ data: { status: "revoked" } });
  const answer = await rightly(scene);
  await invitation.updateMany({ data: { status: "pending" } });
  return answer;
}

/** Calls the operation as the owner of a team that never paid. */
async function withoutSubscription({ world, url, operation, input }: Scene): Promise<Answer> {
  const owner = await world.user();
  await owner.did(operationNamed("createTeam"), { name: "Unpaid", maxMembers: 5 });
  return askRest(url, owner.key, operation, input);
}

/** Calls the operation with the address of another account and a correct code. */
async function toAnothers(scene: Scene): Promise<Answer> {
  const email = String(scene.input["email"]);
  const { caller } = await scene.world.user({ email });
  const answer = await rightly(scene);
  await scene.world.database.models.user.update({ where: { id: caller.userId }, data: { email: `not.${email}` } });
  return answer;
}

/** Calls the operation while the user with that address has the most keys allowed. */
async function withoutRoomForKeys(scene: Scene): Promise<Answer> {
  const email = String(scene.input["email"]);
  const known = await scene.world.database.models.user.findUnique({ where: { email } });
  const userId = known?.id ?? (await scene.world.user({ email })).caller.userId;
  await scene.world.database.pool.query(
    `INSERT INTO api_key (id, user_id, name, prefix, hash, scopes)
     SELECT gen_random_uuid(), $1, 'Key', '', decode(lpad(n::text, 64, '0'), 'hex'), '{}' FROM generate_series(1, 100) n`,
    [userId],
  );
  const answer = await rightly(scene);
  await scene.world.database.models.apiKey.deleteMany({ where: { userId } });
  return answer;
}

/** In this order one world is enough: refusals change nothing, and what breaks the world comes last. */
const ORDER = ["400", "401", "403", "404", "409", "413", "415", "502", "200", "201", "202", "204", "500", "429", "503"];

/** Enough to use up the largest budget, 15 at a time. */
const ATTEMPTS = 80;

async function firstOf(status: number, produce: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const answer = await produce();
    if (answer.status === status) return answer;
  }
  throw new Error(`No ${status} in ${ATTEMPTS} attempts.`);
}

const offered = operations.flatMap((operation) =>
  methodsOf(operation.rest).map((method): Operation => ({ ...operation, rest: { ...operation.rest, method } })),
);

function documentedStatuses({ rest }: Operation): string[] {
  const described = document.paths[rest.path.replaceAll(/:(\w+)/g, "{$1}")]?.[rest.method.toLowerCase()];
  return Object.keys(described?.responses ?? {});
}

describe("every status that the document promises", () => {
  const named = offered.map((operation) => [`${operation.rest.method} ${operation.rest.path}`, operation] as const);

  it.each(named)("can be produced: %s", async (_name, operation) => {
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    const ann = await world.user();
    const input = exampleInput(operation, await thingsOf(world, ann, operation));
    const promised = documentedStatuses(operation);
    const produced: Record<string, number | undefined> = {};

    for (const status of ORDER.filter((known) => promised.includes(known))) {
      produced[status] = (await PRODUCERS[status]?.({ world, url, ann, operation, input }))?.status;
      expect(world.bugs.length, status).toBe(Number(status) === 429 || Number(status) >= 500 ? world.bugs.length : 0);
    }

    // All are there, and each answer has the status it is listed under.
    expect(produced).toEqual(Object.fromEntries(promised.map((status) => [status, Number(status)])));
    expect(promised.length).toBeGreaterThan(3);
  });
});

/** The result of a tool call: the HTTP status, and the error code that the agent is shown. */
async function calledBy(
  { url, ann, operation, input }: Scene,
  { key = ann.key, args = input, headers = {} }: { key?: string; args?: object; headers?: Record<string, string> } = {},
): Promise<readonly [status: number, code: string | undefined]> {
  const named = Object.entries(args).map(([name, value]) => [snakeCase(name), value as unknown]);
  const call = { name: operation.mcp?.name, arguments: Object.fromEntries(named) };
  const { status, body } = await askMcp(url, key, "tools/call", call, { headers });
  const { content, isError } = (body.result ?? {}) as { content?: Array<{ text: string }>; isError?: boolean };
  if (!isError) return [status, undefined];
  return [status, (JSON.parse(content?.[0]?.text ?? "") as { error: { code: string } }).error.code];
}

/** The same situations as an agent sees them. */
const TOLD: Readonly<Record<string, (scene: Scene) => Promise<readonly [number, string | undefined]>>> = {
  done: (scene) => calledBy(scene),
  "nobody's key": (scene) => calledBy(scene, { key: "mg_live_unknown" }),
  "another page": (scene) => calledBy(scene, { headers: { origin: "https://evil.example" } }),
  "an unknown input": (scene) => calledBy(scene, { args: { ...scene.input, unknownField: 1 } }),
  async "an unknown thing"(scene) {
    const ids = Object.entries(scene.input).map(([name, value]) => [name, /id$/i.test(name) ? "nothing" : value]);
    if (ids.some(([, value]) => value === "nothing"))
      return calledBy(scene, { args: Object.fromEntries(ids) as object });
    return calledBy(scene, { key: (await scene.world.user()).key, args: { ...scene.input, graph: "team" } });
  },
  async "another use of a key"(scene) {
    const headers = { "idempotency-key": "used" };
    await ask(`${scene.url}/v1/memories`, {
      key: scene.ann.key,
      headers,
      body: { type: "general", title: "First", content: "Under the same key." },
    });
    return calledBy(scene, { headers });
  },
  async "a mistake of ours"(scene) {
    const { pool } = scene.world.database;
    await pool.query("ALTER TABLE memory RENAME TO memory_lost");
    const told = await calledBy(scene);
    await pool.query("ALTER TABLE memory_lost RENAME TO memory");
    return told;
  },
  async "too many requests"(scene) {
    const { world, ann, url } = scene;
    await world.database.models.user.updateMany({ where: { id: ann.caller.userId }, data: { plan: "free" } });
    await useUpBudget(url, ann.key);
    // Uses up what is left of the budget: fewer than 15 requests.
    for (let call = 0; call < 15; call++) await calledBy(scene);
    return calledBy(scene);
  },
  async "no database"(scene) {
    return calledBy({ ...scene, url: await withoutDatabase() });
  },
};

describe("the result of a tool", () => {
  it.each(offeredToAgents.map((operation) => [operation.name, operation] as const))(
    "is an answer with a code, or an HTTP error where an agent could do nothing: %s",
    async (_name, operation) => {
      await using world = await worldFor(operation);
      const { url } = await world.serve();
      const ann = await world.user();
      const input = exampleInput(operation, await thingsOf(world, ann, operation));
      const told: Record<string, unknown> = {};
      for (const [situation, produce] of Object.entries(TOLD)) {
        told[situation] = await produce({ world, url, ann, operation, input });
      }

      expect(told).toEqual({
        done: [200, undefined],
        "nobody's key": [401, undefined],
        "another page": [403, undefined],
        "an unknown input": [200, "bad_request"],
        "an unknown thing": [200, "not_found"],
        "another use of a key": [200, operation.kind === "mutation" ? "conflict" : undefined],
        "a mistake of ours": [200, "internal_error"],
        "too many requests": [200, "rate_limited"],
        "no database": [503, undefined],
      });
    },
  );
});
