import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { graphqlSchema, operations } from "../../src/operations.js";
import { type Operation, keepsResults } from "../../src/operation/operation.js";
import { outputTypeOf } from "../../src/operation/output.js";
import { backendAliases } from "../../src/surfaces/rest/aliases/backend-aliases.js";
import { sdkAliases } from "../../src/surfaces/rest/aliases/sdk-aliases.js";
import { asksProvider } from "../support/billing.js";
import { Changes } from "../support/changes.js";
import { type Things, exampleInput, thingsOf } from "../support/examples.js";
import { type FailingDoors, startFailingDoors } from "../support/failing-doors.js";
import type { StatementFault } from "../support/failing-statements.js";
import { type Answer, ask } from "../support/http.js";
import { argumentsOf, askMcp } from "../support/mcp.js";
import { askGraphQL, askRest, operationNamed } from "../support/operations.js";
import { runsAllRounds, timesAllRounds } from "../support/rounds.js";
import { selectionOf } from "../support/selections.js";

/** A request that is sent with one key and one Idempotency-Key until it succeeds. */
interface Call {
  readonly name: string;
  /** The operation for which the caller gets what it needs. */
  readonly needs?: Operation;
  /** Whether nobody sees a part of its effect: it is one transaction. */
  readonly isWhole: boolean;
  /** Whether the same request can be repeated after it succeeded. */
  readonly isRepeatable: boolean;
  send(key: string, things: Things, headers: Record<string, string>): Promise<Answer>;
}

const schema = await graphqlSchema();
const isChange = ({ kind }: Operation) => kind === "mutation";

let at: FailingDoors;
beforeAll(async () => void (at = await startFailingDoors()));
afterAll(() => at[Symbol.asyncDispose]());

/** Codes are counted in a transaction of their own, right ones too. */
const COUNT_TRIES = ["confirmSignUp", "changeEmail"];

/** An operation at each door; by GraphQL with its relations. */
function callsOf(operation: Operation): Call[] {
  const facts = {
    needs: operation,
    // What the payment provider is asked for is stored before it is asked.
    isWhole: !asksProvider(operation) && !COUNT_TRIES.includes(operation.name),
    isRepeatable: keepsResults(operation) || !isChange(operation),
  };
  // Who has left a team does not see its members.
  const levels = runsAllRounds ? 3 : 2;
  const selection = selectionOf(outputTypeOf(schema, operation), operation.name === "leaveTeam" ? 1 : levels);
  const call = (
    door: string,
    ask: (key: string, input: Record<string, unknown>, headers: Record<string, string>) => Promise<Answer>,
  ): Call => ({
    ...facts,
    name: `${operation.name} by ${door}`,
    send: (key, things, headers) => ask(key, exampleInput(operation, things), headers),
  });
  return [
    call("REST", (key, input, headers) => askRest(at.doors.url, key, operation, input, headers)),
    call("GraphQL", (key, input, headers) =>
      askGraphQL(at.doors.url, key, schema, operation, input, headers, selection),
    ),
    ...(operation.mcp
      ? [
          call("MCP", (key, input, headers) => {
            const params = { name: operation.mcp?.name ?? "", arguments: argumentsOf(input) };
            return askMcp(at.doors.url, key, "tools/call", params, { headers });
          }),
        ]
      : []),
  ];
}

const NOTE = { type: "general", title: "A note", content: "Something." };

/** What the clients of aliases send. */
const aliasCalls = [...sdkAliases, ...backendAliases].map(({ method, path, standsFor }): Call => {
  const isRead = standsFor.every((name) => !isChange(operationNamed(name)));
  const bodyFor = (one: string, two: string): object => {
    if (isRead) return { query: "two" };
    if (!path.endsWith("relationships")) return { ...NOTE, title: "x".repeat(200) };
    return { from_memory_id: one, to_memory_id: two, relationship_type: "ENABLES" };
  };
  return {
    name: `${method} ${path}`,
    isWhole: true,
    isRepeatable: true,
    send(key, { memories: [one = "", two = ""] }, headers) {
      const url = `${at.doors.url}${path.replace(":id", one)}`;
      if (method === "GET") return ask(`${url}?query=two`, { key, headers });
      return ask(url, { key, headers, method, ...(method === "DELETE" ? {} : { body: bodyFor(one, two) }) });
    },
  };
});

