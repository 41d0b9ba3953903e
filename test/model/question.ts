import type { Operation } from "../../src/operation/operation.js";
import { isOffered } from "../support/mcp.js";
import { operationNamed } from "../support/operations.js";
import type { Draw } from "./draw.js";
import type { Kept, Model } from "./model.js";
import { type Caller, type Move, Unasked } from "./move.js";
import { moves } from "./moves.js";
import type { Real } from "./real.js";
import { spoiled } from "./spoil.js";

/** A call of an operation by a user at one of the doors. */
export interface Question {
  readonly operation: Operation;
  readonly me: Caller;
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether the input is out of bounds, which is checked before anything else about it. */
  readonly isSpoiled: boolean;
  /** The API key that is sent; sometimes an unknown one. */
  readonly key: string | undefined;
  readonly idempotencyKey: string | undefined;
}

/** A question drawn from the model; undefined if there is no sensible one at the moment. */
export function questionOf(
  model: Model,
  { name, door }: { readonly name: string; readonly door: Caller["door"] },
  draw: Draw,
  real?: Real,
): Question | undefined {
  const operation = operationNamed(name);
  const move = moves.get(name);
  const likely = move?.who?.(model) ?? model.users;
  const user = draw.one(draw.once(8) ? model.users : likely);
  if (!user || !move) return undefined;
  const usual = user.keys.find((known) => model.opens(known)) ?? user.keys[0];
  const key = draw.once(8) ? draw.one([...user.keys].reverse()) : usual;
  if (!key) return undefined;
  const isUnknown = draw.once(60);
  const idempotencyKey = operation.kind === "mutation" && draw.once(5) ? drawIdempotencyKey(model, draw) : undefined;
  const [wantsSpoiled, whichField, whichValue] = [draw.once(15), draw.number(1_000), draw.number(1_000)];
  const drawn = inputOf(move, model, { user, key, door }, draw);
  if (!drawn) return undefined;
  const wrong = wantsSpoiled && real && spoiled(real.schema, operation, drawn, [whichField, whichValue]);
  const input = Object.fromEntries(Object.entries(wrong || drawn).filter(([, value]) => value !== undefined));
  const isTool = operation.mcp && idempotencyKey === undefined && isOffered(operation, input);
  const secret = isUnknown ? "mg_live_unknown" : key.secret;
  return {
    operation,
    me: { user, key, door: door === "mcp" && !isTool ? "rest" : door },
    input,
    isSpoiled: Boolean(wrong),
    key: operation.permission === "public" ? undefined : secret,
    idempotencyKey,
  };
}

function inputOf(move: Move, ...circumstances: Parameters<Move["input"]>): object | undefined {
  try {
    return move.input(...circumstances);
  } catch (error) {
    if (error instanceof Unasked) return undefined;
    throw error;
  }
}

const drawIdempotencyKey = ({ kept }: Model, draw: Draw): string =>
  (draw.once(3) ? draw.one(kept)?.idempotencyKey : undefined) ?? `try-${kept.length}`;

/** The same question for another copy of the model. */
export function within(model: Model, question: Question): Question {
  const user = model.users.find(({ id }) => id === question.me.user.id) ?? question.me.user;
  const key = user.keys.find(({ id }) => id === question.me.key.id) ?? question.me.key;
  return { ...question, me: { ...question.me, user, key } };
}

/** Repeats a change with its Idempotency-Key, by any key of the same user. */
export function questionAgain(model: Model, draw: Draw): Question | undefined {
  const kept: Kept | undefined = draw.one(model.kept);
  if (!kept) return undefined;
  const { user, idempotencyKey, operation, input } = kept;
  const key = draw.once(4) ? draw.one(user.keys) : user.keys.find((known) => model.opens(known));
  if (!key) return undefined;
  const door = draw.once(6) ? draw.one(["rest", "graphql"] as const) : kept.door;
  const what = { operation: operationNamed(operation), input: { ...input }, isSpoiled: false };
  return { ...what, me: { user, key, door }, key: key.secret, idempotencyKey };
}

/** In words: `ann updateMemory {id: "memory 3", title: …} by rest`. */
export function told(model: Model, { operation, me, input, key, idempotencyKey }: Question): string {
  const who = /^[^.@]+/.exec(me.user.email)?.[0] ?? "";
  const what = model.readable(JSON.stringify(input)).replaceAll(/"(\w+)":/g, "$1: ");
  const isOther = key !== undefined && key !== me.user.keys[0]?.secret;
  const how = isOther ? ` with ${key === me.key.secret ? model.readable(me.key.id) : "an unknown key"}` : "";
  const once = idempotencyKey === undefined ? "" : `, once as "${idempotencyKey}"`;
  return `${who} ${operation.name} ${what}${how} by ${me.door}${once}`;
}
