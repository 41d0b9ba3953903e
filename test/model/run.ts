import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { createUser } from "../../src/features/access/index.js";
import { keyFrom } from "./access-moves.js";
import { Disagreement } from "./agree.js";
import { CheckoutPaid, MonthPasses, NewsAgain, TimePasses } from "./events.js";
import { type Candidate, type Failed, Place, shortened } from "./attempt.js";
import { Model, type User } from "./model.js";
import { operations } from "../../src/operations.js";
import { moves } from "./moves.js";
import type { Real, Way } from "./real.js";
import { Again, type Choice, Step } from "./step.js";
import { DRAWN_TOGETHER, Together } from "./together.js";

export interface Wishes {
  readonly steps: number;
  readonly seed: number;
  /** The commands of that seed to run again, as a failure's report gives them; undefined to look for a failure. */
  readonly path?: string | undefined;
  /** How the service connects to its database. */
  readonly way?: Way;
  /** So many requests are often sent at the same moment, to two servers; undefined: rarely two, to one. */
  readonly together?: number | undefined;
}

/** The result: nothing, or the shortest sequence of commands that still fails. */
export interface Found {
  readonly steps: number;
  readonly failure?: string;
}

/** The most commands in a run: more make a failure hard to read, fewer create too little state. */
const COMMANDS_MAX = 250;

const numbers = fc.array(fc.nat({ max: 65_535 }), { minLength: 24, maxLength: 24 });
const door = fc.constantFrom("rest" as const, "graphql" as const, "mcp" as const);

/** Every operation, as often as its move's weight says. */
const choice: fc.Arbitrary<Choice> = fc.oneof(
  ...Array.from(moves, ([name, { weight }]) => {
    return { weight, arbitrary: fc.record({ name: fc.constant(name), door, numbers }) };
  }),
);

/** What changes a team's payments, or who may do so, each as often. */
const OF_PAYMENTS = [
  ...operations.flatMap(({ name, permission }) => (permission.startsWith("billing:") ? [name] : [])),
  "updateTeam",
  "deleteTeam",
  "leaveTeam",
  "transferTeam",
  "removeMember",
  "inviteMember",
  "acceptInvitation",
  "deleteAccount",
];
const choiceOfPayments: fc.Arbitrary<Choice> = fc.record({ name: fc.constantFrom(...OF_PAYMENTS), door, numbers });

const severalOf = (one: fc.Arbitrary<Choice>) =>
  fc.array(one, { minLength: DRAWN_TOGETHER, maxLength: DRAWN_TOGETHER });
/** Requests, alone or some at once, and events without a request. */
const commandOf = (together: number | undefined): fc.Arbitrary<fc.AsyncCommand<Model, Real>> =>
  fc.oneof(
    { weight: 130, arbitrary: choice.map((drawn): fc.AsyncCommand<Model, Real> => new Step(drawn)) },
    {
      weight: together === undefined ? 16 : 130,
      arbitrary: fc.tuple(severalOf(choice), numbers).map((drawn) => new Together(together ?? 2, ...drawn)),
    },
    {
      weight: together === undefined ? 0 : 65,
      arbitrary: fc
        .tuple(severalOf(choiceOfPayments), numbers, numbers)
        .map((drawn) => new Together(together ?? 2, ...drawn)),
    },
    { weight: 6, arbitrary: numbers.map((drawn) => new Again(drawn)) },
    { weight: 4, arbitrary: numbers.map((drawn) => new TimePasses(drawn)) },
    { weight: together === undefined ? 4 : 12, arbitrary: numbers.map((drawn) => new CheckoutPaid(drawn)) },
    { weight: 1, arbitrary: numbers.map((drawn) => new MonthPasses(drawn)) },
    { weight: 1, arbitrary: numbers.map((drawn) => new NewsAgain(drawn)) },
  );

/** The commands of a seed. They are the same each time, because all are drawn before the first one runs. */
function commandsOf({ seed, together }: Pick<Wishes, "seed" | "together">): Candidate[] {
  // Each as likely as its weight: otherwise fast-check would try the simplest values first.
  const sequence = fc.noBias(fc.array(commandOf(together), { minLength: 1, maxLength: COMMANDS_MAX, size: "max" }));
  const [commands = []] = fc.sample(sequence, { seed, numRuns: 1 });
  return commands.map((each, index) => ({ index, command: each }));
}

/** Runs sequences of commands until the given number of commands is reached or one fails. */
export async function lookForDisagreement(wishes: Wishes, progress: (steps: number) => void): Promise<Found> {
  await using place = new Place(newModel, { way: wishes.way, isDouble: wishes.together !== undefined });
  const kept = wishes.path?.split(",").map(Number);
  for (let run = 0, steps = 0; ; run++) {
    const seed = wishes.seed + run;
    const all = commandsOf({ ...wishes, seed });
    const wanted = kept ? all.filter(({ index }) => kept.includes(index)) : all.slice(0, wishes.steps - steps);
    const outcome = await place.attempt(wanted);
    steps += outcome.ran.length;
    if ("error" in outcome)
      return { steps, failure: report(outcome, await shortened(place, outcome), { ...wishes, seed }) };
    progress(steps);
    if (steps >= wishes.steps || kept) return { steps };
  }
}

const PEOPLE = [
  { who: "ann", verified: true },
  { who: "bob", verified: true },
  { who: "cid", verified: true },
  { who: "dora", verified: true },
  { who: "eve", verified: false },
];

/** A model of the world as each run finds it: a few users with one key each. */
export async function newModel({ world }: Real): Promise<Model> {
  const model = new Model(randomUUID().slice(0, 8));
  for (const { who, verified } of PEOPLE) {
    const email = `${who}.${model.name}@example.com`;
    const { userId, apiKey } = await createUser(world.services, { email, plan: "pro", verified });
    const user: User = { id: userId, email, verified, name: null, keys: [], personal: { team: null } };
    user.keys.push(keyFrom(model, user, { ...apiKey, createdAt: apiKey.createdAt.toISOString() }, null));
    model.christen("user", userId);
    model.christen("key", apiKey.id);
    model.users.push(user);
  }
  return model;
}

/** What is needed to investigate a failure. */
function report(first: Failed, { ran, error }: Failed, { seed, together }: Wishes): string {
  const lines = ran.map(({ line }, index) => `  ${index + 1}. ${line}`);
  return `The service and its model say different things. Of ${first.ran.length} commands it takes these ${lines.length}:

${lines.join("\n")}

${reasonOf(error)}

Before it was made shorter: ${first.ran.at(-1)?.line}
${reasonOf(first.error)}

To see it again: MODEL_SEED=${seed} MODEL_PATH=${ran.map(({ index }) => index).join()} npm run model${
    together === undefined ? "" : ` -- --together ${together}`
  }`;
}

const reasonOf = (error: unknown): string | undefined =>
  error instanceof Error && !(error instanceof Disagreement) ? error.stack : String(error);
