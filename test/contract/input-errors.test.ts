import { billingByPage } from "../../src/features/billing/index.js";
import { teamsByPage } from "../../src/features/teams/index.js";
import {
  type GraphQLArgument,
  GraphQLError,
  type GraphQLInputField,
  type GraphQLInputType,
  type OperationDefinitionNode,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
  parse,
  specifiedRules,
  validate,
} from "graphql";
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { graphqlSchema, operations, relations } from "../../src/operations.js";
import { raisedFailures } from "../../src/failures.js";
import { withinBounds } from "../../src/operation/within-bounds.js";
import { FAILURE_KINDS, InvalidInput, type InputIssue, examplesOf } from "../../src/operation/failure.js";
import { inputReader, inputTypeOf } from "../../src/operation/input.js";
import { snakeCase } from "../../src/operation/names.js";
import { type Operation, takesBody } from "../../src/operation/operation.js";
import { isAtLeast } from "../../src/operation/standing.js";
import { explain } from "../../src/surfaces/graphql/literals.js";
import { assertVariablesFit } from "../../src/surfaces/graphql/variables.js";
import { problemNote } from "../../src/surfaces/pages/forms.js";
import { restError, routesOf } from "../../src/surfaces/plain-errors.js";

import { named, operationNamed } from "../support/operations.js";

const schema = await graphqlSchema();

/** One way to get a field wrong: the value sent, and what the error says about it. */
interface Mistake {
  readonly sent: unknown;
  readonly literal: string | undefined;
  readonly rest: string | RegExp;
  readonly graphql: string | RegExp;
}

const alike = (sent: unknown, literal: string | undefined, said: string | RegExp): Mistake => ({
  sent,
  literal,
  rest: said,
  graphql: said,
});

function mistakesWith(field: GraphQLInputField): Mistake[] {
  const type: GraphQLInputType = getNullableType(field.type);
  const required = isRequiredInputField(field)
    ? [alike(undefined, undefined, "is required"), alike(null, "null", "must not be null")]
    : [];
  if (isListType(type))
    return [...required, alike({}, "{}", "must be a list"), alike("one", '"one"', "must be a list")];
  const named = getNamedType(type);
  if (isEnumType(named)) {
    const choices = named.getValues();
    const oneOf = (texts: unknown[]) => `must be one of ${texts.join(", ")}`;
    const said = {
      rest: oneOf(choices.map(({ value }) => value as unknown)),
      graphql: oneOf(choices.map(({ name }) => name)),
    };
    return [...required, { sent: "Neither", literal: "Neither", ...said }, { sent: {}, literal: "{}", ...said }];
  }
  if (named.name === "JSONObject") return [...required, alike([], "[]", "must be a JSON object")];
  return [...required, alike({}, "{}", /^must be (a string|a number|a whole number|true or false|a time)/)];
}

/** What REST says of the operation's example input with this value in one field, or in an additional one. */
function issuesByRest(operation: Operation, name: string, sent: unknown): readonly InputIssue[] {
  const input = { ...operation.example?.input, [name]: sent };
  const plain = Object.fromEntries(Object.entries(input).map(([key, value]) => [snakeCase(key), value]));
  const raw = { path: {}, query: {}, body: JSON.parse(JSON.stringify(plain)) as object };
  return issuesOf(() => inputReader(inputTypeOf(schema, operation), operation)(raw));
}

const argumentsOf = ({ kind, name }: Operation) =>
  (kind === "query" ? schema.getQueryType() : schema.getMutationType())?.getFields()[name]?.args ?? [];

/** The same by GraphQL, with variables whose names differ from the fields'. */
function issuesByVariables(operation: Operation, name: string, sent: unknown): readonly InputIssue[] {
  const example = named({ ...operation.example?.input }, inputTypeOf(schema, operation));
  const input = JSON.parse(JSON.stringify({ ...example, [name]: sent })) as Record<string, unknown>;
  // A missing variable is a mistake of its own, and only the first few mistakes are reported.
  const isNeeded = (arg: GraphQLArgument) => arg.name in input || isRequiredArgument(arg);
  const args = argumentsOf(operation).filter((arg) => operation.kind === "mutation" || isNeeded(arg));
  const variables = args.map((arg, index) => `$v${index}: ${String(arg.type)}`).join(", ");
  const given = args.map((arg, index) => `${arg.name}: $v${index}`).join(", ");
  const document = parse(`${operation.kind}(${variables}) { ${operation.name}(${given}) { __typename } }`);
  const values =
    operation.kind === "mutation"
      ? { v0: input }
      : Object.fromEntries(args.flatMap((arg, index) => (arg.name in input ? [[`v${index}`, input[arg.name]]] : [])));
  const [definition] = document.definitions as OperationDefinitionNode[];
  return issuesOf(() => definition && assertVariablesFit(schema, { document, operation: definition, given: values }));
}

