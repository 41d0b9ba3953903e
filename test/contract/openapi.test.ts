import { readFileSync } from "node:fs";
import { parse as parseQuery } from "node:querystring";
import { isDeepStrictEqual } from "node:util";
import {
  GraphQLID,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isObjectType,
} from "graphql";
import { describe, expect, it } from "vitest";
import { graphqlSchema, operations, relations } from "../../src/operations.js";
import { withinBounds } from "../../src/operation/within-bounds.js";
import { InvalidInput } from "../../src/operation/failure.js";
import { inputReader, inputTypeOf } from "../../src/operation/input.js";
import { type JsonSchema, objectSchema, plainFieldsOf } from "../../src/surfaces/json-schema.js";
import { LIMITS } from "../../src/limits.js";
import { inRestNames, snakeCase } from "../../src/operation/names.js";
import { raisedFailures } from "../../src/failures.js";
import { routesOf } from "../../src/surfaces/plain-errors.js";
import type { Operation } from "../../src/operation/operation.js";
import {
  type Content,
  type Parameter,
  document,
  documentText,
  problemsOf,
  resolved,
  validator,
} from "../support/openapi.js";
import { inputFields, plainNames } from "../support/operations.js";

const schema = await graphqlSchema();
const byName = operations.map((operation) => [operation.name, operation] as const);
const methods = Object.values(document.paths).flatMap((path) => Object.values(path));

