import "reflect-metadata";
import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import type { AuditAction } from "./audit-action.js";
import type { CallersTeam, Context } from "./context.js";
import type { FailureClass } from "./failure.js";
import type { Permission } from "./permission.js";
import type { ToolRoute } from "./tool.js";
import { type UseLimit, describeLimits } from "./use-limit.js";
import { ROLE_NEEDED, type Standing, type TeamRule, failuresOfRule } from "./standing.js";

export type Class<T> = new () => T;

/** A class to extend. TypeScript requires the constructor of a mixin's base class to take `any[]`. */
// oxlint-disable-next-line typescript/no-explicit-any
export type BaseClass<T extends object = object> = abstract new (...args: any[]) => T;

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What every operation declares, whatever its effect. */
interface Facts<Input extends object, Output extends object> {
  /** The name in code and in GraphQL, and the `operationId` of REST. */
  readonly name: string;
  /** What it does, in a sentence; the description at every door begins with it. */
  readonly summary: string;
  /**
   * What else a client can rely on, in full sentences. Names in backticks are those of GraphQL; REST's documentation
   * shows its own names instead. Follows the summary at every door.
   */
  readonly notes?: string;
  readonly input: Class<Input>;
  /** What the handler returns: every field of it, and nothing else. */
  readonly output: Class<Output>;
  readonly permission: Permission;
  /** What this operation may raise, except CommonFailures. Includes the failures of its team's rule. */
  readonly failures: readonly FailureClass[];
  /** How often it may be used, in addition to the rate limit of all requests. */
  readonly limits?: readonly UseLimit<NoInfer<Input>>[];
  readonly rest: RestRoute;
  /** As how many requests an input counts in the account's budget; 1 unless given. Uses no database or service. */
  cost?(input: Input): number;
  /** Whether it may answer with megabytes: then it waits for a place in the memory of the process. */
  readonly isLarge?: true;
  /** How MCP offers it to agents; absent if MCP does not. */
  readonly mcp?: ToolRoute;
  /** For documentation: a realistic input, which may omit fields that have defaults, and its output. */
  readonly example?: { readonly input: Partial<Input>; readonly output: Output };
  /**
   * Checks that the bounds of single fields cannot express. Runs before the caller's rights are checked and before
   * anything is charged or read; uses no database or service. An input that passed must always pass: a repetition
   * with the same Idempotency-Key is checked again, so times are compared with the clock by the handler.
   * @throws InvalidInput
   */
  check?(context: Context, input: Input): void;
}

/** Why a change is not recorded in the audit, or what records it instead. */
type NotRecordedHere = { readonly none: string } | { readonly by: string };

/** Changes nothing. On a team, `place` is the caller's standing, read with their key; otherwise it is empty. */
interface Reads<Input, Output, Place extends unknown[]> {
  readonly effect: "reads";
  handle(context: Context, input: Input, ...place: Place): Promise<Output>;
}

/**
 * The change, its audit entry and its first result under an Idempotency-Key are stored together or not at all. On a
 * team, the team is locked, and the caller's standing in it is read after that.
 */
interface Changes<Input, Output, Place extends unknown[], Answer> {
  readonly effect: "transaction";
  /**
   * Calls to external services. Runs before the transaction, so no connection is held while waiting. Must be
   * idempotent. It stores its result in the database, where the handler reads it, or gives it to the handler.
   */
  prepare?(context: Context, input: Input, ...place: Place): Promise<Answer>;
  handle(context: Context, input: Input, ...placeAndAnswer: [...Place, Answer]): Promise<Output>;
}

/** What the audit records of a change. Only listed actions can be recorded. */
type Recorded<Input, Output, Place extends unknown[]> =
  | {
      readonly name: AuditAction;
      audit(context: Context, input: Input, output: Output, ...place: Place): AuditNote;
    }
  | { readonly audit: NotRecordedHere };

/** The handler writes with one SQL statement, which is atomic: a transaction is only needed for an Idempotency-Key. */
interface WritesOnce<Input, Output, Answer> {
  readonly effect: "statement";
  readonly audit: NotRecordedHere;
  /** What takes longer and only reads. As in `Changes`, it runs before the transaction; for a repeated request again. */
  prepare?(context: Context, input: Input): Promise<Answer> | Answer;
  handle(context: Context, input: Input, ...placeAndAnswer: [...MaybePlace, Answer]): Promise<Output>;
}

/** The handler makes its own transactions. An Idempotency-Key is ignored: its result could not be stored with them. */
interface MakesTransactions<Input, Output> {
  readonly effect: "ownTransactions";
  readonly audit: NotRecordedHere;
  handle(context: Context, input: Input): Promise<Output>;
}

type MaybePlace = [standing?: Standing | undefined];