/** The same with the values written in the document itself. */
function issuesByLiterals(operation: Operation, name: string, literal: string | undefined): readonly InputIssue[] {
  const given = literal === undefined ? "" : `${name}: ${literal}`;
  const args = operation.kind === "mutation" ? `(input: { ${given} })` : given && `(${given})`;
  const document = parse(`${operation.kind} { ${operation.name}${args} { __typename } }`);
  const errors = explain(schema, document, validate(schema, document, specifiedRules));
  // No message is in the library's own words, and none appears twice.
  expect(errors.filter((error) => error.extensions["details"] === undefined)).toEqual([]);
  return errors.flatMap((error) => error.extensions["details"] as InputIssue[]);
}

function issuesOf(read: () => unknown): readonly InputIssue[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.details;
    throw error;
  }
}

const said = (issues: readonly InputIssue[], path: string) => issues.find((issue) => issue.path === path)?.message;
const as = (words: string | RegExp) => (typeof words === "string" ? words : (expect.stringMatching(words) as string));

const withInput = operations.filter((operation) => Object.keys(inputTypeOf(schema, operation).getFields()).length > 0);

it("lets a variable be null that only another operation needs, or a field that may be left out", () => {
  const document = parse(`
    query Own($v: Int) { ...Limited }
    query Other($v: String) { memories(cursor: $v) { __typename } }
    query Skipped($v: Int, $no: Boolean!) { memories(limit: $v) @skip(if: $no) { __typename } }
    query Spread($v: Int, $no: Boolean!) { ...Limited @skip(if: $no) }
    query Inline($v: Int, $no: Boolean!) { ... @skip(if: $no) { memories(limit: $v) { __typename } } }
    fragment Limited on Query { memories(limit: $v) { __typename } }`);
  const issuesByName = Object.fromEntries(
    (document.definitions as OperationDefinitionNode[]).slice(0, 5).map((operation) => {
      const request = { document, operation, given: { v: null, no: true } };
      return [operation.name?.value, issuesOf(() => assertVariablesFit(schema, request))];
    }),
  );

  const own = [{ path: "limit", message: "must not be null" }];
  expect(issuesByName).toEqual({ Own: own, Other: [], Skipped: [], Spread: [], Inline: [] });
});

