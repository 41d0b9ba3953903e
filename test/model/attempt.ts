import fc from "fast-check";
import { operations } from "../../src/operations.js";
import { assertInvariants } from "./invariants.js";
import type { Model } from "./model.js";
import { type Real, type Service, startReal } from "./real.js";

/** A command, and its position among the commands of its seed. */
export interface Candidate {
  readonly index: number;
  readonly command: fc.AsyncCommand<Model, Real>;
}

/** A command that was run, in words. */
interface Ran extends Candidate {
  readonly line: string;
}

/** The result of a sequence of commands: those that could be run, up to the one that failed. */
export interface Passed {
  readonly ran: readonly Ran[];
}
export interface Failed extends Passed {
  readonly error: unknown;
}

/** A new service starts after this many steps: a full one answers more slowly, and has more ids of other runs. */
const STEPS_OF_A_WORLD = 1_500;
/** The database is checked after this many commands; in short sequences after each. */
const INVARIANTS_EVERY = 40;
const FEW = 12;

/** The service for successive runs. Replaced when it holds much, and after each failure, which may have broken it. */
export class Place implements AsyncDisposable {
  #real: Real | undefined;
  #steps = 0;

  constructor(
    private readonly newModel: (real: Real) => Promise<Model>,
    private readonly service: Service,
  ) {}

  async attempt(candidates: readonly Candidate[]): Promise<Passed | Failed> {
    if (this.#steps >= STEPS_OF_A_WORLD) await this[Symbol.asyncDispose]();
    const real = (this.#real ??= await startReal(this.service));
    const model = await this.newModel(real);
    const ran: Ran[] = [];
    const every = candidates.length <= FEW ? 1 : INVARIANTS_EVERY;
    const noted = candidates.map(({ index, command }) => ({
      check: (known: Readonly<Model>) => command.check(known),
      toString: () => command.toString(),
      async run(known: Model, service: Real) {
        try {
          await command.run(known, service);
        } finally {
          ran.push({ index, command, line: command.toString() });
        }
        if (ran.length % every === 0) await assertInvariants(known, service);
      },
    }));
    try {
      await fc.asyncModelRun(() => ({ model, real }), noted);
      await assertInvariants(model, real);
      this.#steps += ran.length;
      return { ran };
    } catch (error) {
      await this[Symbol.asyncDispose]();
      return { ran, error };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const real = this.#real;
    this.#real = undefined;
    this.#steps = 0;
    await real?.[Symbol.asyncDispose]();
  }
}

/** A failure is shortened for at most this long. */
const SHORTENING_MAX_MS = 240_000;

/**
 * The fewest commands that still fail. Leaves out those that changed nothing, then ever smaller parts. fast-check's own
 * shrinking removes the beginning first, where teams and memories are created, and needs a new service for most tries.
 */
export async function shortened(place: Place, failed: Failed): Promise<Failed> {
  const until = performance.now() + SHORTENING_MAX_MS;
  let shortest = failed;
  const failsWith = async (fewer: readonly Candidate[]): Promise<boolean> => {
    if (fewer.length === 0 || fewer.length >= shortest.ran.length || performance.now() > until) return false;
    const outcome = await place.attempt(fewer);
    if ("error" in outcome) shortest = outcome;
    return "error" in outcome;
  };
  await failsWith(shortest.ran.filter((each, index, { length }) => !changesNothing(each) || index === length - 1));
  for (let size = Math.ceil(shortest.ran.length / 2), before = Infinity; size > 0;) {
    for (let start = 0; start < shortest.ran.length;) {
      const { ran } = shortest;
      if (!(await failsWith([...ran.slice(0, start), ...ran.slice(start + size)]))) start += size;
    }
    // One by one until nothing more can go: removing a command may make an earlier one unnecessary.
    if (size === 1 && shortest.ran.length === before) break;
    before = size === 1 ? shortest.ran.length : Infinity;
    size = Math.max(1, Math.floor(size / 2));
  }
  return shortest;
}

/** Whether a question was refused, only read, or repeated an earlier one, by its description. */
function changesNothing({ line }: Ran): boolean {
  const [asked = "", outcome] = line.split(" → ");
  if (outcome === undefined) return false;
  const names = Array.from(asked.matchAll(/(?:^|: )\w+ (\w+) \{/g), ([, name = ""]) => name);
  const isIdle = (verdict: string, index: number) => verdict !== "done" || READING.has(names[index] ?? "");
  return asked.startsWith("again") || outcome.split(" and ").every(isIdle);
}

const READING: ReadonlySet<string> = new Set(operations.filter(({ kind }) => kind === "query").map(({ name }) => name));
