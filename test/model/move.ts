import type { FailureKind } from "../../src/operation/failure.js";
import type { AuditEntry, Graph, Key, Model, User } from "./model.js";
import type { Draw } from "./draw.js";
import type { Real } from "./real.js";

/** Who calls, with which key, at which door. */
export interface Caller {
  readonly user: User;
  readonly key: Key;
  readonly door: "rest" | "graphql" | "mcp";
}

/** The result that the model expects of an operation. */
export interface Expected {
  /** The part of the answer that the model knows. */
  readonly output?: unknown;
  /** The items of all pages, joined. */
  readonly list?: { readonly field: string; readonly items: readonly unknown[] };
  /** Returns what is wrong, for conditions that a pattern cannot express. */
  check?(output: Readonly<Record<string, unknown>>): string | undefined;
  /** What the audit log records besides who, when and how. */
  audit?(output: Readonly<Record<string, unknown>>): Pick<AuditEntry, "teamId" | "subject" | "detail">;
  /** Applies the change to the model. */
  effect?(output: Readonly<Record<string, unknown>>, real: Real): Promise<void> | void;
}

/** How to call one operation, and what to expect. */
export interface Move<Input extends object = object> {
  /** How often it is chosen, relative to others. */
  readonly weight: number;
  /** The users who are likely to call it successfully; all users unless given. */
  who?(model: Model): readonly User[];
  /** @throws Unasked when there is no sensible input, for example because a rate limit would refuse it. */
  input(model: Model, me: Caller, draw: Draw): Input;
  /** @throws Refused if the service must refuse this input before it looks for an earlier result. */
  check?(input: Input): void;
  /** @throws Refused if the service must refuse it. */
  expect(model: Model, me: Caller, input: Input): Expected;
}

/** Checks a move against the type of its own input. */
export const defineMove = <Input extends object>(move: Move<Input>): Move => move;

/** There is nothing to call. */
export class Unasked extends Error {}

/** The service must refuse with this code and reason. */
export class Refused extends Error {
  constructor(
    readonly code: FailureKind,
    readonly reason?: string,
  ) {
    super(reason ?? code);
  }
}

export function refuse(code: FailureKind, reason?: string): never {
  throw new Refused(code, reason);
}

function nothingToAsk(): never {
  throw new Unasked();
}

export type GraphChoice = "personal" | "team" | undefined;

/** Mostly undefined: the service chooses the graph. */
export const drawGraph = (draw: Draw): GraphChoice =>
  draw.once(8) ? draw.one(["personal", "team"] as const) : undefined;

export function graphOf(model: Model, { user }: Caller, choice: GraphChoice): Graph {
  const team = model.teamOf(user);
  if (choice === "team" && !team) return refuse("not_found", "no_team");
  return choice === "personal" ? user.personal : (team?.graph ?? user.personal);
}

interface Named {
  readonly id: string;
}

/**
 * Mostly one of the caller's ids; sometimes another user's, a deleted, unknown or invalid id, or one of another kind.
 * @throws Unasked, mostly, if the caller has none.
 */
export function drawId(model: Model, draw: Draw, mine: readonly Named[], all: readonly Named[]): string {
  const odd = draw.number(12);
  const others = all.filter((one) => !mine.includes(one));
  if (odd === 11) return draw.one(others)?.id ?? NOBODYS;
  if (odd < 10) return (draw.one(mine) ?? nothingToAsk()).id;
  const { memories, teams, links, users, goneIds } = model;
  const ids = [memories, teams, links, users].map((kind) => draw.one<Named>(kind)?.id);
  return draw.one([NOBODYS, "no-id", draw.one(goneIds), ...ids]) ?? NOBODYS;
}

const NOBODYS = "01890000-0000-7000-8000-000000000000";
