import { readFileSync } from "node:fs";
import {
  type GraphQLInputField,
  type GraphQLSchema,
  getNamedType,
  introspectionFromSchema,
  isEnumType,
  isInputObjectType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  lexicographicSortSchema,
  printSchema,
  validateSchema,
} from "graphql";
import { expect, it } from "vitest";
import { inputTypeOf } from "../../src/operation/input.js";
import { snakeCase } from "../../src/operation/names.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { type JsonSchema, plainFieldsOf } from "../../src/surfaces/json-schema.js";

it("equals schema.graphql, which `npm run contract` rewrites", async () => {
  const built = `${printSchema(lexicographicSortSchema(await graphqlSchema()))}\n`;
  expect(built, "The schema changed. If that is meant, run: npm run contract").toBe(
    readFileSync("schema.graphql", "utf8"),
  );
});

it("is valid and can be introspected", async () => {
  const schema = await graphqlSchema();

  expect(validateSchema(schema)).toEqual([]);
  expect(introspectionFromSchema(schema).__schema.types.length).toBeGreaterThan(100);
});

it("describes every type, field, argument and enum value", async () => {
  const described = describedParts(await graphqlSchema());
  expect(described.length).toBeGreaterThan(100);
  expect(described.filter(([, description]) => !description?.trim()).map(([name]) => name)).toEqual([]);
});

it("says in the description of every input field how large it may be", async () => {
  const schema = await graphqlSchema();
  const found = operations.flatMap((operation) => {
    const type = inputTypeOf(schema, operation);
    return sizesWithin(Object.values(type.getFields()), plainFieldsOf(type, operation.input));
  });

  expect(found.length).toBeGreaterThan(50);
  expect(
    found.filter(({ description, max }) => !description.includes(` ${Number(max).toLocaleString("en")} `)),
  ).toEqual([]);
});

/** The largest sizes of fields, as JSON Schema has them, with the description in GraphQL. */
function sizesWithin(
  fields: readonly GraphQLInputField[],
  plain: ReadonlyArray<{ readonly name: string; readonly schema: JsonSchema }>,
): Array<{ readonly description: string; readonly max: unknown }> {
  return fields.flatMap(({ name, description, type }) => {
    const schema = plain.find((field) => field.name === snakeCase(name))?.schema ?? {};
    const { maxItems, maxLength, items } = schema;
    const own = [maxItems, maxLength, items?.["maxLength"]].filter((max) => max !== undefined);
    const itemType = getNamedType(type);
    const below = isInputObjectType(itemType) ? Object.values(itemType.getFields()) : [];
    const inner = Object.entries(items?.properties ?? {}).map(([key, value]) => ({ name: key, schema: value }));
    return [...own.map((max) => ({ description: description ?? "", max })), ...sizesWithin(below, inner)];
  });
}

it("links every custom scalar to its specification, so that code generators need not guess", async () => {
  const scalars = Object.values((await graphqlSchema()).getTypeMap()).filter(isScalarType);

  const own = scalars.filter((scalar) => !isSpecifiedScalarType(scalar));
  expect(own.length).toBeGreaterThan(0);
  for (const { name, specifiedByURL } of own) expect(specifiedByURL, name).toMatch(/^https:/);
});

type Part = [name: string, description: string | null | undefined];

function describedParts(schema: GraphQLSchema): Part[] {
  const own = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith("__"));
  return own.flatMap((type): Part[] => {
    const parts = (inner: ReadonlyArray<{ name: string; description?: string | null | undefined }>): Part[] =>
      inner.map(({ name, description }) => [`${type.name}.${name}`, description]);
    // The root types are only containers; their fields are described.
    const self: Part[] = ["Query", "Mutation"].includes(type.name) ? [] : [[type.name, type.description]];
    if (isEnumType(type)) return [...self, ...parts(type.getValues())];
    if (isInputObjectType(type)) return [...self, ...parts(Object.values(type.getFields()))];
    if (!isObjectType(type)) return self;
    const fields = Object.values(type.getFields());
    return [...self, ...parts(fields), ...fields.flatMap(({ args }) => parts(args))];
  });
}
