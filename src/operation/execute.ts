import { recordAudit } from "./audit.js";
import { spendResultBytes } from "./budget.js";
import { actionNamed } from "./audit-action.js";
import { withinBoundsInTurns } from "./within-bounds.js";
import { type Context, within } from "./context.js";
import { CommonFailure, Failure, ScopeMissing, Unauthorized, examplesOf } from "./failure.js";
import { type Idempotency, type Results, findEarlierResult, once } from "./idempotency.js";
import { readOlder, tellPosition } from "./older-reads.js";
import { type Operation, keepsResults } from "./operation.js";
import { type Scope, scopesOf } from "./permission.js";
import { takeUses } from "./use-limit.js";
import { asOfRule, standingByKey, lockStanding, readStanding } from "./standing.js";

/**
 * The only way in: every door ends here, so no door can skip a step.
 * @throws InvalidInput when the input is out of bounds.
 * @throws ScopeMissing when the caller's key does not allow the operation.
 * @throws RateLimited when one of the operation's own limits is reached, or the account has too few requests left.
 * @throws IdempotencyInProgress, IdempotencyKeyReused by its Idempotency-Key.
 * @throws Unauthorized when the caller's account was deleted meanwhile.
 * @throws any failure that the operation declares.
 */
export async function execute<Input extends object, Output extends object>(
  operation: Operation<Input, Output>,
  context: Context,
  input: Input,
): Promise<Output> {
  const { tracer, door } = context;
  if (!tracer) return perform(operation, context, input);
  const part = { name: operation.name, facts: { "memory_graph.door": door } };
  return tracer.during(part, () => perform(operation, context, input));
}

async function perform<Input extends object, Output extends object>(
  operation: Operation<Input, Output>,
  context: Context,
  input: Input,
): Promise<Output> {
  const bounded = withinBoundsInTurns(input, context.pause);
  // Small inputs are checked at once: then there is no promise to wait for.
  const checked = bounded instanceof Promise ? await bounded : bounded;
  operation.check?.(context, checked);
  requireScopes(context, scopesOf(operation.permission));
  try {
    const output = await run(operation, context, checked);
    if (context.readAfter && operation.effect !== "reads") await tellPosition(context);
    return output;
  } catch (error) {
    if (error instanceof Failure) {
      const failure = asOfRule(operation.team, error);
      assertDeclared(operation, failure);
      throw failure;
    }
    if (operation.permission !== "public" && (await isCallerDeleted(context))) throw new Unauthorized();
    throw error;
  }
}

async function run<Input extends object, Output extends object>(
  operation: Operation<Input, Output>,
  context: Context,
  input: Input,
): Promise<Output> {
  const { effect, team } = operation;
  if (operation.isLarge) await context.admitLarge();
  const idempotency = keepsResults(operation) ? withScopes(context) : undefined;
  const { earlier, prepared } = await prepareOnce(operation, context, input, idempotency);
  if (earlier) return earlier;
  if (effect === "reads") {
    return readOlder(context, (here) => operation.handle(here, input, team && standingByKey(context, team, input)));
  }
  if (effect === "ownTransactions" || (effect === "statement" && !idempotency)) {
    return operation.handle(context, input, undefined, prepared);
  }
  return context.database.transaction((inner) => {
    const change = () => changeWithAudit(operation, within(context, inner), input, prepared);
    return idempotency ? once(inner, resultsOf(context), idempotency, change) : change();
  });
}

interface Before<Output> {
  /** The result of an earlier request with the same Idempotency-Key: then nothing runs again. */
  readonly earlier?: Output | undefined;
  /** What `prepare` has returned. */
  readonly prepared?: unknown;
}

/**
 * Runs what comes before the transaction: charges what the operation costs, counts the uses that it limits, and calls
 * `prepare`. For a repeated request, none of it runs again, unless it only reads. A different request with the same key
 * may run at the same time and store its result first: then this one is refused, but what it changed at the payment
 * provider stays. Sent under a new key it charges nothing again, since it names the seats that are wanted, not how many
 * more. Considered: storing a claim of the key before, which would outlive a crash.
 */
