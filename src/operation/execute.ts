import { recordAudit } from "./audit.js";
import { withinBounds } from "./bounds.js";
import { type Context, within } from "./context.js";
import { CommonFailure, Failure, ScopeMissing, Unauthorized } from "./failure.js";
import { type Results, earlierResult, once } from "./idempotency.js";
import type { Operation } from "./operation.js";
import type { Statement } from "../platform/database.js";
import { type Scope, scopesOf } from "./permission.js";

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
  const { database } = context;
  // Results are kept by user, and an operation that is open to everybody may have none.
  const idempotency = operation.permission === "public" ? undefined : context.idempotency;
  if (operation.kind === "query" || operation.ownTransactions) return operation.handle(context, input);
  if (!idempotency && !operation.audit && operation.oneStatement) return operation.handle(context, input);
  if (operation.prepare) {
    const earlier = idempotency && (await earlierResult<Output>(database, resultsOf(context), idempotency));
    if (earlier) return earlier;
    await operation.prepare(context, input);
  }
  return database.transaction((inner) => {
    const here = within(context, inner);
    const change = async () => {
      const output = await operation.handle(here, input);
      if (operation.audit) await recordAudit(here, operation.name, operation.audit(here, input, output), here.caller);
      return output;
    };
    return idempotency ? once(inner, resultsOf(context), idempotency, change) : change();
  });
}

const resultsOf = ({ caller, resultHours }: Context): Results => ({ userId: caller.userId, keptHours: resultHours });

const keyById: Statement = {
  ...{ name: "key_by_id", text: "SELECT id FROM api_key WHERE id = $1::uuid" },
  reserved: true,
};

/**
 * Whether the caller was deleted since this request began: then the database refused rows that refer to them, which is
 * no bug. False where the database cannot tell.
 */
async function isGone({ database, caller }: Context): Promise<boolean> {
  const keys = await database.run(keyById, [caller.keyId]).catch(() => undefined);
  return keys?.length === 0;
}

/** @throws ScopeMissing when the caller's key does not have the scope. */
export function requireScope({ caller }: Pick<Context, "caller">, scope: Scope): void {
  if (!caller.scopes.has(scope)) throw new ScopeMissing(scope);
}

/** A failure that is not declared is missing from the documentation, so it is a bug even where it is right. */
function assertDeclared({ name, failures }: Pick<Operation, "name" | "failures">, failure: Failure): void {
  if (failure instanceof CommonFailure || failures.some((declared) => failure instanceof declared)) return;
  throw new Error(`${name} raised ${failure.name}, which it does not declare.`, { cause: failure });
}
