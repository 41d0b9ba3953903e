import { type GraphQLField, type GraphQLObjectType, type GraphQLSchema, getNamedType, isObjectType } from "graphql";
import { Extensions } from "type-graphql";
import { snakeCase } from "./names.js";
import type { Operation } from "./operation.js";

/** The GraphQL type of an operation's answer. */
export function outputTypeOf(schema: GraphQLSchema, operation: Operation): GraphQLObjectType {
  const root = operation.kind === "query" ? schema.getQueryType() : schema.getMutationType();
  return getNamedType(root?.getFields()[operation.name]?.type) as GraphQLObjectType;
}

/**
 * Marks a relation of GraphQL that REST's answers contain, too; they contain no others. With `fields`, each answer
 * contains it, with only these fields. Without `fields`, an answer contains all of it if the operation loads it.
 */
export const Embedded = (...fields: readonly string[]): PropertyDecorator => Extensions({ embedded: fields });

/** Marks an embedded field that REST's answers contain as null where there is nothing. */
export const NullWhereNothing: PropertyDecorator = Extensions({ mayBeNull: true });

/** Marks a field of GraphQL that agents' answers may contain, too, null where there is nothing; REST's never do. */
export const ForAgents: PropertyDecorator = Extensions({ embedded: [], mayBeNull: true, isForAgents: true });

/**
 * Names a field `id` in REST. For example, a search hit shows a memory: in REST its `id` is the memory's. In GraphQL an
 * `id` is always the object's own, since clients merge objects of equal type and `id`.
 */
export const IdInRest: PropertyDecorator = Extensions({ isIdInRest: true });

/** The name of a field in REST's answers. */
export const restNameOf = ({ name, extensions }: GraphQLField<unknown, unknown>): string =>
  extensions["isIdInRest"] ? "id" : snakeCase(name);

/** Converts an output to plain values with snake_case names. */
export type Projection = (value: object) => Record<string, unknown>;

/**
 * Keeps only declared fields, so that no other column can reach a client. A declared field without a value is a GraphQL
 * relation, and is left out.
 */
export function projectionOf(type: GraphQLObjectType): Projection {
  const known = projections.get(type);
  if (known) return known;
  const fields: { name: string; key: string; inner: Projection | undefined }[] = [];
  const project: Projection = (value) => {
    const source = value as Readonly<Record<string, unknown>>;
    const plain: Record<string, unknown> = {};
    for (const { name, key, inner } of fields) {
      const field = source[name];
      if (field !== undefined) plain[key] = inner ? projectNested(inner, field) : field;
    }
    return plain;
  };
  // Registered before its fields are read: types refer to each other in cycles.
  projections.set(type, project);
  for (const field of Object.values(type.getFields())) {
    const named = getNamedType(field.type);
    const inner = isObjectType(named) ? projectionOf(named) : undefined;
    fields.push({ name: field.name, key: restNameOf(field), inner });
  }
  return project;
}

const projections = new WeakMap<GraphQLObjectType, Projection>();

function projectNested(project: Projection, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => projectNested(project, item));
  return typeof value === "object" && value !== null ? project(value) : value;
}