describe("the document", () => {
  it("equals test/contract/openapi.json, which `npm run contract` rewrites", () => {
    const committed = readFileSync("test/contract/openapi.json", "utf8");
    expect(documentText, "The REST interface changed. If that is meant, run: npm run contract").toBe(committed);
  });

  it("lets generators name the values of a parameter like no other type", () => {
    const { paths, components } = JSON.parse(documentText) as {
      paths: Record<
        string,
        Record<string, { operationId: string; parameters?: Array<{ name: string; schema: object }> }>
      >;
      components: { schemas: object };
    };
    const described = Object.values(paths).flatMap((path) => Object.values(path));
    const named = described.flatMap(({ operationId, parameters = [] }) =>
      parameters.filter((one) => "enum" in one.schema).map(({ name }) => operationId + name),
    );
    const types = new Set(Object.keys(components.schemas).map((name) => name.toLowerCase()));

    // Orval calls the values of the parameter graph of the operation memory MemoryGraph.
    expect(named.filter((name) => types.has(name.replaceAll("_", "").toLowerCase()))).toEqual([]);
    expect(components.schemas).toHaveProperty("GraphChoice");
  });

  it("writes out the values of each enum once, in a type with its name in GraphQL", () => {
    const { components } = document as { components: { schemas?: Readonly<Record<string, JsonSchema>> } };
    const written = enumsWithin(JSON.parse(documentText));
    const enums = Object.values(schema.getTypeMap()).filter((type) => isEnumType(type));
    const used = enums.filter(({ name }) => !name.startsWith("__"));

    // Generators make a type of each: a scope of a key would be no scope for a new key.
    expect(written.map(String).toSorted()).toEqual([...new Set(written.map(String))].toSorted());
    // Some generators take only texts as values, so null is beside them.
    expect(written.flat().filter((value) => typeof value !== "string")).toEqual([]);
    expect(used.length).toBeGreaterThan(10);
    for (const type of used) {
      expect(components.schemas?.[type.name]?.enum).toEqual(type.getValues().map(({ value }) => value as unknown));
    }
  });

  it("names the fields of every object, or says that it may have any: generators take silence to mean none", () => {
    const isDescribed = (schema: object) =>
      ["properties", "additionalProperties", "allOf"].some((keyword) => keyword in schema);
    const objects = schemasIn(document).filter(({ type }) => [type].flat().includes("object"));

    expect(objects.length).toBeGreaterThan(100);
    expect(objects.filter((schema) => !isDescribed(schema))).toEqual([]);
  });

  it("has every operation, with an example and a subject that is described", () => {
    const expected = operations.flatMap(({ name, rest }) => (rest.alsoMethod ? [name, `${name}ByPut`] : [name]));
    const subjects = document.tags.map(({ name }) => name);

    expect(methods.map(({ operationId }) => operationId).sort()).toEqual(
      [...expected, "exportGraphStream", "healthz", "readyz"].sort(),
    );
    expect(operations.filter(({ example }) => !example).map(({ name }) => name)).toEqual([]);
    const parts = new Set(methods.flatMap(({ tags }) => tags).filter((tag) => !subjects.includes(tag)));
    expect([...parts], "Give these first parts of paths a subject in src/surfaces/subjects.ts.").toEqual([]);
  });

  it("keeps Markdown out of summaries, which are plain text", () => {
    expect(methods.map(({ summary }) => summary).filter((summary) => summary.includes("`"))).toEqual([]);
  });

  it("writes out each body where it is sent: some generators follow no reference there, and send no Content-Type", () => {
    const bodies = methods.flatMap(({ operationId, requestBody }) =>
      requestBody ? [{ operationId, requestBody }] : [],
    );

    expect(bodies.length).toBeGreaterThan(20);
    for (const { operationId, requestBody } of bodies) {
      expect([operationId, Object.keys(requestBody.content ?? {})]).toEqual([operationId, ["application/json"]]);
    }
  });

  it("puts required fields first in every body, example and query", () => {
    for (const { parameters = [], requestBody = {} } of methods) {
      const json = resolved(requestBody).content?.["application/json"];
      const { properties = {}, required = [] } = (json?.schema ?? {}) as { properties?: object; required?: string[] };
      for (const names of [Object.keys(properties), Object.keys(json?.example ?? {})]) {
        expect(names.slice(0, required.length).toSorted()).toEqual(names.length > 0 ? required.toSorted() : []);
      }
      const isRequired = parameters.filter((parameter) => parameter.in === "query").map((each) => each.required);
      expect(isRequired).toEqual(isRequired.toSorted((one, other) => Number(other) - Number(one)));
    }
  });

  it("tells every budget per minute, and how to send a key", () => {
    const { description } = document.info;
    for (const [plan, limit] of Object.entries(LIMITS.budgets.requestsByPlan)) {
      expect(description).toContain(`${limit.toLocaleString("en")} (plan \`${plan}\`)`);
    }
    expect(document.components["securitySchemes"]?.["apiKey"]).toHaveProperty(
      "description",
      expect.stringMatching(/^The key alone/),
    );
  });

  it("names operations by method and path, and enum values as REST has them, never as in GraphQL or of a tool", () => {
    const names = operations.flatMap(({ name }) => [name, snakeCase(name)]).filter((name) => /[A-Z_]/.test(name));
    const choices = Object.values(schema.getTypeMap()).flatMap((type) =>
      isEnumType(type) && !type.name.startsWith("__") ? type.getValues().map(({ name }) => name) : [],
    );
    const told = Array.from(documentText.matchAll(/"(?:summary|description)": ("(?:[^"\\]|\\.)*")/g), ([, text = ""]) =>
      String(JSON.parse(text)),
    );

    expect(told.length).toBeGreaterThan(500);
    expect(told.filter((text) => names.some((name) => text.includes(`\`${name}\``)))).toEqual([]);
    expect(told.filter((text) => text.split(/\W+/).some((word) => choices.includes(word)))).toEqual([]);
  });

  it("tells the scopes that each path needs, and the headers that report the rest of the budget", () => {
    const withKey = methods.filter(({ tags }) => !tags.includes("Health"));
    for (const { operationId, security, description = "", responses } of withKey) {
      const [done = {}] = Object.entries(responses).flatMap(([status, answer]) =>
        status.startsWith("2") ? [answer] : [],
      );
      const [{ apiKey = [] } = {}] = security ?? [];
      const isToldOf = (scope: string) => description.includes(`\`${scope}\``) || description.includes("every scope");

      expect([operationId, apiKey.filter((scope) => !isToldOf(scope))]).toEqual([operationId, []]);
      expect([operationId, Object.keys(resolved(done).headers ?? {})]).toEqual([
        operationId,
        expect.arrayContaining(["RateLimit", "RateLimit-Policy"]),
      ]);
    }
  });

  it("keeps fields and enum values apart from operations of the same name", () => {
    const choices = Object.values(schema.getTypeMap()).flatMap((type) =>
      isEnumType(type) ? type.getValues().map(({ value }) => String(value)) : [],
    );
    const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
      isObjectType(type) && !["Query", "Mutation"].includes(type.name) ? Object.keys(type.getFields()) : [],
    );
    const ambiguous = operations.map(({ name }) => name).filter((name) => [...choices, ...fields].includes(name));
    const told = operations.map(({ name, summary, notes }) => [name, `${summary} ${notes}`] as const);

    expect(ambiguous).toEqual(expect.arrayContaining(["memory", "team"]));
    expect(told.filter(([, text]) => ambiguous.some((name) => text.includes(`\`${name}\``)))).toEqual([]);
  });

  it("gives only examples that fit their own schemas", () => {
    const messages = methods.flatMap(({ requestBody, responses }) => [requestBody ?? {}, ...Object.values(responses)]);
    const contents = messages.map((message) => resolved(message).content?.["application/json"]);
    const shown = [
      ...methods.flatMap(({ parameters = [] }) => parameters),
      ...contents.filter((content) => content !== undefined),
    ].flatMap((part) => examplesOf(part).map((example) => ({ example, validate: validator(part.schema) })));

    expect(shown.length).toBeGreaterThan(200);
    expect(shown.flatMap(({ example, validate }) => problemsOf(validate, example))).toEqual([]);
  });
});

