import { setTimeout as sleep } from "node:timers/promises";
import type fc from "fast-check";
import { Draw } from "./draw.js";
import { answered, inWords, judge } from "./judge.js";
import type { Model } from "./model.js";
import type { Caller } from "./move.js";
import { type Question, questionAgain, questionOf, told } from "./question.js";
import type { Real } from "./real.js";

/** Which operation at which door, and the numbers that decide everything else. */
export interface Choice {
  readonly name: string;
  readonly door: Caller["door"];
  readonly numbers: readonly number[];
}

/** No requests are sent this close to the end of something: the service reads its clock a little later. */
const UNCLEAR_MS = 1_000;

/** A command that sends requests and compares the results with the model. */
export abstract class Asking implements fc.AsyncCommand<Model, Real> {
  protected told = "";

  abstract check(model: Readonly<Model>): boolean;
  abstract ask(model: Model, real: Real): Promise<void>;

  toString = (): string => this.told;

  async run(model: Model, real: Real): Promise<void> {
    this.told = "";
    for (let [end] = model.ends(); end !== undefined && end - model.now() < UNCLEAR_MS; [end] = model.ends()) {
      await sleep(end - model.now() + 2);
    }
    await this.ask(model, real);
  }
}

/** One operation. */
export class Step extends Asking {
  constructor(private readonly choice: Choice) {
    super();
  }

  check = (model: Readonly<Model>): boolean => drawn(model as Model, this.choice) !== undefined;

  async ask(model: Model, real: Real): Promise<void> {
    const question = drawn(model, this.choice, real);
    if (!question) return;
    this.told = told(model, question);
    const verdict = await answered(real, question);
    this.told += ` → ${inWords(verdict)}`;
    await judge(model, real, question, verdict);
  }
}

export const drawn = (model: Model, choice: Choice, real?: Real): Question | undefined =>
  questionOf(model, choice, new Draw(choice.numbers), real);

/** A change with an Idempotency-Key, repeated. */
export class Again extends Asking {
  constructor(private readonly numbers: readonly number[]) {
    super();
  }

  check = (model: Readonly<Model>): boolean => questionAgain(model as Model, new Draw(this.numbers)) !== undefined;

  async ask(model: Model, real: Real): Promise<void> {
    const question = questionAgain(model, new Draw(this.numbers));
    if (!question) return;
    this.told = `again: ${told(model, question)}`;
    const verdict = await answered(real, question);
    this.told += ` → ${inWords(verdict)}`;
    await judge(model, real, question, verdict);
  }
}