const MEMORY = "{ id title relationships { memory { id content } relationship { context } } supersededBy { title } }";
/** Documents in which many fields wait for the database at once. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  "many aliases": `query($one: ID!, $two: ID!) {
    a: memory(id: $one) ${MEMORY} b: memory(id: $two) ${MEMORY} c: memories { memories ${MEMORY} }
    d: relatedMemories(id: $one, maxDepth: 2) { memories { title memory ${MEMORY} } }
    e: searchMemories(query: "two") { memories { memory ${MEMORY} } }
    f: relationships { relationships { fromMemory ${MEMORY} toMemory ${MEMORY} } }
    g: viewer { team { members { user { email } } invitations { email } } } h: apiKeys { keys { name } }
  }`,
  "many changes": `mutation($one: ID!, $two: ID!) {
    a: createMemory(input: { type: "general", title: "A", content: "A" }) ${MEMORY}
    b: updateMemory(input: { id: $one, title: "B" }) ${MEMORY}
    c: createRelationship(input: { fromMemoryId: $two, toMemoryId: $one, relationshipType: "ENABLES" }) {
      fromMemory ${MEMORY} toMemory ${MEMORY}
    }
    d: createApiKey(input: { name: "CI", scopes: [MEMORIES_READ] }) { id key }
  }`,
};
const documentCalls = Object.entries(DOCUMENTS).flatMap(([name, query]) =>
  [{}, { extensions: {} }].map((more): Call => ({
    name: `${name}${"extensions" in more ? ", through Apollo" : ""}`,
    isWhole: false,
    isRepeatable: true,
    send: (key, { memories: [one, two] }, headers) =>
      ask(`${at.doors.url}/graphql`, { key, headers, body: { query, variables: { one, two }, ...more } }),
  })),
);

/** How statements fail; of two that are alike, each is every second one. */
const FAULTS: ReadonlyArray<readonly StatementFault[]> = [
  ["lost"],
  ["unanswered"],
  ["40001", "40P01"],
  ["53100", "57014"],
  ["gone"],
];

/** At home every third alias: they run operations as REST does. */
const isTurn = (_call: Call, index: number): boolean => runsAllRounds || index % 3 === 0;
const calls = [...operations.map(callsOf), ...aliasCalls.filter(isTurn).map((call) => [call]), documentCalls];
/** Each call at one of its doors, with one fault. `TEST_ROUNDS=5` runs it with each. */
const cases = FAULTS.slice(0, timesAllRounds).flatMap((_faults, round) =>
  calls.flatMap((ways, index) => {
    const [call, faults] = [ways[(index + round) % ways.length], FAULTS[(index + round) % FAULTS.length]];
    return call && faults ? [{ call, faults, name: `${call.name}: ${faults.join(", ")}` }] : [];
  }),
);
/** A request that is never answered would take longer. */
const HANGS_MS = 120_000;
/** At home only every fifth statement fails, beginning with one of the first five. */
const STEP = runsAllRounds ? 1 : 5;

/** A failure in the words of one of the doors. */
interface Told {
  readonly code: string | number;
  readonly data?: { readonly code: string };
}
interface Said {
  readonly error?: Told;
  readonly errors?: ReadonlyArray<{ readonly extensions: { readonly code: string } }>;
  readonly result?: { readonly isError?: boolean; readonly content: ReadonlyArray<{ readonly text: string }> };
}

/** "ok", or the codes of what failed, in REST's words. */
function outcomeOf({ status, body, headers }: Answer): string {
  const { error, errors = [], result } = (body || {}) as Said;
  const told = result?.isError ? (JSON.parse(result.content[0]?.text ?? "") as { error: Told }).error : error;
  const codes = new Set(errors.map(({ extensions: { code } }) => code.toLowerCase()));
  if (told) codes.add(String(told.data?.code ?? told.code));
  if (codes.has("unavailable") && !result && !headers.has("retry-after")) codes.add("but not when to try again");
  return [...codes].join(" ") || (status < 300 ? "ok" : String(status));
}

interface Outcome {
  readonly outcome: string;
  readonly changed: string;
  readonly body?: unknown;
}

