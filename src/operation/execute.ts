import { recordAudit } from "./audit.js";
import { actionNamed } from "./audit-action.js";
import { withinBounds } from "./bounds.js";
import { type CallersTeam, type Context, within } from "./context.js";
import { CommonFailure, Failure, ScopeMissing, Unauthorized } from "./failure.js";
import { type Results, earlierResult, once } from "./idempotency.js";
import { keyById } from "./key-statement.js";
import { type Operation, keepsResults } from "./operation.js";
import { type Scope, scopesOf } from "./permission.js";
import { type Standing, type TeamRule, standingByKey, standingLocked, standingNow } from "./standing.js";

/**
 * The only way in: every door ends here, so no door can skip a step.
 * @throws InvalidInput when the input is out of bounds.
 * @throws ScopeMissing when the caller's key does not allow the operation.
 * @throws any failure that the operation declares.
 */
export async function execute<Input extends object, Output extends object>(
  operation: Operation<Input, Output>,
  context: Context,
  input: Input,
): Promise<Output> {
  const checked = withinBounds(input);
  for (const scope of scopesOf(operation.permission)) requireScope(context, scope);
  try {
    return await run(operation, context, checked);
  } catch (error) {
    if (error instanceof Failure) assertDeclared(operation, error);
    else if (operation.permission !== "public" && (await isGone(context))) throw new Unauthorized();
    throw error;
  }
}

async function run<Input extends object, Output extends object>(
  operation: Operation<Input, Output>,
  context: Context,
  input: Input,
): Promise<Output> {
  const idempotency = keepsResults(operation) ? context.idempotency : undefined;
  switch (operation.effect) {
    case "reads":
      return operation.handle(context, input, await letIn(operation, context, input, standingByKey));
    case "statement":
      if (idempotency) break;
      operation.check?.(context, input);
      return operation.handle(context, input);
    case "ownTransactions":
      operation.check?.(context, input);
      return operation.handle(context, input);
    case "transaction": {
      if (!operation.prepare) break;
      const earlier = idempotency && (await earlierResult<Output>(context.database, resultsOf(context), idempotency));
      if (earlier) return earlier;
      await operation.prepare(context, input, await letIn(operation, context, input, standingNow));
    }
  }
  return context.database.transaction((inner) => {
    const here = within(context, inner);
    const change = async () => {
      const standing = await letIn(operation, here, input, standingLocked);
      const output = await operation.handle(here, input, standing);
      const { name, audit } = operation;
      if (typeof audit === "function") {
        await recordAudit(here, actionNamed(name), audit(here, input, output, standing), here.caller);
      }
      return output;
    };
    return idempotency ? once(inner, resultsOf(context), idempotency, change) : change();
  });
}

/** Refuses in this order: for the input, then for the caller's place in the team. Answers with that place. */
async function letIn<Input extends object, Found extends Standing | Standing<CallersTeam>>(
  { check, team }: Operation<Input>,
  context: Context,
  input: Input,
  find: (context: Context, rule: TeamRule, input: object) => Found | Promise<Found>,
): Promise<Found | undefined> {
  check?.(context, input);
  return team && find(context, team, input);
}

const resultsOf = ({ caller, resultHours }: Context): Results => ({ userId: caller.userId, keptHours: resultHours });

/**
 * Whether the caller was deleted since this request began: then the database refused rows that refer to them, which is
 * no bug. False where the database cannot tell.
 */
async function isGone({ database, caller }: Context): Promise<boolean> {
  const keys = await database.run(keyById, { id: caller.keyId }).catch(() => undefined);
  return keys?.length === 0;
}

/** @throws ScopeMissing when the caller's key does not have the scope. */
export function requireScope({ caller }: Pick<Context, "caller">, scope: Scope): void {
  if (!caller.scopes.has(scope)) throw new ScopeMissing(scope);
}

/** A failure that is not declared is missing from the documentation, so it is a bug even where it is right. */
export function assertDeclared({ name, failures }: Pick<Operation, "name" | "failures">, failure: Failure): void {
  if (failure instanceof CommonFailure || failures.some((declared) => failure instanceof declared)) return;
  throw new Error(`${name} raised ${failure.name}, which it does not declare.`, { cause: failure });
}
