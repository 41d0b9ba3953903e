import { setTimeout as sleep } from "node:timers/promises";
import { LEASE_MS } from "../../src/features/billing/lock.js";
import { scopesOf } from "../../src/operation/permission.js";
import { keepsResults } from "../../src/operation/operation.js";
import { Disagreement, difference, partOf } from "./agree.js";
import { type Answered, type Verdict, askDoor } from "./doors.js";
import { assertInvariants } from "./invariants.js";
import { KEPT_MS, type Kept, type Model } from "./model.js";
import { type Caller, type Expected, Refused } from "./move.js";
import { moves } from "./moves.js";
import { type Question, within } from "./question.js";
import type { Real } from "./real.js";

const PAGES_MAX = 200;
const BUSY_TRIES = 5;
const BUSY_PAUSE_MS = 2_000;

/**
 * On a busy machine the service may say so, or may lose a billing lock, which takes as long as a lease. A renewal at the
 * same moment may refuse a decrease. Such a request is retried.
 */
async function patiently(ask: () => Promise<Verdict>, meetsRenewal: boolean): Promise<Verdict> {
  for (let tries = 1; ; tries++) {
    const startedAt = performance.now();
    const verdict = await ask();
    if (verdict.ok || tries === BUSY_TRIES) return verdict;
    const mayFail = meetsRenewal || performance.now() - startedAt >= LEASE_MS;
    if (verdict.code !== "unavailable" && !(verdict.code === "payment_provider_error" && mayFail)) return verdict;
    await sleep(BUSY_PAUSE_MS);
  }
}

/** The service's answer, with all pages of a list joined: each page continues where the previous one ended. */
export async function answered(real: Real, question: Question, url = real.url, meetsRenewal = false): Promise<Verdict> {
  const { operation, me, input, key, idempotencyKey } = question;
  const { schema } = real;
  const ask = (cursor?: unknown) => {
    const { offset: _, ...further } = input;
    const whole = cursor === undefined ? input : { ...further, cursor };
    const asked = { url, schema, door: me.door, operation, key, idempotencyKey, input: whole };
    return patiently(() => askDoor(asked), meetsRenewal);
  };
  const first = await ask();
  if (!first.ok || first.output?.["nextCursor"] === undefined) return first;
  const fields = Object.keys(first.output).filter((field) => Array.isArray(first.output?.[field]));
  const lists = new Map(fields.map((field): [string, unknown[]] => [field, []]));
  let page: Verdict = first;
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    if (!page.ok) throw new Disagreement(`A next page was refused: ${inWords(page)}.`);
    for (const [field, items] of lists) items.push(...(page.output?.[field] as unknown[]));
    const cursor = page.output?.["nextCursor"];
    if (cursor === null) return { ok: true, output: { ...page.output, ...Object.fromEntries(lists) } };
    page = await ask(cursor);
  }
  throw new Disagreement(`The list "${fields.join()}" did not end after ${PAGES_MAX} pages.`);
}

export const inWords = (verdict: Verdict): string =>
  verdict.ok ? "done" : [verdict.code, verdict.reason].filter(Boolean).join(", ");

/**
 * Compares what the service said with what the model says, and brings the model to where the service is now.
 * @throws Disagreement
 */
export async function judge(model: Model, real: Real, question: Question, verdict: Verdict): Promise<void> {
  const expected = predicted(model, question);
  if (expected instanceof Refused) return assertRefused(verdict, expected);
  if (!verdict.ok) throw new Disagreement(`It was refused (${inWords(verdict)}); the model says it must be done.`);
  const { output, has = "everything" } = verdict;
  const { list } = expected;
  const told = list ? { [list.field]: list.items } : (expected.output ?? {});
  const differs =
    output &&
    has !== "what fits" &&
    (difference(has === "some" ? partOf(told, output) : told, output) ?? expected.check?.(output));
  if (differs) throw new Disagreement(differs);
  if (!("isReplay" in expected)) await take(model, real, question, { expected, output: output ?? {} });
}

function assertRefused(verdict: Verdict, { code, reason }: Refused): void {
  if (!verdict.ok && verdict.code === code && verdict.reason === reason) return;
  const wanted = inWords({ ok: false, code, reason, status: 0 });
  throw new Disagreement(
    `It was ${verdict.ok ? "" : "refused: "}${inWords(verdict)}; the model says refused: ${wanted}.`,
  );
}

type Replay = Expected & { readonly isReplay: true };

