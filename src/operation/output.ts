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
 * For a field that GraphQL clients reach by following: plain answers have it too. Either always, with these of its
 * fields, or whole and only where the operation loads it. Other fields that are followed stand in no plain answer.
 */
export const Embedded = (...fields: readonly string[]): PropertyDecorator => Extensions({ embedded: fields });

/**
 * For a field that REST calls otherwise. Where an object shows another one as seen from somewhere, REST shows that
 * one's `id`; in GraphQL an `id` is its object's own, since clients keep what has the same type and `id` as one object.
 */
export const InRest = (name: string): PropertyDecorator => Extensions({ inRest: name });

/** What REST calls a field of an answer. */
export const restNameOf = ({ name, extensions }: GraphQLField<unknown, unknown>): string =>
  typeof extensions["inRest"] === "string" ? extensions["inRest"] : snakeCase(name);

/** Turns an answer into plain snake_case values. */
export type Projection = (value: object) => Record<string, unknown>;

/**
 * Keeps the declared fields alone, so that a stray column can never leave. A declared field that the value lacks is
 * one that GraphQL clients reach by following; it is left out.
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
  // Its place is taken before its fields are looked at: types refer to each other in circles.
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