describe.each(byName.filter(([, { notes }]) => notes !== undefined))("the notes of %s", (name, operation) => {
  const notes = operation.notes ?? "";
  const quoted = Array.from(notes.matchAll(/`([A-Za-z][A-Za-z_]+)`/g), ([, word = ""]) => word);

  it("name only what exists", () => {
    const reasons = raisedFailures(operations, relations).map(({ failure }) => failure.reason);
    const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
      isObjectType(type) || isInputObjectType(type) ? Object.keys(type.getFields()) : [],
    );
    const inputs = operations.flatMap((each) => inputFields(inputTypeOf(schema, each)).map((field) => field.name));
    const STRIPE_STATUSES = ["active", "trialing", "incomplete", "past_due", "unpaid", "paused"];
    const DOORS = ["billing"];
    const plans = Object.keys(LIMITS.budgets.requestsByPlan);
    const known = [reasons, fields, inputs, STRIPE_STATUSES, DOORS, plans].flat();

    expect(quoted.filter((word) => !known.includes(word))).toEqual([]);
  });

  it("appear in the description at both doors, with each door's names", () => {
    const root = operation.kind === "query" ? schema.getQueryType() : schema.getMutationType();
    expect(root?.getFields()[name]?.description).toContain(`\n\n${notes}`);

    const told = methods.filter(({ operationId }) => operationId === name || operationId === `${name}ByPut`);
    const methodsOfRest = operation.rest.alsoMethod ? 2 : 1;
    expect(told).toHaveLength(methodsOfRest);
    for (const { description = "" } of told) {
      expect(description.startsWith(inRestNames(notes, routesOf(operations)))).toBe(true);
      expect(description).not.toMatch(/`[a-z]+[A-Z]/);
    }
  });
});

describe.each(byName)("the input that the document allows for %s", (_name, operation) => {
  const fields = inputFields(inputTypeOf(schema, operation));
  const validate = validator(objectSchema(plainFieldsOf(inputTypeOf(schema, operation), operation.input)));
  const example = JSON.parse(JSON.stringify(plainNames(operation.example?.input ?? {}))) as Readonly<
    Record<string, unknown>
  >;
  const verdicts = (input: object) => ({ input, document: validate(input), service: accepts(operation, input) });

  it("is exactly what the service accepts", () => {
    const whole = verdicts(example);
    const without = fields.map(({ name }) => verdicts({ ...example, [snakeCase(name)]: undefined }));
    const others = fields.flatMap((field) =>
      VALUES.filter((value) => !isTakenLeniently(field.type, value)).map((value) =>
        verdicts({ ...example, [snakeCase(field.name)]: value }),
      ),
    );
    const all = [whole, ...without, ...others, verdicts({ ...example, unknown_field: 1 })];

    expect(whole).toMatchObject({ document: true, service: true });
    // The document does not say what a cursor encodes, so the service refuses more of them.
    const isOpaque = (input: object) => "cursor" in input;
    expect(
      all.filter(({ input, document: allowed, service }) => allowed !== service && !(allowed && isOpaque(input))),
    ).toEqual([]);
    if (fields.length > 0) expect(new Set(others.map(({ service }) => service))).toEqual(new Set([true, false]));
  });
});

const withQuery = methods.flatMap(({ operationId, parameters = [] }) => {
  const operation = operations.find(({ name }) => name === operationId);
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  return operation && inQuery.length > 0 ? [[operationId, operation, inQuery] as const] : [];
});

describe.each(withQuery)("the query string that the document allows for %s", (_name, operation, parameters) => {
  const read = inputReader(inputTypeOf(schema, operation), operation);
  const path = Object.fromEntries(Array.from(operation.rest.path.matchAll(/:(\w+)/g), ([, name = ""]) => [name, "id"]));
  const needed = Object.fromEntries(parameters.filter(({ required }) => required).map(({ name }) => [name, "needed"]));

  it("is read as the values that a client writes into it", () => {
    const written = parameters.flatMap((parameter) => {
      const isAllowed = validator(parameter.schema);
      return QUERY_VALUES.filter((value) => isAllowed(value)).map((value) => ({ parameter, value }));
    });
    const differing = written.filter(({ parameter, value }) => {
      const { [parameter.name]: _same, ...others } = needed;
      const query = parseQuery(`${new URLSearchParams(others)}&${queryPart(parameter, value)}`);
      const meant = read({ path, query: {}, body: { ...others, [parameter.name]: value } });
      return !isDeepStrictEqual(read({ path, query, body: undefined }), meant);
    });

    expect(written.length).toBeGreaterThan(0);
    expect(differing).toEqual([]);
  });
});

/** A parameter in a query string, as OpenAPI's style `form` writes it. */
function queryPart({ name, explode = true }: Parameter, value: unknown): string {
  const items = [value].flat().map((item) => encodeURIComponent(String(item)));
  return explode ? items.map((item) => `${name}=${item}`).join("&") : `${name}=${items.join()}`;
}

const examplesOf = ({ example, examples = {} }: Partial<Content>): unknown[] =>
  [example, ...Object.values(examples).map(({ value }) => value)].filter((value) => value !== undefined);

/** Whether the service can read the input and finds it within bounds. */
function accepts(operation: Operation, input: object): boolean {
  const body = JSON.parse(JSON.stringify(input)) as unknown;
  try {
    withinBounds(inputReader(inputTypeOf(schema, operation), operation)({ path: {}, query: {}, body }));
    return true;
  } catch (error) {
    if (error instanceof InvalidInput) return false;
    throw error;
  }
}

const LENGTHS = [1, 2, 50, 51, 100, 101, 200, 201, 500, 501, 1_000, 1_001, 50_000, 50_001];
/** Values at and around every bound. Characters outside the BMP distinguish code points from UTF-16 units. */
const VALUES: readonly unknown[] = [
  [null, true, {}, [], [null], [1], [[]], "", " ", "\n", " x"],
  [-1, -0.1, 0, 0.5, 1, 1.1, 1.5, 5, 6, 7, 20, 100, 101, 1_000, 1_001, 604_800, 604_801, 2 ** 31 - 1, 2 ** 31],
  LENGTHS.flatMap((length) => ["x".repeat(length), "😀".repeat(length)]),
  LENGTHS.slice(0, 10).flatMap((length) => [["x".repeat(length)], Array.from({ length }, () => "X")]),
  ["personal", "PERSONAL", "team", "any", "in", "out", "code_pattern", "Code", "_x", "SOLVES", "solves", "SOLVES "],
  ["memories:read", "MEMORIES_READ"].flatMap((scope) => [scope, [scope], [scope, scope]]),
  ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+01:00", "2026-01-01", "2026-13-01T00:00:00Z", "soon"],
].flat();

/** Also signs that have a meaning in query strings. */
const QUERY_VALUES = [...VALUES, "a&b=c+d%20#,é", ["a&b=c", "+%2C#é"], ["a,b"], [""]];

/** GraphQL takes an integer as an id and a single item as a list of one; the document does not suggest it. */
function isTakenLeniently(type: Parameters<typeof getNamedType>[0], value: unknown): boolean {
  if (getNamedType(type) === GraphQLID && typeof value === "number") return true;
  return isListType(getNullableType(type)) && !Array.isArray(value) && value !== null;
}

/** The values of every enum that a part of the document writes out. */
function enumsWithin(part: unknown): ReadonlyArray<readonly unknown[]> {
  if (typeof part !== "object" || part === null) return [];
  const own = "enum" in part && Array.isArray(part.enum) ? [part.enum as readonly unknown[]] : [];
  return [...own, ...Object.values(part).flatMap(enumsWithin)];
}

/** Every schema in a part of the document. What examples contain is left out. */
function schemasIn(part: unknown): JsonSchema[] {
  if (typeof part !== "object" || part === null) return [];
  const inner = Object.entries(part).flatMap(([name, value]) => (/^examples?$/.test(name) ? [] : schemasIn(value)));
  return [...("type" in part ? [part as JsonSchema] : []), ...inner];
}