async function prepareOnce<Input extends object, Output extends object>(
  operation: Operation<Input, Output>,
  context: Context,
  input: Input,
  idempotency: Idempotency | undefined,
): Promise<Before<Output>> {
  const { effect, team, limits: declared = [] } = operation;
  const limits = declared.filter(({ by }) => by !== "handler");
  const prepare = effect === "transaction" || effect === "statement" ? operation.prepare : undefined;
  const cost = operation.cost?.(input) ?? 1;
  // The `prepare` of a single statement only reads, so it may run again. If repetitions cost as much as the work, a
  // document of more than a minute's budget would never get to its end.
  const isOnlyOnce = cost > 1 || limits.length > 0 || (prepare && effect !== "statement");
  const onlyOnce = isOnlyOnce ? idempotency : undefined;
  const findEarlier = (known: Idempotency) => findEarlierResult<Output>(context.database, resultsOf(context), known);
  const earlier = onlyOnce && (await findEarlier(onlyOnce));
  if (earlier) return { earlier };
  try {
    // The door has charged the first request already.
    if (cost > 1) await context.charge(cost - 1);
    if (limits.length > 0) await takeUses(context, limits, input);
    return { prepared: prepare && (await prepare(context, input, team && (await readStanding(context, team, input)))) };
  } catch (error) {
    // The first request may have ended, and left a state that refuses a second one.
    const meanwhile = idempotency && error instanceof Failure && (await findEarlier(idempotency));
    if (meanwhile) return { earlier: meanwhile };
    throw error;
  }
}

type ChangingOperation<Input extends object, Output extends object> = Exclude<
  Operation<Input, Output>,
  { effect: "reads" | "ownTransactions" }
>;

/** Runs the handler in its transaction, with the caller's standing locked and the entry of the audit log. */
async function changeWithAudit<Input extends object, Output extends object>(
  operation: ChangingOperation<Input, Output>,
  here: Context,
  input: Input,
  prepared: unknown,
): Promise<Output> {
  const { name, team, audit } = operation;
  const standing = await (team && lockStanding(here, team, input));
  const output = await operation.handle(here, input, standing, prepared);
  if (typeof audit === "function") {
    await recordAudit(here, actionNamed(name), audit(here, input, output, standing), here.caller);
  }
  return output;
}

/**
 * A result may contain what only the scopes of the key in use allow, such as the secret of a new key. So the scopes are
 * part of the request: another key of the user, with other scopes, gets IdempotencyKeyReused instead of the result.
 */
const withScopes = ({ idempotency, caller }: Context): Idempotency | undefined =>
  idempotency && { ...idempotency, request: JSON.stringify([idempotency.request, [...caller.scopes].sort()]) };

const resultsOf = (context: Context): Results => ({
  userId: context.caller.userId,
  keptHours: context.resultHours,
  charge: (bytes) => spendResultBytes(context, bytes),
});

/**
 * Whether the caller was deleted during this request: then the database refuses rows that refer to them, which is not a
 * bug. False if the database does not answer.
 */
async function isCallerDeleted({ database, caller }: Context): Promise<boolean> {
  const keys = await database.models.apiKey.count({ where: { id: caller.keyId } }).catch(() => undefined);
  return keys === 0;
}

/** @throws ScopeMissing when the caller's key does not have all of the scopes; it names each that is missing. */
export function requireScopes({ caller }: Pick<Context, "caller">, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) throw new ScopeMissing(missing);
}

/** A failure that is not declared, or not with this reason, is missing from the documentation: raising it is a bug. */
export function assertDeclared({ name, failures }: Pick<Operation, "name" | "failures">, failure: Failure): void {
  if (failure instanceof CommonFailure) return;
  const documented = failures.filter((declared) => failure instanceof declared).flatMap(examplesOf);
  if (documented.some(({ reason }) => reason === failure.reason)) return;
  const reason = failure.reason === undefined ? "" : ` (${failure.reason})`;
  throw new Error(`${name} raised ${failure.name}${reason}, which it does not declare.`, { cause: failure });
}