/** A caller with all that the call needs, who sends it again and again. */
async function begin({ needs, send }: Call) {
  const actor = await at.world.user();
  const things = await thingsOf(at.world, actor, needs);
  // The use of a key is noted in the background, once a minute: also of those that only prepared something.
  await at.world.database.pool.query("UPDATE api_key SET last_used_at = now() + interval '1 day'");
  const changes = await Changes.from(at.world);
  const idempotencyKey = randomUUID();
  const askOnce = async (): Promise<Outcome> => {
    // As if the leases had ended, of locks that could not be released.
    await at.world.database.pool.query("UPDATE billing_account SET locked_until = NULL WHERE locked_until IS NOT NULL");
    // From other networks, so that no limit on uses is reached.
    const address = `10.${[0, 8, 16].map((bits) => (requests >> bits) & 255).join(".")}`;
    requests++;
    const headers = { "idempotency-key": idempotencyKey, "x-forwarded-for": address };
    const answer = await send(actor.key, things, headers).catch(() => undefined);
    const changed = await changes.soFar();
    return answer ? { outcome: outcomeOf(answer), changed, body: answer.body } : { outcome: "gone", changed };
  };
  const { userId } = actor.caller;
  return { userId, ask: askOnce };
}
let requests = 0;

/** An address, a key, or what the examples store, name or search for. */
const OF_PEOPLE = /\w@\w|mg_live_|01234567|token of|example\.com|backoff|of three|Something\.|Renamed/;

/**
 * Sends a request again whose end the client does not know. While it runs, it waits longer each time: every request
 * counts towards the account's budget.
 */
async function askAgain({ ask: send }: Awaited<ReturnType<typeof begin>>): Promise<Outcome> {
  for (let waitMs = 5; ; waitMs *= 1.5) {
    const said = await send();
    if (!JSON.stringify(said.body ?? "").includes("idempotency_in_progress")) return said;
    await new Promise((done) => setTimeout(done, waitMs));
  }
}

function isRight({ outcome, changed }: Outcome, { isWhole, isRepeatable }: Call, effect: string): boolean {
  if (outcome === "ok") return changed === effect;
  // The key of a deleted account is unknown.
  if (outcome === "unauthorized") return changed === effect && !isRepeatable;
  if (isWhole) return ["unavailable", "gone"].includes(outcome) && ["", effect].includes(changed);
  // PostgreSQL may not have noticed yet that the connection of one field is lost, and hold the key for it.
  return ["unavailable", "unavailable conflict", "gone"].includes(outcome);
}

it.each(aliasCalls)("answers a repetition by its Idempotency-Key with the first result: $name", async (call) => {
  const { ask: send } = await begin(call);
  const first = await send();

  expect(first).toMatchObject({ outcome: "ok" });
  expect(await send()).toEqual(first);
});

it.each(cases)("fails as documented, and has one effect: $name", { timeout: HANGS_MS }, async ({ call, faults }) => {
  let one = await begin(call);
  const usual = await one.ask();
  expect(usual).toMatchObject({ outcome: "ok" });
  const effect = usual.changed;
  const wrong: unknown[] = [];
  if (effect !== "") one = await begin(call);
  const accounts = [one.userId];
  const first = 1 + (cases.findIndex((known) => known.call === call) % STEP);
  for (let number = first, isOver = false; !isOver; number += STEP) {
    at.way.fail(faults[number % faults.length] ?? "lost", number);
    const said = await one.ask();
    const failed = at.way.stop();
    if (said.outcome === "rate_limited") {
      // A budget for some hundred fields is used up.
      one = await begin(call);
      number -= STEP;
      continue;
    }
    isOver = failed === undefined;
    if (!isRight(said, call, effect) || (isOver && said.outcome !== "ok")) wrong.push({ number, failed, effect, said });
    const isUnknown = said.outcome === "gone" || said.changed === effect;
    if (effect === "" || !isUnknown) continue;
    const again = call.isRepeatable ? await askAgain(one) : undefined;
    if (again && (again.outcome !== "ok" || again.changed !== effect)) wrong.push({ number, failed, effect, again });
    one = await begin(call);
    accounts.push(one.userId);
  }

  expect(wrong).toEqual([]);
  expect(at.lost.splice(0)).toEqual([]);
  expect(at.world.bugs.splice(0)).toEqual([]);
  expect(at.world.log.splice(0).filter((line) => OF_PEOPLE.test(line))).toEqual([]);
  // What a client has left is still brought to its end.
  await expect.poll(() => at.doors.keptBy(["keys", ...accounts])).toEqual([]);
});
