import fc from "fast-check";
import { operations } from "../../src/operations.js";
import { assertInvariants } from "./invariants.js";
import type { Model } from "./model.js";
import { type Real, type Way, startReal } from "./real.js";

/** A command, and where it stands among those of its seed. */
export interface Candidate {
  readonly index: number;
  readonly command: fc.AsyncCommand<Model, Real>;
}

/** A command that was run, as a person reads it. */
interface Ran extends Candidate {
  readonly line: string;
}

/** What came of a sequence of commands: those that could be asked, up to the one that failed. */
export interface Passed {
  readonly ran: readonly Ran[];
}
export interface Failed extends Passed {
  readonly error: unknown;
}

/** A service that holds much answers slower, and knows more ids of others. */
const STEPS_OF_A_WORLD = 1_500;
/** The database is looked at after so many commands, and after each of a few. */
const INVARIANTS_EVERY = 40;
const FEW = 12;

/**
 * A service that is used by run after run; anew when it holds much, and after each failure, which may have broken it.
 */
export class Place implements AsyncDisposable {
  #real: Real | undefined;
  #steps = 0;

  constructor(
    private readonly newModel: (real: Real) => Promise<Model>,
    private readonly way?: Way,
  ) {}

  async attempt(candidates: readonly Candidate[]): Promise<Passed | Failed> {
    if (this.#steps >= STEPS_OF_A_WORLD) await this[Symbol.asyncDispose]();
    const real = (this.#real ??= await startReal(this.way));
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

/** A failure that was not made shorter in this time is short enough. */
const SHORTENING_MAX_MS = 240_000;

/**
 * The fewest commands that still fail. What changed nothing goes at once, then ever smaller parts: fast-check's own way
 * leaves out at the beginning first, where teams and memories are made, and takes a new service for most of its tries.
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
    // One by one until nothing more can go: what is left out may have been what others were needed for.
    if (size === 1 && shortest.ran.length === before) break;
    before = size === 1 ? shortest.ran.length : Infinity;
    size = Math.max(1, Math.floor(size / 2));
  }
  return shortest;
}

/** Questions that were refused, that only read, or that were asked before, by the words in which they are told. */
function changesNothing({ line }: Ran): boolean {
  const [asked = "", outcome] = line.split(" → ");
  if (outcome === undefined) return false;
  const names = Array.from(asked.matchAll(/(?:^|: )\w+ (\w+) \{/g), ([, name = ""]) => name);
  const isIdle = (verdict: string, index: number) => verdict !== "done" || READING.has(names[index] ?? "");
  return asked.startsWith("again") || outcome.split(" and ").every(isIdle);
}

const READING: ReadonlySet<string> = new Set(operations.filter(({ kind }) => kind === "query").map(({ name }) => name));
