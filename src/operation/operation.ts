import "reflect-metadata";
import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import type { AuditAction } from "./audit-action.js";
import type { CallersTeam, Context } from "./context.js";
import type { FailureClass } from "./failure.js";
import type { Permission } from "./permission.js";
import { ROLE_NEEDED, type Standing, type TeamRule, failuresOfRule } from "./standing.js";

export type Class<T> = new () => T;
export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What every operation says of itself, whatever its effect. */
interface Facts<Input extends object, Output extends object> {
  /** The name in code and in GraphQL, and the `operationId` of REST. */
  readonly name: string;
  /** What it does, in a sentence; the description at every door begins with it. */
  readonly summary: string;
  /**
   * What else a client can rely on, in whole sentences. Names in backticks are those of GraphQL; REST's documentation
   * shows its own names instead. Follows the summary at every door.
   */
  readonly notes?: string;
  readonly input: Class<Input>;
  readonly output: Class<Output>;
  readonly permission: Permission;
  /** What this operation may raise beyond the failures that any operation may, those of its team's rule among it. */
  readonly failures: readonly FailureClass[];
  readonly rest: RestRoute;
  /** A likely input, in which defaults may be left out, and what comes of it: for documentation. */
  readonly example?: { readonly input: Partial<Input>; readonly output: Output };
  /**
   * What the bounds of single fields cannot say of an input. Comes before the team is read, and asks nobody.
   * @throws InvalidInput
   */
  check?(context: Context, input: Input): void;
}

/** Why nothing is recorded of a change, or by what it is recorded instead. */
type NotRecordedHere = { readonly none: string } | { readonly by: string };

/** It changes nothing. On a team, `place` is the caller's standing in it as their key has it; else there is none. */
interface Reads<Input, Output, Place extends unknown[]> {
  readonly effect: "reads";
  handle(context: Context, input: Input, ...place: Place): Promise<Output>;
}

/**
 * The change, its audit entry and its first result under an Idempotency-Key are stored together or not at all. On a
 * team, the team is locked, and the caller's standing in it is read after that.
 */
interface Changes<Input, Output, Place extends unknown[]> {
  readonly effect: "transaction";
  /**
   * Calls to external services. Runs before the transaction, so no connection is held while waiting. Must be
   * idempotent; what came of it the handler reads from the database.
   */
  prepare?(context: Context, input: Input, ...place: Place): Promise<void>;
  handle(context: Context, input: Input, ...place: Place): Promise<Output>;
}

/** What to record of a change. Only listed actions can be recorded. */
type Recorded<Input, Output, Place extends unknown[]> =
  | {
      readonly name: AuditAction;
      audit(context: Context, input: Input, output: Output, ...place: Place): AuditNote;
    }
  | { readonly audit: NotRecordedHere };

/** The handler writes by one SQL statement, atomic by itself: a transaction is needed for an Idempotency-Key alone. */
interface WritesOnce<Input, Output> {
  readonly effect: "statement";
  readonly audit: NotRecordedHere;
  handle(context: Context, input: Input): Promise<Output>;
}

/** The handler makes its transactions itself. No Idempotency-Key counts: nothing could be stored together with all. */
interface MakesTransactions<Input, Output> {
  readonly effect: "ownTransactions";
  readonly audit: NotRecordedHere;
  handle(context: Context, input: Input): Promise<Output>;
}

type MaybePlace = [standing?: Standing | undefined];

/** One thing a caller can do, declared once; every door is derived from this. */
export type Operation<Input extends object = object, Output extends object = object> = Facts<Input, Output> & {
  /** As GraphQL divides them: what reads is a query. */
  readonly kind: "query" | "mutation";
  /** The team that it is about, and the least role in it that the caller needs; left out for what is on no team. */
  readonly team?: TeamRule | undefined;
} & (
    | Reads<Input, Output, [standing?: Standing<CallersTeam> | undefined]>
    | (Changes<Input, Output, MaybePlace> & Recorded<Input, Output, MaybePlace>)
    | WritesOnce<Input, Output>
    | MakesTransactions<Input, Output>
  );

type PlainOperation<Input extends object, Output extends object> = Facts<Input, Output> & { readonly team?: never } & (
    | Reads<Input, Output, []>
    | (Changes<Input, Output, []> & Recorded<Input, Output, []>)
    | WritesOnce<Input, Output>
    | MakesTransactions<Input, Output>
  );

/** A team that the input names must be named by a field of it, so that one place can read it. */
type TeamRuleFor<Input> = TeamRule & { readonly which: Input extends { teamId: string } ? "given" : "own" };

/** Whoever is let in to an operation on a team has at least the role that it declares. */
type TeamOperation<Input extends object, Output extends object> = Facts<Input, Output> & {
  readonly team: TeamRuleFor<Input>;
} & (
    | Reads<Input, Output, [standing: Standing<CallersTeam>]>
    | (Changes<Input, Output, [standing: Standing]> & Recorded<Input, Output, [standing: Standing]>)
  );

/** What an audit entry says beside who, when, how and which operation. */
export interface AuditNote {
  /** The team whose owner and admins may read it; null for what is a user's own affair. */
  readonly teamId: string | null;
  /** The id of what or whom it was done to. */
  readonly subject: string | null;
  /** A few words on how, such as `role: admin`; of an update what was and what is, as `tellChanges` writes it. */
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

/** Whether REST's input stands in the request's body. */
export const takesBody = ({ method, takesBody: told }: RestRoute): boolean =>
  told === true || method === "POST" || method === "PUT" || method === "PATCH";

/** All that documentation says of an operation, in Markdown. */
export const describeOperation = ({ summary, notes, team }: Operation): string =>
  [team ? `${summary} ${ROLE_NEEDED[team.role]}` : summary, ...(notes === undefined ? [] : [notes])].join("\n\n");

/** Whether the first result is kept under an Idempotency-Key. Results are kept by user, and what is open to all has none. */
export const keepsResults = ({ effect, permission }: Pick<Operation, "effect" | "permission">): boolean =>
  (effect === "transaction" || effect === "statement") && permission !== "public";

const kindOf = (effect: Operation["effect"]): Operation["kind"] => (effect === "reads" ? "query" : "mutation");

/** Checks a declaration against its own types. */
export function defineOperation<Input extends object, Output extends object>(
  operation: PlainOperation<Input, Output>,
): Operation<Input, Output> {
  return Object.freeze({ ...operation, kind: kindOf(operation.effect) });
}

/** The same for an operation on a team, which need not declare what its rule refuses with. */
export function defineTeamOperation<Input extends object, Output extends object>(
  operation: TeamOperation<Input, Output>,
): Operation<Input, Output> {
  const kind = kindOf(operation.effect);
  const failures = [...failuresOfRule(operation.team, kind), ...operation.failures];
  return Object.freeze({ ...operation, kind, failures });
}

/** For an operation that takes nothing. */
@ArgsType()
export class NoInput {}

@ObjectType({ description: "What was deleted." })
export class Deletion {
  @Field(() => ID, { description: "The id it had." })
  id!: string;
}
