import type { GraphQLField } from "graphql";
import type { FieldResolver } from "type-graphql";
import type { Context, TeamRole } from "./context.js";
import { assertDeclared, requireScopes } from "./execute.js";
import { Failure, type FailureClass } from "./failure.js";
import type { Class } from "./operation.js";
import { type Permission, scopesOf } from "./permission.js";
import { failuresOfRule, readMembersTeam } from "./standing.js";

/** The names of the fields that are selected in a relation's result, or within one of its fields. */
export type AskedFields = (within?: string) => ReadonlySet<string>;

type ReturnType = NonNullable<Parameters<typeof FieldResolver>[0]>;

/**
 * A GraphQL field that leads to other objects, declared once. REST's answers do not have it, unless it is `Embedded`.
 * It is null if it is refused or its target was deleted, so that the rest of the answer remains.
 */
export interface Relation<Source extends object = object, Value = unknown> {
  /** The type that has the field, and the field's name. */
  readonly of: Class<Source>;
  readonly name: string;
  /** The type and the description of its target. Absent if the type declares the field. */
  readonly to?: ReturnType;
  readonly description?: string;
  /** For a list, the expected number of items: for its cost. */
  readonly items?: number;
  readonly permission: Permission;
  /** For data of a team: which team, and the least role that the caller needs. Both are read when it is followed. */
  readonly team?: { readonly role: TeamRole; idOf(source: Source): string };
  /** What it may raise, except CommonFailures. Includes the failures of its team's rule. */
  readonly failures: readonly FailureClass[];
  follow(context: Context, source: Source, asked: AskedFields): Value | Promise<Value>;
}

/** A list says how many items to expect: else its cost would be that of one. */
type Counted<Value> = Value extends readonly unknown[] ? { readonly items: number } : { readonly items?: never };

/** Defines a relation, and adds the failures of its team's rule. */
export function defineRelation<Source extends object, Value>(
  relation: Relation<Source, Value> & Counted<Value>,
): Relation {
  const declared: Relation<Source, Value> = relation;
  const { team, failures } = declared;
  const refusals = team ? failuresOfRule({ which: "given", role: team.role }) : [];
  return Object.freeze({ ...declared, failures: [...refusals, ...failures] });
}

/** A relation that can be refused can be null. */
export const isNullable = ({ failures, permission }: Relation): boolean =>
  failures.length > 0 || scopesOf(permission).length > 0;

/**
 * The only way to follow a relation. A value that the operation itself returned needs no further permission, as in
 * REST. Not an async function, since one answer may follow ten thousand relations.
 * @throws ScopeMissing when the caller's key does not allow it, and any failure that the relation declares.
 */
export function followRelation(relation: Relation, context: Context, source: object, asked: AskedFields): unknown {
  const isAnswered = Reflect.get(source, relation.name) !== undefined;
  if (!isAnswered) requireScopes(context, scopesOf(relation.permission));
  if (!relation.team) return relation.follow(context, source, asked);
  const { role, idOf } = relation.team;
  return readMembersTeam(context, idOf(source), role).then(() => relation.follow(context, source, asked));
}

/** The error for the answer: a failure that is not declared becomes a bug. */
export function toRelationError(relation: Relation, error: unknown): unknown {
  try {
    if (error instanceof Failure) assertDeclared(relation, error);
    return error;
  } catch (bug) {
    return bug;
  }
}

/** The relation of a field of the schema; undefined for other fields. */
export const relationAt = ({ extensions }: Pick<GraphQLField<unknown, unknown>, "extensions">): Relation | undefined =>
  extensions["relation"] as Relation | undefined;