function predicted(model: Model, question: Question): Expected | Replay | Refused {
  const { operation, me, input, isSpoiled, key, idempotencyKey } = question;
  const isPublic = operation.permission === "public";
  try {
    const isKnown = model.users.includes(me.user) && key === me.key.secret && model.opens(me.key);
    if (!isPublic && !isKnown) throw new Refused("unauthorized");
    const isAllowed = scopesOf(operation.permission).every((scope) => me.key.scopes.includes(scope));
    if (!isAllowed && me.door === "mcp") throw new Refused("not_found", "no_tool");
    if (isSpoiled) throw new Refused("bad_request");
    const move = moves.get(operation.name);
    if (!move) throw new Error(`No command asks for ${operation.name}.`);
    move.check?.(input);
    if (!isAllowed) throw new Refused("forbidden", "scope_missing");
    if (idempotencyKey !== undefined && keepsResults(operation)) {
      const earlier = model.kept.filter((kept) => isKeptUnder(model, kept, me, idempotencyKey));
      if (earlier.some((kept) => !isSame(kept, question))) throw new Refused("conflict", "idempotency_key_reused");
      const [first] = earlier;
      if (first) return { output: first.output, isReplay: true };
    }
    return move.expect(model, me, input);
  } catch (error) {
    if (error instanceof Refused) return error;
    throw error;
  }
}

const isKeptUnder = (model: Model, kept: Kept, { user }: Caller, idempotencyKey: string): boolean =>
  kept.user === user && kept.idempotencyKey === idempotencyKey && kept.keptAt + KEPT_MS > model.now();

const isSame = ({ operation, door, scopes, input }: Kept, question: Question): boolean =>
  operation === question.operation.name &&
  door === question.me.door &&
  String(scopes) === String(question.me.key.scopes.toSorted()) &&
  JSON.stringify(input) === JSON.stringify(question.input);

/** The kinds of objects that operations create, as people call them. */
const MADE: Readonly<Record<string, string>> = {
  createMemory: "memory",
  createRelationship: "link",
  createTeam: "team",
  inviteMember: "invitation",
  createApiKey: "key",
  rotateApiKey: "key",
  confirmSignUp: "key",
};

async function take(
  model: Model,
  real: Real,
  { operation, me, input, key, idempotencyKey }: Question,
  { expected, output }: { expected: Expected; output: Answered },
): Promise<void> {
  const made = MADE[operation.name];
  if (made !== undefined) model.christen(made, String(output["id"]));
  await expected.effect?.(output, real);
  const note = expected.audit?.(output);
  const isPublic = key === undefined;
  if (note) {
    const actorId = isPublic ? String(output["userId"]) : me.user.id;
    const keyId = isPublic ? String(output["id"]) : me.key.id;
    model.audit.push({ action: operation.name, actorId, keyId, door: me.door, ...note });
  }
  if (idempotencyKey !== undefined && keepsResults(operation)) {
    const kept = { user: me.user, idempotencyKey, operation: operation.name, door: me.door, input };
    model.kept.push({ ...kept, scopes: me.key.scopes.toSorted(), output, keptAt: model.now() });
  }
}

/**
 * Judges simultaneous requests: all answers, and the database afterwards, must be as if they had come one after the
 * other, in any order.
 * @throws Disagreement that says what is wrong with each order.
 */
export async function judgeTogether(
  model: Model,
  real: Real,
  asked: readonly AnsweredQuestion[],
  changes: readonly Change[] = [],
): Promise<void> {
  const reasons: string[] = [];
  const all = [...asked, ...changes];
  for (const order of ordersOf(all)) {
    const copy = model.copy();
    try {
      for (const each of order) {
        if (typeof each === "function") each(copy);
        else if (!isTurnedAway(each.question, each.verdict, asked))
          await judge(copy, real, within(copy, each.question), each.verdict);
      }
      await assertState(copy, real, Math.max(0, copy.audit.length - model.audit.length));
      model.become(copy);
      return;
    } catch (error) {
      if (!(error instanceof Disagreement)) throw error;
      reasons.push(`${order.map((each) => all.indexOf(each) + 1).join()}: ${error.message}`);
    }
  }
  throw new Disagreement(`No order of them explains it.\n${reasons.join("\n")}`);
}

const ordersOf = <Item>(items: readonly Item[]): Item[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((first) => ordersOf(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));

/**
 * As `assertInvariants`, with the new audit entries in any order: which graph a request is about may be read before
 * another one's effect, and its audit entry written after.
 */
async function assertState(model: Model, real: Real, entries: number): Promise<void> {
  const [asJudged = [], ...others] = ordersOf(model.audit.splice(model.audit.length - entries));
  const before = model.audit;
  const assertWith = (last: typeof before) => {
    model.audit = [...before, ...last];
    return assertInvariants(model, real);
  };
  try {
    await assertWith(asJudged);
  } catch (error) {
    for (const other of others)
      if (
        await assertWith(other).then(
          () => true,
          () => false,
        )
      )
        return;
    throw error;
  }
}

/** What happened at the same moment without a request. */
export type Change = (model: Model) => void;

export interface AnsweredQuestion {
  readonly question: Question;
  readonly verdict: Verdict;
}

/** While a request with an Idempotency-Key is running, another one with that key is refused and must be retried. */
function isTurnedAway(asked: Question, verdict: Verdict, all: readonly AnsweredQuestion[]): boolean {
  const isBusy = !verdict.ok && verdict.reason === "idempotency_in_progress";
  const { idempotencyKey, me } = asked;
  return (
    isBusy &&
    all.some(
      ({ question }) =>
        question !== asked && question.idempotencyKey === idempotencyKey && question.me.user.id === me.user.id,
    )
  );
}
