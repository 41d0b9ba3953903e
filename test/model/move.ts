import type { FailureKind } from "../../src/operation/failure.js";
import type { AuditEntry, Graph, Key, Model, User } from "./model.js";
import type { Draw } from "./draw.js";
import type { Real } from "./real.js";

/** Who asks, with which key, at which door. */
export interface Caller {
  readonly user: User;
  readonly key: Key;
  readonly door: "rest" | "graphql" | "mcp";
}

/** What the model says comes of an operation. */
export interface Expected {
  /** As much of the answer as the model knows. */
  readonly output?: unknown;
  /** All that the pages hold, joined. */
  readonly list?: { readonly field: string; readonly items: readonly unknown[] };
  /** Answers with what is wrong, where a pattern cannot say it. */
  check?(output: Readonly<Record<string, unknown>>): string | undefined;
  /** What the audit tells of it beside who, when and how. */
  audit?(output: Readonly<Record<string, unknown>>): Pick<AuditEntry, "teamId" | "subject" | "detail">;
  /** What changes in the model. */
  effect?(output: Readonly<Record<string, unknown>>, real: Real): Promise<void> | void;
}

/** How one operation is asked for, and what comes of it. */
export interface Move<Input extends object = object> {
  /** How often it is chosen, compared with others. */
  readonly weight: number;
  /** Asked for by itself: what the same person does at the same moment may see half of what it does. */
  readonly alone?: true;
  /** Who is likely to ask for it and be let; everybody unless given. */
  who?(model: Model): readonly User[];
  /** @throws Unasked where it would be no honest question, such as one that a limit of requests in a time refuses. */
  input(model: Model, me: Caller, draw: Draw): Input;
  /** @throws Refused, if the service must refuse such an input before it looks for an earlier result. */
  check?(input: Input): void;
  /** @throws Refused, if the service must refuse it. */
  expect(model: Model, me: Caller, input: Input): Expected;
}

/** Checks a move against the type of its own input. */
export const defineMove = <Input extends object>(move: Move<Input>): Move => move;

/** There is nothing to be asked. */
export class Unasked extends Error {}

/** The service must refuse, in this way. */
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

/** Most leave it to the service. */
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
 * One of these as a rule; at times one that is another's, or gone, or of another kind, or never was, or no id at all.
 * @throws Unasked as a rule where there are none.
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
