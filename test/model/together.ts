import { setTimeout as sleep } from "node:timers/promises";
import { Draw } from "./draw.js";
import { newsOf } from "./events.js";
import { type AnsweredQuestion, answered, inWords, judgeTogether } from "./judge.js";
import { type Model, presentOf } from "./model.js";
import { type Question, questionAgain, told } from "./question.js";
import type { Real } from "./real.js";
import { Asking, type Choice, drawn } from "./step.js";

/** Of so many requests that are drawn, those are sent together that touch the same things. */
export const DRAWN_TOGETHER = 16;
/** By so much a request begins later than the others, at most. */
const LATER_MAX_MS = 8;
/** So many answers of the payment provider are late beside news, by so much at most. */
const LATE_ANSWERS = 6;
const LATE_MAX_MS = 120;

/** Several operations at the same moment, at any of the servers. The first one is a change. */
export class Together extends Asking {
  constructor(
    private readonly size: number,
    private readonly choices: readonly Choice[],
    private readonly numbers: readonly number[],
    /** Decides which news of payments come at the same moment, and how late the payment provider answers. */
    private readonly news?: readonly number[],
  ) {
    super();
  }

  check = (model: Readonly<Model>): boolean => this.questions(model as Model, new Draw(this.numbers)) !== undefined;

  async ask(model: Model, real: Real): Promise<void> {
    const draw = new Draw(this.numbers);
    const questions = this.questions(model, draw, real) ?? [];
    this.told = `at once: ${questions.map((question) => told(model, question)).join("\n     and: ")}`;
    const ways = questions.map((question) => {
      return { question, url: draw.one(real.urls) ?? real.url, later: draw.one([0, draw.number(LATER_MAX_MS)]) };
    });
    const { stripe } = real.world;
    const news = this.newsBeside(questions, model, real);
    const meetsRenewal = news.some(({ isRenewal }) => isRenewal);
    const asking = ways.map(async ({ question, url, later }): Promise<AnsweredQuestion> => {
      await sleep(later);
      return { question, verdict: await answered(real, question, url, meetsRenewal) };
    });
    const happening = news.map(async ({ happen, later }) => {
      await sleep(later);
      return happen();
    });
    const [asked, happened] = await real.unevenly(() => Promise.all([Promise.all(asking), Promise.all(happening)]));
    stripe.clearFaults();
    await stripe.delivered();
    this.told += news.map(({ told }) => `\n  beside: ${told}`).join("");
    this.told += ` → ${asked.map(({ verdict }) => inWords(verdict)).join(" and ")}`;
    await judgeTogether(
      model,
      real,
      asked,
      happened.filter((change) => change !== undefined),
    );
  }

  /** Each answer of the payment provider is late by another time, in which others can come between. */
  private newsBeside([first]: readonly Question[], model: Model, real: Real) {
    const team = first && model.teamOf(first.me.user);
    if (!this.news || !team?.billing.hasCustomer) return [];
    const draw = new Draw(this.news);
    for (let answer = 0; answer < LATE_ANSWERS; answer++)
      real.world.stripe.fail({ kind: "slow", delayMs: draw.number(LATE_MAX_MS) });
    return newsOf(team, model, real, draw).map((each) => ({ ...each, later: draw.number(LATE_MAX_MS) }));
  }

  /** A change, and others: the same again, the same by somebody else, or what touches the same things. */
  private questions(model: Model, draw: Draw, real?: Real): readonly Question[] | undefined {
    const ask = (choice: Choice): Question[] => inOnePage(drawn(model, choice, real));
    const choice = this.choices.find((each) => ask(each).some(isChange));
    const [change] = choice ? ask(choice) : [];
    if (!choice || !change || (this.news && !model.teamOf(change.me.user))) return undefined;
    const first = draw.once(3) ? { ...change, ...onlyOnce(model, change) } : change;
    const questions = [first];
    const others = this.choices.filter((each) => each !== choice).flatMap(ask);
    const again = questionAgain(model, draw);
    if (again) others.push(again);
    while (questions.length < this.size) {
      const [usual = 0, , ...further] = choice.numbers;
      const [alike] = ask({ ...choice, numbers: [usual, draw.number(65_536), ...further] });
      const near = nearest(model, first, others, draw);
      const next = draw.one([near, near, near, alike, { ...first }]) ?? near;
      if (!next) return undefined;
      others.splice(others.indexOf(next), others.includes(next) ? 1 : 0);
      questions.push(next);
    }
    return questions.some((one) => questions.some((other) => one !== other && excludes(one, other)))
      ? undefined
      : questions;
  }
}

const isChange = ({ operation }: Question): boolean => operation.kind === "mutation";

/** Several pages are read at different moments and may show different states, so a list must fit into one page. */
function inOnePage(question: Question | undefined): Question[] {
  if (!question || question.isSpoiled || question.input["limit"] === undefined) return question ? [question] : [];
  // A search that explains its hits has only one page, with fewer hits.
  return question.input["explain"] === true ? [question] : [{ ...question, input: { ...question.input, limit: 100 } }];
}

/** Requests for agents have no Idempotency-Key. */
const onlyOnce = ({ kept }: Model, { me, idempotencyKey = `try-${kept.length}` }: Question) =>
  me.door === "mcp" ? {} : { idempotencyKey };

/** Whether one has the other's Idempotency-Key, and asks the payment provider for something else before it knows. */
function excludes(one: Question, other: Question): boolean {
  const isPrepared = one.operation.effect === "transaction" && one.operation.prepare !== undefined;
  const isSameKey = one.idempotencyKey !== undefined && one.idempotencyKey === other.idempotencyKey;
  return isPrepared && isSameKey && one.me.user.id === other.me.user.id && !isSameRequest(one, other);
}

const isSameRequest = (one: Question, other: Question): boolean =>
  one.operation === other.operation && JSON.stringify(one.input) === JSON.stringify(other.input);

/** The first of the others that shares so many things with a question as are drawn, or else that shares the most. */
function nearest(model: Model, question: Question, others: readonly Question[], draw: Draw): Question | undefined {
  const things = thingsOf(model, question);
  const shared = (other: Question) => [...thingsOf(model, other)].filter((thing) => things.has(thing)).length;
  const sharedBy = new Map(others.map((other) => [other, shared(other)]));
  const wanted = Math.min(draw.number(5), Math.max(...sharedBy.values()));
  return others.find((other) => (sharedBy.get(other) ?? 0) >= wanted);
}

/** The names of things: ids, tokens, addresses. */
const NAMES = /[\w.@-]{12,}/g;

/** What a question is about: what it names and what this belongs to, its caller's key, and their team or account. */
function thingsOf(model: Model, { input, me }: Question): Set<string> {
  const things = new Set(JSON.stringify(input).match(NAMES));
  for (const { id, token, email, team } of model.invitations) {
    if ([id, token, email].some((name) => things.has(name))) things.add(id).add(email).add(team.id);
  }
  for (const { id, from, to } of model.links) if (things.has(id)) things.add(from.id).add(to.id);
  for (const memory of model.memories) if (things.has(presentOf(memory).clientId ?? "")) things.add(memory.id);
  return things.add(me.key.id).add(model.teamOf(me.user)?.id ?? me.user.id);
}