describe.each(withInput.map((operation) => [operation.name, operation] as const))("%s", (_name, operation) => {
  const fields = Object.values(inputTypeOf(schema, operation).getFields());

  it("says what is wrong with each field, in the door's own names and words", () => {
    for (const field of fields) {
      for (const { sent, literal, rest, graphql } of mistakesWith(field)) {
        const what = `${field.name}: ${literal ?? "missing"}`;
        expect([what, said(issuesByRest(operation, field.name, sent), snakeCase(field.name))]).toEqual([
          what,
          as(rest),
        ]);
        const byVariables = issuesByVariables(operation, field.name, sent);
        expect([what, said(byVariables, field.name)]).toEqual([what, as(graphql)]);
        expect([what, said(issuesByLiterals(operation, field.name, literal), field.name)]).toEqual([what, as(graphql)]);
      }
    }
  });

  it("refuses a number as an id and a single value as a list at every door", () => {
    for (const field of fields) {
      const isList = isListType(getNullableType(field.type));
      if (getNamedType(field.type).name !== "ID") continue;
      const [sent, literal, at] = isList ? [[7], "[7]", ".0"] : [7, "7", ""];
      const refused = [
        said(issuesByRest(operation, field.name, sent), snakeCase(field.name) + at),
        said(issuesByVariables(operation, field.name, sent), field.name + at),
        said(issuesByLiterals(operation, field.name, literal), field.name + at),
      ];
      expect([field.name, ...refused]).toEqual([field.name, ...refused.map(() => "must be a string")]);
    }
  });

  it("names the field for which a variable is null that may be null elsewhere", () => {
    for (const { name, type } of fields.filter((field) => isNonNullType(field.type))) {
      const given = `${name}: $v`;
      const args = operation.kind === "mutation" ? `input: { ${given} }` : given;
      const variable = `$v: ${String(getNullableType(type))}`;
      const document = parse(`${operation.kind}(${variable}) { ${operation.name}(${args}) { __typename } }`);
      const [definition] = document.definitions as OperationDefinitionNode[];
      const fits = (v?: null) => () =>
        definition && assertVariablesFit(schema, { document, operation: definition, given: v === null ? { v } : {} });

      expect(issuesOf(fits(null))).toEqual([{ path: name, message: "must not be null" }]);
      expect(issuesOf(fits())).toEqual([]);
    }
  });

  it("says of null in a field that can only be left out that it must not be null", () => {
    for (const { name } of fields.filter((field) => !isNonNullType(field.type))) {
      const input = Object.assign(new operation.input(), { [name]: null });

      const issues = issuesOf(() => withinBounds(input));
      expect(issues).toEqual(issues.map(() => ({ path: name, message: "must not be null" })));
    }
  });

  it("says of a number that the field's type cannot hold which numbers the field takes, at every door", () => {
    const beyond = { Int: [2 ** 31, -(2 ** 31) - 1, 1e30, Infinity, -Infinity], Float: [Infinity, -Infinity] };
    for (const { name, type } of fields) {
      for (const sent of beyond[getNamedType(type).name as keyof typeof beyond] ?? []) {
        const outside = Object.assign(new operation.input(), { [name]: -1e9 });
        const message = said(
          issuesOf(() => withinBounds(outside)),
          name,
        );
        expect([name, message]).toEqual([name, expect.stringMatching(/^must be from [01] to \d+\b/)]);
        const raw = { path: {}, query: {}, body: { [snakeCase(name)]: sent } };
        const byRest = issuesOf(() => inputReader(inputTypeOf(schema, operation), operation)(raw));
        const literal = String(sent).replace("Infinity", "1e400").replace("+", "");

        expect([name, said(byRest, snakeCase(name))]).toEqual([name, message]);
        expect([name, said(issuesByLiterals(operation, name, literal), name)]).toEqual([name, message]);
        if (Number.isFinite(sent)) {
          expect([name, said(issuesByVariables(operation, name, sent), name)]).toEqual([name, message]);
        }
      }
    }
  });

  it("groups the digits of a limit, as the documentation does", () => {
    for (const { name } of fields.filter(({ type }) => !isInputObjectType(getNamedType(type)))) {
      for (const beyond of ["x".repeat(100_000), -1e9, Array.from({ length: 100_000 }, () => "x")]) {
        const message = said(
          issuesOf(() => withinBounds(Object.assign(new operation.input(), { [name]: beyond }))),
          name,
        );
        expect([name, message ?? ""]).toEqual([
          name,
          expect.not.stringMatching(/\d{4} (?:characters|items)|from \d+ to \d{4}/),
        ]);
      }
    }
  });

  it("says the same of a variable that is only that field of an input", () => {
    for (const { name } of fields.filter(({ type }) => getNamedType(type).name === "Int")) {
      const given = operation.kind === "mutation" ? `input: { ${name}: $v }` : `${name}: $v`;
      const document = parse(`${operation.kind}($v: Int!) { ${operation.name}(${given}) { __typename } }`);
      const [definition] = document.definitions as OperationDefinitionNode[];
      const read = () =>
        definition && assertVariablesFit(schema, { document, operation: definition, given: { v: 1e30 } });

      const message = expect.stringMatching(/^must be from [01] to \d+\b/) as string;
      expect(issuesOf(read)).toEqual([{ path: name, message }]);
    }
  });

  it("says of a fraction in a document, even one without a rest, that the number must be whole", () => {
    for (const { name } of fields.filter(({ type }) => getNamedType(type).name === "Int")) {
      expect([name, said(issuesByLiterals(operation, name, "5.0"), name)]).toEqual([name, "must be a whole number"]);
    }
  });

  it("refuses a name in a JSON object of a document, which would be stored as null", () => {
    for (const { name } of fields.filter(({ type }) => getNullableType(type).toString() === "JSONObject")) {
      const issues = issuesByLiterals(operation, name, "{ a: NAME, b: [1, { c: NAME }], d: null, e: true }");

      const message = "must be JSON: write a text in quotes";
      const places = issues.filter((issue) => issue.path.startsWith(name));
      expect(places).toEqual([".a", ".b.1.c"].map((place) => ({ path: name + place, message })));
    }
  });

  it("says that a field without a name is unknown", () => {
    const [issue] = issuesByRest(operation, "", "x");

    expect(issue?.message).toMatch(/^a field without a name is unknown; known (?:is|are) /);
  });

  it("is named by its route in the message of a refusal and in the details", () => {
    const failure = InvalidInput.at("maxMembers", `is too large; \`${operation.name}\` takes more`);
    const { error } = restError(failure, routesOf(operations)) as { error: { message: string; details: InputIssue[] } };

    expect(error.details.map(({ path, message }) => `${path}: ${message}`)).toEqual([error.message]);
    expect(error.message).toContain(operation.rest.path.split("/:")[0]);
  });

  it("names unknown fields, and lists the known ones", () => {
    const known = fields.map(({ name }) => name);
    const areKnown = `is unknown; known ${known.length === 1 ? "is" : "are"} `;
    const byRest = issuesByRest(operation, "unheardOf", 1);
    expect(said(byRest, "unheard_of")).toBe(areKnown + known.map(snakeCase).join(", "));
    expect(said(issuesByLiterals(operation, "unheardOf", "1"), "unheardOf")).toBe(areKnown + known.join(", "));
    if (operation.kind === "query") return;
    expect(said(issuesByVariables(operation, "unheardOf", 1), "unheardOf")).toBe(areKnown + known.join(", "));
  });

  it("reads only the graph from the query string when there is a body", () => {
    for (const { name } of takesBody(operation.rest) ? fields : []) {
      const raw = { path: {}, query: { [snakeCase(name)]: "x" }, body: {} };
      const issues = issuesOf(() => inputReader(inputTypeOf(schema, operation), operation)(raw));
      const refused = "belongs in the body, not in the query";
      expect([name, said(issues, snakeCase(name)) === refused]).toEqual([name, name !== "graph"]);
    }
  });
});

