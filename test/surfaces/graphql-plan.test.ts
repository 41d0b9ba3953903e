import fc from "fast-check";
import {
  GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  buildSchema,
  execute,
  getOperationAST,
  parse,
} from "graphql";
import { expect, it, vi } from "vitest";
import { AnswerBudget } from "../../src/operation/answer-budget.js";
import { Failure } from "../../src/operation/failure.js";
import type { RequestContext } from "../../src/surfaces/graphql/context.js";
import { executePlan } from "../../src/surfaces/graphql/execute-plan.js";
import { FieldErrors } from "../../src/surfaces/graphql/field-errors.js";
import { planOf } from "../../src/surfaces/graphql/plan.js";
import { resolvePlainField } from "../../src/surfaces/graphql/schema.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const NODE = "text: String  must: String!  number: Int!  texts: [String!]  maybe: [Int]  one: Node  sure: Node!";
// No item that may wait is in a list that may not have null: graphql-js forgets its promise when another item fails.
const LISTS = "plain: [Plain!]  gaps: [Node]  all: [Node]!  later: Node  laterAll: [Node]  given(value: Int = 3): Int";
const SCHEMA = `
  type Query { ${NODE} ${LISTS} }
  type Mutation { ${NODE} ${LISTS} }
  type Node { ${NODE} ${LISTS} }
  type Plain { text: String  must: String!  number: Int! }
  union Either = Node
  extend type Query { either: Either }`;

class NotHere extends Failure {
  readonly kind = "not_found";
}

/** Fields that resolvers answer, at once or later; all others are read from their object. */
function schemaWithResolvers(): GraphQLSchema {
  const schema = buildSchema(SCHEMA);
  for (const name of ["Query", "Mutation", "Node"]) {
    const fields = (schema.getType(name) as GraphQLObjectType).getFields();
    const read = (source: unknown, field: string) => (source as Record<string, unknown> | undefined)?.[field] ?? null;
    const wait = async (source: unknown, field: string) => {
      const value = read(source, field);
      await Promise.resolve();
      if (value instanceof NotHere) throw value;
      return value;
    };
    Object.assign(fields["later"] ?? {}, { resolve: (source: unknown) => wait(source, "later") });
    Object.assign(fields["laterAll"] ?? {}, { resolve: (source: unknown) => wait(source, "laterAll") });
    Object.assign(fields["given"] ?? {}, { resolve: (_source: unknown, { value }: { value: number }) => value });
    if (name === "Node") continue;
    for (const field of Object.values(fields)) field.resolve ??= () => read(rootOf.get(schema), field.name);
  }
  return schema;
}
const rootOf = new WeakMap<GraphQLSchema, object>();

const PLAIN = "plain { must text number }";
const leaf = fc.constantFrom(
  "text",
  "must",
  "number",
  "texts",
  "maybe",
  "given",
  "given(value: 5)",
  "__typename",
  PLAIN,
);
const branch = fc.constantFrom("one", "sure", "gaps", "all", "later", "laterAll");
const alias = fc.constantFrom("", "", "", "a: ", "b: ");
const condition = fc.oneof(
  { weight: 5, arbitrary: fc.constant("") },
  fc
    .tuple(fc.constantFrom("skip", "include"), fc.constantFrom("$is", "$not", "$maybe", "true", "false"))
    .map(([name, value]) => ` @${name}(if: ${value})`),
);
const { selection } = fc.letrec<{ selection: string; set: string }>((tie) => ({
  selection: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.tuple(alias, leaf, condition).map(([name, field, when]) => {
      const [called = "", set] = field.split(" {");
      return set === undefined ? `${name}${called}${when}` : `${name}${called}${when} {${set}`;
    }),
    fc.tuple(alias, branch, condition, tie("set")).map((parts) => parts.join("")),
    fc.tuple(condition, tie("set")).map(([when, set]) => `... on Node${when} ${set}`),
    condition.map((when) => `...Some${when}`),
  ),
  set: fc.array(tie("selection"), { minLength: 1, maxLength: 4 }).map((all) => ` { ${all.join(" ")} }`),
}));

/** A value of any field, right or wrong: also null, errors, promises and too much. */
const { node } = fc.letrec<{ node: object }>((tie) => {
  const short = fc.constantFrom<unknown>("a", "b", "c", null, 7, {}, new NotHere("gone"));
  const text = fc.oneof({ weight: 40, arbitrary: short }, { weight: 1, arbitrary: fc.constant("x".repeat(3_000_000)) });
  const mayFail = (value: fc.Arbitrary<unknown>) => fc.oneof({ weight: 6, arbitrary: value }, text);
  const inner = fc.oneof({ maxDepth: 3 }, fc.constant(null), tie("node"));
  // Some are longer than what is completed in one turn of the event loop.
  const length = fc.oneof(
    { weight: 6, arbitrary: fc.nat(3) },
    { weight: 1, arbitrary: fc.integer({ min: 16, max: 40 }) },
  );
  const list = fc
    .tuple(fc.array(inner, { minLength: 1, maxLength: 3 }), length, fc.nat(40), inner)
    .map(([some, count, place, other]) =>
      Array.from({ length: count }, (_, index) => (index === place ? other : some[index % some.length])),
    );
  return {
    node: fc.record({
      text,
      must: text,
      number: mayFail(fc.nat(9)),
      texts: mayFail(fc.array(fc.constantFrom("t", null))),
      maybe: mayFail(fc.array(fc.constantFrom(1, null, "no"))),
      one: inner,
      sure: inner,
      gaps: mayFail(list),
      all: list,
      plain: list,
      later: mayFail(inner),
      laterAll: mayFail(list),
    }),
  };
});

