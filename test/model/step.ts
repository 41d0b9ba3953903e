import { setTimeout as sleep } from "node:timers/promises";
import type fc from "fast-check";
import { Draw } from "./draw.js";
import { answered, inWords, judge, judgeBoth } from "./judge.js";
import type { Model } from "./model.js";
import type { Caller } from "./move.js";
import { moves } from "./moves.js";
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
abstract class Asking implements fc.AsyncCommand<Model, Real> {
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

const drawn = (model: Model, choice: Choice, real?: Real): Question | undefined =>
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

/** Two operations at the same moment. */
export class Together extends Asking {
  constructor(private readonly choices: readonly [Choice, Choice]) {
    super();
  }

  check = (model: Readonly<Model>): boolean =>
    this.choices.every((choice) => !moves.get(choice.name)?.alone && drawn(model as Model, choice) !== undefined);

  async ask(model: Model, real: Real): Promise<void> {
    const [one, other] = this.choices.map((choice) => inOnePage(drawn(model, choice, real)));
    if (!one || !other) return;
    this.told = `at once: ${told(model, one)}\n     and: ${told(model, other)}`;
    const [first, second] = await Promise.all([answered(real, one), answered(real, other)]);
    this.told += ` → ${inWords(first)} and ${inWords(second)}`;
    await judgeBoth(model, real, [
      { question: one, verdict: first },
      { question: other, verdict: second },
    ]);
  }
}

/** Several pages are read at different moments and may show different states, so a list must fit into one page. */
function inOnePage(question: Question | undefined): Question | undefined {
  if (!question || question.isSpoiled || question.input["limit"] === undefined) return question;
  // A search that explains its hits has only one page, with fewer hits.
  return question.input["explain"] === true ? question : { ...question, input: { ...question.input, limit: 100 } };
}