const failures = raisedFailures(operations, relations).map(({ failure }) => failure);

describe("messages", () => {
  it("cover every class of failures", () => {
    const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
    const declared = files.flatMap((path) =>
      Array.from(
        readFileSync(`src/${path}`, "utf8").matchAll(
          /(?<!abstract )class (\w+) extends (?:CommonFailure|Failure|TeamNotFound|RoleTooSmall) /g,
        ),
        ([, name]) => name,
      ),
    );
    const told = new Set(failures.map(({ constructor }) => constructor.name));
    const missing = declared.filter((name) => name !== "CommonFailure" && !told.has(name ?? ""));
    expect(missing, "Name it in `failures` of an operation that raises it, or in src/failures.ts.").toEqual([]);
  });

  const routes = routesOf(operations);
  const names = new Set([
    ...operations.map(({ name }) => name),
    ...Object.values(schema.getTypeMap()).flatMap((type) =>
      "getFields" in type
        ? Object.values(type.getFields()).flatMap((field) => [
            field.name,
            ...("args" in field ? field.args.map((arg: GraphQLArgument) => arg.name) : []),
          ])
        : [],
    ),
  ]);

  const sentences = failures.filter((failure) => !(failure instanceof InvalidInput));
  it.each(sentences.map((failure) => [failure.constructor.name, failure] as const))(
    "%s is made of sentences, names only what exists, and uses each door's names",
    (_name, failure) => {
      expect(FAILURE_KINDS).toContain(failure.kind);
      expect(failure.message).toMatch(/^[A-Z0-9].*[.]$/s);
      expect(failure.message).not.toMatch(/\d{4}(?!-)/);
      for (const [, quoted = ""] of failure.message.matchAll(/`([a-z]\w+)`/g)) expect([...names]).toContain(quoted);
      // Names are in backticks, so that each door can write them in its own form.
      expect(failure.message.replaceAll(/`[^`]*`/g, "")).not.toMatch(/\b[a-z]+[A-Z]\w*|\b[a-z]+_[a-z]+/);
      const { error } = restError(failure, routes);
      expect(error.message).not.toMatch(/`[a-z]+[A-Z]\w*`/);
      expect(error instanceof GraphQLError).toBe(false);
    },
  );

  it("say who may do what they advise, where the reader may be another", () => {
    const roleFor = new Map(operations.map(({ name, team }) => [name, team?.role] as const));
    const silent = operations.flatMap(({ name, team, failures }) =>
      failures.flatMap(examplesOf).flatMap(({ message }) =>
        Array.from(message.matchAll(/`([a-z]\w+)`/g), ([, advised = ""]) => roleFor.get(advised))
          .filter((role) => role && role !== "member" && !(team && isAtLeast(team.role, role)))
          .filter(
            (role) => !new RegExp(`\\b${role === "owner" ? "owner" : "owner|admins|the team can"}\\b`).test(message),
          )
          .map(() => `${name}: ${message}`),
      ),
    );
    expect([...new Set(silent)]).toEqual([]);
  });

  it("name no operation on a page, whose reader is no program", () => {
    const onPages = [
      "signUp",
      "confirmSignUp",
      "acceptInvitation",
      "declineInvitation",
      "invitation",
      "invitationById",
      "mailInvitation",
      ...Object.keys({ ...teamsByPage, ...billingByPage }).filter((name) => !/^(?:is|may)[A-Z]/.test(name)),
    ];
    const shown = onPages
      .flatMap((name) => operationNamed(name).failures.flatMap(examplesOf))
      .map((failure) => problemNote(failure)?.text ?? "");
    expect(shown.length).toBeGreaterThan(10);
    expect(shown.filter((text) => /\b[a-z]+[A-Z]/.test(text))).toEqual([]);
    // A message of which only sentences for programs are left says nothing to people.
    expect(shown.filter((text) => /^<[^>]+>\s*</.test(text))).toEqual([]);
  });
});