const contextOf = (): RequestContext =>
  ({
    answer: new AnswerBudget(),
    errors: new FieldErrors(),
    pause: () => new Promise((resume) => setImmediate(resume)),
  }) as Partial<RequestContext> as RequestContext;

/** What a client sees of a result: each error once, since a full answer repeats one. */
const shown = (
  { data, errors = [] }: { data?: unknown; errors?: readonly object[] },
  { errors: seen }: RequestContext,
) => JSON.stringify({ data, errors: [...new Set(errors)], roots: [...seen.rootsWithoutRoom] });

it("executes a plan with the same result as graphql-js, also of wrong values, errors and too large answers", async () => {
  const schema = schemaWithResolvers();
  let planned = 0;
  const property = fc.asyncProperty(
    fc.constantFrom("query", "mutation"),
    fc.array(selection, { minLength: 1, maxLength: 4 }),
    node,
    fc.array(fc.record({ is: fc.boolean(), not: fc.boolean(), maybe: fc.constantFrom(true, null) }), {
      minLength: 1,
      maxLength: 3,
    }),
    async (kind, selections, root, allVariables) => {
      const roots = selections.filter((one) => !one.startsWith("..."));
      const document = parse(`
        ${kind} A($is: Boolean!, $not: Boolean!, $maybe: Boolean = false) { ${roots.join(" ") || "text"} }
        ${kind} B($is: Boolean!, $not: Boolean!, $maybe: Boolean = false) { text ${roots[0] ?? "number"} }
        fragment Some on Node { text later @skip(if: $not) { must } }`);
      rootOf.set(schema, root);
      for (const variableValues of allVariables) {
        for (const operationName of ["A", "B"]) {
          const operation = getOperationAST(document, operationName) as OperationDefinitionNode;
          const plan = planOf(schema, document, operation, variableValues);
          if (!plan) continue;
          planned++;
          const [one, other] = [contextOf(), contextOf()];
          const byPlan = await executePlan(plan, one, variableValues);
          const byLibrary = await execute({
            schema,
            document,
            operationName,
            variableValues,
            contextValue: other,
            fieldResolver: resolvePlainField,
          });
          expect(shown(byPlan, one)).toBe(shown(byLibrary, other));
        }
      }
    },
  );
  await fc.assert(property, { numRuns: 1_000 });
  expect(planned).toBeGreaterThan(500);
});

it.each([
  ["a condition without a value", "query($is: Boolean = true) { text @include(if: $is) }"],
  ["introspection beside fields", "{ text __schema { types { name } } }"],
  ["an abstract type", "{ either { ... on Node { text } } }"],
  ["a name that objects have", "{ __proto__: text }"],
  ["too many fields", `{ ${"one { text ".repeat(101)} ${"}".repeat(101)} }`],
  [
    "too many fields by fragments",
    `{ ${Array.from({ length: 150 }, (_, n) => `a${n}: one { ...F }`).join(" ")} }
    fragment F on Node { text must }`,
  ],
])("leaves to graphql-js: %s", (_name, text) => {
  const document = parse(text);
  const operation = getOperationAST(document) as OperationDefinitionNode;
  expect(planOf(schemaWithResolvers(), document, operation, { is: null })).toBeUndefined();
});

it("plans a document only so often, and keeps the plans that it has", () => {
  const schema = schemaWithResolvers();
  const names = Array.from({ length: 20 }, (_, n) => `a${n}`);
  const definitions = names.map((name) => `$${name}: Boolean!`).join(" ");
  const document = parse(
    `query(${definitions}) { ${names.map((name) => `${name}: text @skip(if: $${name})`).join(" ")} }`,
  );
  const operation = getOperationAST(document) as OperationDefinitionNode;
  const plan = (skipped: string) => {
    const variables = Object.fromEntries(names.map((name) => [name, name === skipped]));
    return planOf(schema, document, operation, variables);
  };

  const plans = names.map(plan);

  expect(plans[0]?.fields.map(({ key }) => key)).toEqual(names.slice(1));
  // 10 plans of 19 fields are 190; of the others none has room.
  expect(plans.filter((one) => one !== undefined)).toHaveLength(10);
  expect(names.map(plan)).toEqual(plans);
});

it("looks up the fields of a document once", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const query = "{ memories { memories { id relationships { type memory { title } } } } viewer { email } }";
  const send = () => ask(`${url}/graphql`, { key: ann.key, body: { query } });
  await send();
  await send();
  using looks = vi.spyOn(GraphQLObjectType.prototype, "getFields");

  expect(await send()).toMatchObject({ status: 200 });

  expect(looks).not.toHaveBeenCalled();
});
