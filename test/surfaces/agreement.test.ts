import fc from "fast-check";
import {
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  type GraphQLInputType,
  GraphQLString,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from "graphql";
import { describe, expect, it } from "vitest";
import { graphqlSchema, operations } from "../../src/operations.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { snakeCase } from "../../src/operation/names.js";
import type { Operation } from "../../src/operation/operation.js";
import { describeUnknown } from "../../src/operation/read-value.js";
import { worldFor } from "../support/billing.js";
import { type Things, exampleInput, thingsOf } from "../support/examples.js";
import { isOffered, isReadAsIs, saidByMcp } from "../support/mcp.js";
import { type Said, inputFields, saidByGraphQL, saidByRest } from "../support/operations.js";
import { roundsOf } from "../support/rounds.js";

const schema = await graphqlSchema();
const RUNS = roundsOf(60);

describe.each(operations.map((operation) => [operation.name, operation] as const))("%s", (_name, operation) => {
  it("gets the same result at every door, for any input", async () => {
    await using world = await worldFor(operation);
    const { url } = await world.serve();
    // Three users own the same objects and make the same calls in the same order, each at another door.
    const [ann, bob, carol] = [await world.user(), await world.user(), await world.user()];
    const [annHas, bobHas] = [await thingsOf(world, ann, operation), await thingsOf(world, bob, operation)];
    const carolHas = await thingsOf(world, carol, operation);
    const said = { accepted: 0, refused: 0 };

    await fc.assert(
      fc.asyncProperty(anyInput(operation, annHas), async (input) => {
        const { issues = [], ...byRest } = await saidByRest(url, ann.key, operation, input);
        const { issues: some = [], ...byGraphQL } = await saidByGraphQL(
          url,
          bob.key,
          schema,
          operation,
          translate(input, annHas, bobHas),
        );
        said[byRest.ok ? "accepted" : "refused"]++;
        expect(byGraphQL).toEqual(byRest);
        // GraphQL stops at the third issue of variables.
        expect(issues).toEqual(expect.arrayContaining(some.map((issue) => withoutPath(issue, operation))));
        expect(some.length > 0).toBe(issues.length > 0);
        if (operation.mcp) {
          const { issues: _, ...toAgent } = await saidToAgent(
            url,
            carol.key,
            operation,
            translate(input, annHas, carolHas),
          );
          expect(toAgent).toEqual(byRest);
        }
      }),
      {
        numRuns: RUNS,
        endOnFailure: true,
        examples: [...certainInputs(operation, annHas), ...largeInputs(operation, annHas)].map((input) => [input]),
      },
    );

    expect(said.accepted).toBeGreaterThan(0);
    if (inputFields(inputTypeOf(schema, operation)).length > 0) expect(said.refused).toBeGreaterThan(0);
    expect(world.bugs).toEqual([]);
  });
});

/** An issue of an unknown field as by REST: it names only the fields that are not in the path. */
function withoutPath(issue: string, { rest }: Operation): string {
  const [, start = "", names] = /^(.+)is unknown; known (?:is|are) (.+)$/.exec(issue) ?? [];
  if (names === undefined) return issue;
  const inPath = rest.path.split("/").flatMap((segment) => /^:(\w+)$/.exec(segment)?.[1] ?? []);
  return start + describeUnknown(names.split(", ").filter((name) => !inPath.includes(name)));
}

/**
 * What a tool answers. Tools leave out some inputs, have smaller limits, and convert some values. Input that a tool
 * refuses or converts is sent by REST instead.
 */
async function saidToAgent(...[url, key, operation, input]: Parameters<typeof saidByMcp>): Promise<Said> {
  if (!isReadAsIs(schema, operation, input)) return saidByRest(url, key, operation, input);
  if (isOffered(operation, input)) return saidByMcp(url, key, operation, input);
  expect(await saidByMcp(url, key, operation, input)).toEqual({ ok: false, code: "bad_request" });
  return saidByRest(url, key, operation, input);
}

/** An input that every door refuses, if there is one, and an input that is accepted. */
function certainInputs(operation: Operation, things: Things): Array<Record<string, unknown>> {
  const example = exampleInput(operation, things);
  const fields = inputFields(inputTypeOf(schema, operation));
  if (fields.length === 0) return [example];
  if (operation.rest.method !== "GET") return [{ ...example, unknownField: 1 }, example];
  const field = fields.find(({ type }) => isEnumType(getNamedType(type)) || getNamedType(type) === GraphQLInt);
  const inPath = fields.find(({ name }) => operation.rest.path.includes(`:${snakeCase(name)}`));
  const wrong = field ?? inPath;
  return wrong ? [{ ...example, [wrong.name]: "nothing" }, example] : [example];
}

/** The example with a list of too many texts, or a number that is too large. */
function largeInputs(operation: Operation, things: Things): Array<Record<string, unknown>> {
  const example = exampleInput(operation, things);
  return inputFields(inputTypeOf(schema, operation)).flatMap(({ name, type }) => {
    const named = getNamedType(type);
    if (named === GraphQLInt) return [{ ...example, [name]: Number.MAX_SAFE_INTEGER }];
    return isListType(getNullableType(type)) && named === GraphQLString
      ? [{ ...example, [name]: Array.from({ length: 1_001 }, () => "A") }]
      : [];
  });
}

/** The example with some fields replaced by right or wrong values, some left out, and sometimes an unknown field. */
function anyInput(operation: Operation, things: Things): fc.Arbitrary<Record<string, unknown>> {
  const example = exampleInput(operation, things);
  const inUrl = operation.rest.method === "GET";
  const fields = inputFields(inputTypeOf(schema, operation)).map((field) => {
    const inPath = operation.rest.path.includes(`:${snakeCase(field.name)}`);
    const usual = field.name in example ? [fc.constant(example[field.name])] : [fc.constant(undefined)];
    const odd = inPath ? anyText(things).filter(isSayableInPath) : anyValue(field.type, things, inUrl);
    const absent = inPath ? [] : [{ arbitrary: fc.constant(undefined), weight: 1 }];
    return [
      field.name,
      fc.oneof({ arbitrary: usual[0] ?? fc.constant(undefined), weight: 6 }, { arbitrary: odd, weight: 2 }, ...absent),
    ] as const;
  });
  // GraphQL has no place for an unknown field where an operation takes no input.
  const extra =
    inUrl || fields.length === 0
      ? []
      : [["unknownField", fc.oneof({ arbitrary: fc.constant(undefined), weight: 12 }, fc.constant(1))] as const];
  return fc
    .record(Object.fromEntries<fc.Arbitrary<unknown>>([...fields, ...extra]))
    .map((input) =>
      Object.fromEntries(
        Object.entries(input).filter(([, value]) => value !== undefined && !(inUrl && isUnsayable(value))),
      ),
    );
}

/** A URL may have 16 KiB in all, and the path segments "", "." and ".." mean another path. */
const isSayableInPath = (text: string): boolean => text.length < 2_000 && !["", ".", ".."].includes(text);

/** Values that a query string cannot express: null, very long text, a list with one empty item or with a comma in one. */
const isUnsayable = (value: unknown): boolean =>
  value === null ||
  String(value).length > 2_000 ||
  (Array.isArray(value) && (value.join() === "" || value.some((item) => item === null || String(item).includes(","))));

function anyValue(type: GraphQLInputType, things: Things, inUrl: boolean): fc.Arbitrary<unknown> {
  const nullable = getNullableType(type);
  const wrong = inUrl
    ? // A URL cannot distinguish a single text from a list of one.
      fc.constant(isListType(nullable) ? ["not this"] : "not this")
    : fc.oneof(fc.constant(null), fc.boolean(), fc.constant({}), fc.constant([[]]));
  return fc.oneof(
    { arbitrary: rightValue(nullable, things), weight: isNonNullType(type) ? 8 : 6 },
    { arbitrary: wrong, weight: 1 },
  );
}

function rightValue(type: GraphQLInputType, things: Things): fc.Arbitrary<unknown> {
  if (isListType(type)) return fc.array(rightValue(getNullableType(type.ofType), things), { maxLength: 60 });
  const named = getNamedType(type);
  if (isInputObjectType(named)) {
    const fields = inputFields(named).map((field) => [field.name, rightValue(getNullableType(field.type), things)]);
    const all = fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>);
    return fc.oneof(all, fc.constant({}));
  }
  if (isEnumType(named)) return fc.constantFrom(...named.getValues().map(({ value }) => value as unknown));
  if (named === GraphQLInt)
    return fc.oneof(fc.integer({ min: -2, max: 120 }), fc.constantFrom(1_000, 1_001, 2 ** 31, 1.5));
  if (named === GraphQLFloat)
    return fc.oneof(fc.double({ min: -0.1, max: 1.1, noNaN: true }), fc.constantFrom(0, 1, 1e-310));
  if (named === GraphQLBoolean) return fc.boolean();
  if (named === GraphQLID) return anyText(things);
  if (named.name === "JSONObject") {
    return fc.constantFrom<unknown>({}, { project_path: "/a", list: [1, null, "é"] }, { "\0": 1 }, [], "{}", {
      long: "x".repeat(16_384),
    });
  }
  if (named.name === "DateTimeISO") {
    return fc.constantFrom(
      "2026-01-01T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "9999-12-31T23:59:59Z",
      "0000-01-01T00:00:00Z",
      "soon",
      "2026-01-01",
    );
  }
  return anyText(things);
}

const anyText = ({ memories, relationships, keys, teams, users, invitations }: Things): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string({ maxLength: 12, unit: "grapheme" }),
    fc.constantFrom(...memories, ...relationships, ...keys, ...teams, ...users, ...invitations),
    fc.constantFrom(
      "solution",
      "SOLVES",
      "dora@example.com",
      "A title",
      "two three",
      "--force",
      "%",
      "",
      "  ",
      "\u3164",
      "a\u0000b",
      "é",
      "e\u0301",
    ),
    fc.constantFrom(501, 1_001, 50_001).map((length) => "x".repeat(length)),
  );

/** The same input for another user, with that user's objects in place of the first user's. */
function translate(input: Record<string, unknown>, from: Things, to: Things): Record<string, unknown> {
  const pairs = new Map(
    (
      ["memories", "relationships", "keys", "teams", "users", "invitations", "tokens", "addresses", "own"] as const
    ).flatMap((kind) => from[kind].map((id, index): [unknown, unknown] => [id, to[kind][index]])),
  );
  const swap = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(swap);
    if (typeof value !== "object" || value === null) return pairs.get(value) ?? value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, swap(inner)]));
  };
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, swap(value)]));
}
