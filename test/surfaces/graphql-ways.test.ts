import { ApolloServer } from "@apollo/server";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { graphqlSchema, operations } from "../../src/operations.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { createStripeWorld } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { ask } from "../support/http.js";
import { inputFields, named } from "../support/operations.js";
import { createWorld } from "../support/world.js";

/** A request with any extensions is handled by Apollo. */
const THROUGH_APOLLO = { extensions: {} };

const schema = await graphqlSchema();
const through = vi.spyOn(ApolloServer.prototype, "executeHTTPGraphQLRequest");
afterEach(() => void through.mockClear());

interface Request {
  readonly key?: string | undefined;
  readonly headers?: Record<string, string>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Status, headers and body of an answer, without the parts that differ for each request. */
async function told(url: string, { key, headers = {}, body }: Request) {
  const { status, headers: sent, body: answered } = await ask(`${url}/graphql`, { key, headers, body });
  const shown = [...sent].filter(([name]) => !["date", "x-request-id", "ratelimit"].includes(name));
  const left = /r=(\d+)/.exec(sent.get("ratelimit") ?? "")?.[1];
  return { status, headers: Object.fromEntries(shown), text: withoutNovelties(JSON.stringify(answered)), left };
}

/** Removes ids, times and secrets of a change's result, which are new each time. */
const withoutNovelties = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/mg_live_\w+/g, "<key>");

/** Sends a request past Apollo and through Apollo, and says whether the first one really took Apollo's way. */
async function bothWays(url: string, request: Request) {
  const { calls } = through.mock;
  const before = calls.length;
  const past = await told(url, request);
  const tookApollo = calls.length > before;
  const byApollo = await told(url, { ...request, body: { ...request.body, ...THROUGH_APOLLO } });
  return { past, byApollo, tookApollo };
}

it("answers every operation the same, past Apollo and through it", async () => {
  await using world = await createStripeWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "pro" });
  const things = await thingsOf(world, ann);
  for (const operation of operations) {
    const type = inputTypeOf(schema, operation);
    const fields = inputFields(type);
    const list = (text: (name: string, of: string) => string) =>
      fields.length === 0 ? "" : `(${fields.map(({ name, type: of }) => text(name, String(of))).join()})`;
    const isChange = operation.kind === "mutation";
    const query =
      isChange && fields.length > 0
        ? `mutation($input: ${type.name}!) { ${operation.name}(input: $input) { __typename } }`
        : `${operation.kind}${list((name, of) => `$${name}: ${of}`)} {
            ${operation.name}${list((name) => `${name}: $${name}`)} { __typename }
          }`;
    // Queries can run twice with an example; changes are sent empty, which is refused.
    const variables = isChange ? { input: {} } : named(exampleInput(operation, things), type);
    const body = { query, variables };
    await told(url, { key: ann.key, body });

    for (const key of [ann.key, undefined]) {
      const { past, byApollo, tookApollo } = await bothWays(url, { key, body });
      expect({ operation: operation.name, ...past, left: "" }).toEqual({
        operation: operation.name,
        ...byApollo,
        left: "",
      });
      expect([operation.name, tookApollo]).toEqual([operation.name, false]);
    }
  }
  expect(world.bugs).toEqual([]);
});

const GET =
  "query Get($id: ID!, $deep: Boolean = false) { memory(id: $id) { id title ...Deep @include(if: $deep) } } fragment Deep on Memory { content relationships { memory { title } } }";
const TWO = "query One { viewer { email } } query Two { viewer { plan } }";

it.each<[string, Record<string, unknown>, Record<string, string>?]>([
  ["an unknown id", { query: GET, variables: { id: "nobody" } }],
  ["a variable of a wrong type", { query: GET, variables: { id: "x", deep: "no" } }],
  ["a missing variable", { query: GET }],
  ["null as variables", { query: "{ viewer { email } }", variables: null }],
  ["an operation by its name", { query: TWO, operationName: "Two" }],
  ["an empty name", { query: "{ viewer { email } }", operationName: "" }],
  ["the same field twice, once wrong", { query: '{ a: viewer { email } b: memory(id: "x") { id } }' }],
  [
    "too costly",
    {
      query:
        "query Many { memories(limit: 100) { memories { relationships { memory { relationships { memory { relationships { memory { id } } } } } } } } }",
    },
  ],
  ["the other media type", { query: "{ viewer { email } }" }, { accept: "application/graphql-response+json" }],
  ["any media type", { query: "{ viewer { email } }" }, { accept: "*/*" }],
  [
    "a preference",
    { query: "{ viewer { email } }" },
    { accept: "application/json;q=0.5, application/graphql-response+json" },
  ],
  ["a type name", { query: "{ __typename viewer { __typename } }" }],
])("answers the same past Apollo as through it: %s", async (_name, body, headers = {}) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "pro" });
  await told(url, { key: ann.key, headers, body });

  const { past, byApollo, tookApollo } = await bothWays(url, { key: ann.key, headers, body });

  expect({ ...past, left: "" }).toEqual({ ...byApollo, left: "" });
  const cost = Number(past.left) - Number(byApollo.left);
  expect(cost).toBeGreaterThan(0);
  expect(tookApollo).toBe(false);
  const [one, other] = world.log.slice(-2).map((line) => {
    const {
      time: _time,
      request_id: _id,
      duration_ms: _duration,
      waited_ms: _waited,
      ...rest
    } = JSON.parse(line) as Record<string, unknown>;
    return rest;
  });
  expect(one).toEqual(other);
});

it.each<[string, Record<string, unknown>, Record<string, string>?]>([
  ["an unknown document", { query: "{ viewer { id } }" }],
  ["an operation that is not there", { query: TWO, operationName: "Three" }],
  ["one of two without a name", { query: TWO }],
  ["introspection", { query: "{ __schema { queryType { name } } }" }],
  ["a media type that nobody has", { query: "{ viewer { email } }" }, { accept: "image/png" }],
  ["extensions", { query: "{ viewer { email } }", extensions: {} }],
])("leaves to Apollo: %s", async (name, body, headers = {}) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  if (name !== "an unknown document") await told(url, { key: ann.key, body });
  through.mockClear();

  await told(url, { key: ann.key, headers, body });

  expect(through).toHaveBeenCalledOnce();
});

it("starts Apollo once, for the first request that needs it", async () => {
  using start = vi.spyOn(ApolloServer.prototype, "start");
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await ask(`${url}/v1/memories`, { key: ann.key });
  expect(start).not.toHaveBeenCalled();

  for (const query of ["{ viewer { id } }", "{ viewer { plan } }"]) await told(url, { key: ann.key, body: { query } });

  expect(start).toHaveBeenCalledOnce();
});

it("starts Apollo without its reports, whatever its variables say", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  // Without a key, Apollo does not start with these reports.
  vi.stubEnv("APOLLO_SCHEMA_REPORTING", "true");
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();

  expect(await told(url, { key, body: { query: "{ viewer { email } }" } })).toMatchObject({ status: 200 });
});
