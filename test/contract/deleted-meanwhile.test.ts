import { afterAll, beforeAll, expect, it } from "vitest";
import { graphqlSchema, operations } from "../../src/operations.js";
import type { Operation } from "../../src/operation/operation.js";
import { outputTypeOf } from "../../src/operation/output.js";
import { asksProvider } from "../support/billing.js";
import { type Things, exampleInput, thingsOf } from "../support/examples.js";
import { type FailingDoors, startFailingDoors } from "../support/failing-doors.js";
import type { Answer } from "../support/http.js";
import { argumentsOf, askMcp } from "../support/mcp.js";
import { askGraphQL, askRest } from "../support/operations.js";
import { runsAllRounds } from "../support/rounds.js";
import { selectionOf } from "../support/selections.js";
import type { Actor } from "../support/world.js";

/** What others may delete while a request is answered, by SQL: the caller's own requests would wait behind its locks. */
const DELETIONS: Readonly<Record<string, (actor: Actor, things: Things) => readonly [string, unknown[]]>> = {
  memories: (_actor, { memories }) => ["DELETE FROM memory WHERE id = ANY($1)", [memories]],
  "all memories but one": (_actor, { memories: [, ...others] }) => ["DELETE FROM memory WHERE id = ANY($1)", [others]],
  relationships: (_actor, { relationships }) => ["DELETE FROM relationship WHERE id = ANY($1)", [relationships]],
  team: (_actor, { teams }) => ["DELETE FROM team WHERE id = ANY($1)", [teams]],
  members: (_actor, { teams }) => ["DELETE FROM team_member WHERE team_id = ANY($1) AND role <> 'owner'", [teams]],
  invitations: (_actor, { invitations }) => ["DELETE FROM invitation WHERE id = ANY($1)", [invitations]],
  keys: ({ caller }) => ["DELETE FROM api_key WHERE user_id = $1", [caller.userId]],
  account: ({ caller }) => ["DELETE FROM user_account WHERE id = $1", [caller.userId]],
};

const schema = await graphqlSchema();
let at: FailingDoors;
let meanwhile = async () => {};
beforeAll(async () => void (at = await startFailingDoors(() => meanwhile())));
afterAll(() => at[Symbol.asyncDispose]());

type Send = (key: string, things: Things) => Promise<Answer>;

/** An operation at each door; by GraphQL with all that can be followed. */
function waysOf(operation: Operation): Array<readonly [string, Send]> {
  const selection = selectionOf(outputTypeOf(schema, operation), 4);
  const inputOf = (things: Things) => exampleInput(operation, things);
  const ways: Array<readonly [string, Send]> = [
    ["GraphQL", (key, things) => askGraphQL(at.doors.url, key, schema, operation, inputOf(things), {}, selection)],
    ["REST", (key, things) => askRest(at.doors.url, key, operation, inputOf(things))],
  ];
  const { name } = operation.mcp ?? {};
  const call = (key: string, things: Things) =>
    askMcp(at.doors.url, key, "tools/call", { name, arguments: argumentsOf(inputOf(things)) });
  return name === undefined ? ways : [...ways, ["MCP", call]];
}

/** At home one case in 48, and one that had a bug; none that asks the payment provider, which takes seconds. */
const isTurn = (operation: Operation, name: string, number: number): boolean =>
  runsAllRounds || (number % 48 === 0 && !asksProvider(operation)) || name === "viewer by GraphQL: team";

const cases = operations
  .filter(({ permission }) => permission !== "public")
  .flatMap((operation, index) =>
    waysOf(operation).flatMap(([door, send], at) =>
      Object.entries(DELETIONS).map(([what, deletion], place) => ({
        name: `${operation.name} by ${door}: ${what}`,
        number: 5 * index + at + place,
        operation,
        send,
        deletion,
      })),
    ),
  )
  // A team whose subscription is live cannot be deleted.
  .filter(({ name, operation }) => !(asksProvider(operation) && name.endsWith(": team")))
  .filter(({ operation, name, number }) => isTurn(operation, name, number));

it.each(cases)("has no bug where others delete meanwhile: $name", async ({ operation, send, deletion }) => {
  const client = await at.world.database.pool.connect();
  await client.query("SET lock_timeout = '50ms'");
  const found: string[] = [];
  try {
    for (let number = 1; ; number++) {
      const actor = await at.world.user();
      const things = await thingsOf(at.world, actor, operation);
      await at.world.database.pool.query("UPDATE api_key SET last_used_at = now() + interval '1 day'");
      const [text, values] = deletion(actor, things);
      // What the request has locked cannot be deleted.
      meanwhile = async () => void (await client.query(text, values).catch(() => {}));
      at.way.fail("late", number);
      const { status, body } = await send(actor.key, things);
      const statement = at.way.stop();
      if (status >= 500 || /internal_(?:server_)?error/i.test(JSON.stringify(body)))
        found.push(`before ${statement}: ${status} ${JSON.stringify(body)}`);
      if (statement === undefined) break;
    }
  } finally {
    // Closed: the pool must not give a connection of so little patience to the next test.
    client.release(true);
  }
  expect({ found, lost: at.lost.splice(0), bugs: at.world.bugs.splice(0) }).toEqual({ found: [], lost: [], bugs: [] });
});