/** One thing that a caller can do, declared once; every door is generated from it. */
export type Operation<Input extends object = object, Output extends object = object> = Facts<Input, Output> & {
  /** The two kinds of GraphQL: an operation that reads is a query. */
  readonly kind: "query" | "mutation";
  /** The team that it is about, and the least role that the caller needs; absent if it is about no team. */
  readonly team?: TeamRule | undefined;
} & (
    | Reads<Input, Output, [standing?: Standing<CallersTeam> | undefined]>
    | (Changes<Input, Output, MaybePlace, unknown> & Recorded<Input, Output, MaybePlace>)
    | WritesOnce<Input, Output, unknown>
    | MakesTransactions<Input, Output>
  );

type PlainOperation<Input extends object, Output extends object, Answer> = Facts<Input, Output> & {
  readonly team?: never;
} & (
    | Reads<Input, Output, []>
    | (Changes<Input, Output, [standing: undefined], Answer> & Recorded<Input, Output, [standing: undefined]>)
    | WritesOnce<Input, Output, Answer>
    | MakesTransactions<Input, Output>
  );

/** An input names a team by its field `teamId`, so that one function can read it. */
type TeamRuleFor<Input> = TeamRule & { readonly which: Input extends { teamId: string } ? "given" : "own" };

/** An operation on a team: only callers with at least its role get to its handler. */
type TeamOperation<Input extends object, Output extends object, Answer> = Facts<Input, Output> & {
  readonly team: TeamRuleFor<Input>;
} & (
    | Reads<Input, Output, [standing: Standing<CallersTeam>]>
    | (Changes<Input, Output, [standing: Standing], Answer> & Recorded<Input, Output, [standing: Standing]>)
  );

/** What an audit entry says besides who, when, the door and the operation. */
export interface AuditNote {
  /** The team whose owner and admins may read it; null for a change that concerns only the user. */
  readonly teamId: string | null;
  /** The id of the object or user that was changed. */
  readonly subject: string | null;
  /** Details, such as `role: admin`; for an update the values before and after, by `tellChanges`. */
  readonly detail?: string | undefined;
}

/** Where REST offers an operation. Path parameters are input fields in snake_case, as `:memory_id`. */
export interface RestRoute {
  readonly method: HttpMethod;
  /** A second method with the same effect, where clients expect both. */
  readonly alsoMethod?: HttpMethod;
  readonly path: string;
  /** For a DELETE with input that must not be in the URL. */
  readonly takesBody?: true;
  /** The default is 200. With 204 the output is not sent. */
  readonly status?: 201 | 202 | 204;
  /** The path of the created object; `:id` is the output's id. */
  readonly location?: string;
}

/** Every method by which REST offers an operation. */
export const methodsOf = ({ method, alsoMethod }: RestRoute): HttpMethod[] =>
  alsoMethod ? [method, alsoMethod] : [method];

/** Whether REST's input is in the request's body. */
export const takesBody = ({ method, takesBody: declared }: RestRoute): boolean =>
  declared === true || method === "POST" || method === "PUT" || method === "PATCH";

/** The description of an operation for documentation, in Markdown. */
export const describeOperation = ({ summary, notes, team, limits }: Operation): string =>
  [team ? `${summary} ${ROLE_NEEDED[team.role]}` : summary, notes, limits && describeLimits(limits)]
    .filter((part) => part !== undefined)
    .join("\n\n");

/** Whether the first result is kept under an Idempotency-Key. Results belong to a user; public operations have none. */
export const keepsResults = ({ effect, permission }: Pick<Operation, "effect" | "permission">): boolean =>
  (effect === "transaction" || effect === "statement") && permission !== "public";

const kindOf = (effect: Operation["effect"]): Operation["kind"] => (effect === "reads" ? "query" : "mutation");

/** Defines an operation. The compiler checks the declaration against its own input and output types. */
export function defineOperation<Input extends object, Output extends object, Answer = unknown>(
  operation: PlainOperation<Input, Output, Answer>,
): Operation<Input, Output> {
  return Object.freeze({ ...operation, kind: kindOf(operation.effect) });
}

/** The same for an operation on a team; the failures of its rule are added. */
export function defineTeamOperation<Input extends object, Output extends object, Answer = unknown>(
  operation: TeamOperation<Input, Output, Answer>,
): Operation<Input, Output> {
  const kind = kindOf(operation.effect);
  const failures = [...failuresOfRule(operation.team), ...operation.failures];
  return Object.freeze({ ...operation, kind, failures });
}

/** For an operation without input. */
@ArgsType()
export class NoInput {}

@ObjectType({ description: "What was deleted." })
export class Deletion {
  @Field(() => ID, { description: "Its id." })
  id!: string;
}
