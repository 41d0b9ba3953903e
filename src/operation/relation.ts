import type { GraphQLField } from "graphql";
import type { FieldResolver } from "type-graphql";
import type { Context } from "./context.js";
import { assertDeclared, requireScope } from "./execute.js";
import { Failure, type FailureClass } from "./failure.js";
import type { Class } from "./operation.js";
import { type Permission, scopesOf } from "./permission.js";
import { failuresOfRule, teamNow } from "./standing.js";
import type { TeamRole } from "./context.js";

/** The names of the fields that are asked of what is followed to, or of what a field of that leads to. */
export type AskedFields = (within?: string) => ReadonlySet<string>;

type ReturnType = NonNullable<Parameters<typeof FieldResolver>[0]>;

/**
 * A field by which GraphQL leads on from a thing, declared once. Plain answers do not have it, unless it is `Embedded`.
 * It is null where it is refused or what it leads to is gone, so that it takes nothing else of the answer along.
 */
export interface Relation<Source extends object = object, Value = unknown> {
  /** The type that has the field, and the field's name. */
  readonly of: Class<Source>;
  readonly name: string;
  /** What it leads to, and what that is in words. Left out where the type declares the field. */
  readonly to?: ReturnType;
  readonly description?: string;
  /** Of a list, how many items there may well be: for its cost. */
  readonly items?: number;
  readonly permission: Permission;
  /** For what is a team's: which team's, and the least role in it that the caller needs, as they are now. */
  readonly team?: { readonly role: TeamRole; idOf(source: Source): string };
  /** What it may raise beyond the failures that any field may, those of its team's rule among it. */
  readonly failures: readonly FailureClass[];
  follow(context: Context, source: Source, asked: AskedFields): Value | Promise<Value>;
}

/** Checks a declaration against its own types. */
export function defineRelation<Source extends object, Value>(relation: Relation<Source, Value>): Relation {
  const { team, failures } = relation;
  const refusals = team ? failuresOfRule({ which: "given", role: team.role }, "query") : [];
  return Object.freeze({ ...relation, failures: [...refusals, ...failures] });
}

/** What can be refused can be null. */
export const isNullable = ({ failures, permission }: Relation): boolean =>
  failures.length > 0 || scopesOf(permission).length > 0;

/**
 * The only way to follow a relation. What the operation itself has answered with needs no permission beyond its own, as
 * in plain answers. Not an async function: ten thousand places of one answer may be followed.
 * @throws ScopeMissing when the caller's key does not allow it, and any failure that the relation declares.
 */
export function followRelation(relation: Relation, context: Context, source: object, asked: AskedFields): unknown {
  const isAnswered = Reflect.get(source, relation.name) !== undefined;
  if (!isAnswered) for (const scope of scopesOf(relation.permission)) requireScope(context, scope);
  if (!relation.team) return relation.follow(context, source, asked);
  const { role, idOf } = relation.team;
  return teamNow(context, idOf(source), role).then(() => relation.follow(context, source, asked));
}

/** What following threw, for the answer: a failure that is not declared is a bug. */
export function thrownBy(relation: Relation, error: unknown): unknown {
  try {
    if (error instanceof Failure) assertDeclared(relation, error);
    return error;
  } catch (bug) {
    return bug;
  }
}

/** The relation that a field of the schema is, if it is one: every door asks this. */
export const relationAt = ({ extensions }: Pick<GraphQLField<unknown, unknown>, "extensions">): Relation | undefined =>
  extensions["relation"] as Relation | undefined;
