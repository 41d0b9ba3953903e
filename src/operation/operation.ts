import "reflect-metadata";
import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import type { Context } from "./context.js";
import type { FailureClass } from "./failure.js";
import type { Permission } from "./permission.js";

export type Class<T> = new () => T;
export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One thing a caller can do, declared once; every door is derived from this. */
export interface Operation<Input extends object = object, Output extends object = object> {
  /** The name in code and in GraphQL, and the `operationId` of REST. */
  readonly name: string;
  readonly kind: "query" | "mutation";
  /** One sentence, the description at every door. */
  readonly summary: string;
  readonly input: Class<Input>;
  readonly output: Class<Output>;
  readonly permission: Permission;
  /** What this operation may raise beyond the failures that any operation may. */
  readonly failures: readonly FailureClass[];
  readonly rest: RestRoute;
  /** A likely input, in which defaults may be left out, and what comes of it: for documentation. */
  readonly example?: { readonly input: Partial<Input>; readonly output: Output };
  /** What to record of it, in the transaction of the change; left out for what nobody has to answer for. */
  audit?(context: Context, input: Input, output: Output): AuditNote;
  /**
   * What is done with others than the database, before the change and outside of any transaction, so that nobody's
   * answer is waited for with a connection in hand. What came of it is read off the database by the handler, and doing
   * it twice has one effect.
   */
  prepare?(context: Context, input: Input): Promise<void>;
  /** The handler writes by one SQL statement, atomic by itself, so it is spared a transaction around it. */
  readonly oneStatement?: true;
  /** The handler makes its transactions itself, since something of it must stay even where it fails. */
  readonly ownTransactions?: true;
  handle(context: Context, input: Input): Promise<Output>;
}

/** What an audit entry says beside who, when, how and which operation. */
export interface AuditNote {
  /** The team whose owner and admins may read it; null for what is a user's own affair. */
  readonly teamId: string | null;
  /** The id of what or whom it was done to. */
  readonly subject: string | null;
  /** A few words on how, such as `role: admin`. */
  readonly detail?: string | undefined;
}

/** Where REST offers an operation. Path parameters are input fields in snake_case, as `:memory_id`. */
export interface RestRoute {
  readonly method: HttpMethod;
  /** A second method for the same thing, where clients expect both. */
  readonly alsoMethod?: HttpMethod;
  readonly path: string;
  /** For a DELETE that has to be told more than what it is about: like other bodies, not for an address to show. */
  readonly takesBody?: true;
  /** 200 unless given. With 204 the output is not sent. */
  readonly status?: 201 | 202 | 204;
  /** The path of the thing that was made, `:id` standing for the output's id. */
  readonly location?: string;
}

/** Every method by which REST offers an operation. */
export const methodsOf = ({ method, alsoMethod }: RestRoute): HttpMethod[] =>
  alsoMethod ? [method, alsoMethod] : [method];

/** Checks a declaration against its own types; adds nothing at run time. */
export function defineOperation<Input extends object, Output extends object>(
  operation: Operation<Input, Output>,
): Operation<Input, Output> {
  return Object.freeze(operation);
}

/** For an operation that takes nothing. */
@ArgsType()
export class NoInput {}

@ObjectType({ description: "What was deleted." })
export class Deletion {
  @Field(() => ID, { description: "The id it had." })
  id!: string;
}
