import { it } from "vitest";
import { lookForDisagreement } from "./run.js";
import { roundsOf } from "../support/rounds.js";

const STEPS = Number(process.env["MODEL_STEPS"] ?? roundsOf(2_000));
/** The same in each run, as in all tests; `npm run model` chooses another seed each time. */
const SEED = Number(process.env["MODEL_SEED"] ?? process.env["SEED"] ?? 1);
const PROGRESS = process.env["MODEL_PROGRESS"];
const TOLD_EVERY_MS = 10_000;
/** Far more than needed, for a busy machine; most of it is for shortening a failure. */
const TIMEOUT_MS = 360_000 + STEPS * 200;

it(
  `says the same as a small model of it, through ${STEPS} steps at every door`,
  async () => {
    const { failure, steps } = await lookForDisagreement(
      { steps: STEPS, seed: SEED, path: process.env["MODEL_PATH"] },
      tell,
    );
    if (failure !== undefined) throw Object.assign(new Error(`After ${steps} steps: ${failure}`), { stack: "" });
  },
  TIMEOUT_MS,
);

let toldAt = performance.now();

/** On a terminal one line that is redrawn, elsewhere a line at intervals. `npm test` asks for neither. */
function tell(steps: number): void {
  const text = `${steps} of at least ${STEPS} steps, seed ${SEED}`;
  const isLast = steps >= STEPS;
  if (PROGRESS === "redrawn") process.stderr.write(`\r${text}${isLast ? "\n" : ""}`);
  if (PROGRESS !== "lines" || (!isLast && performance.now() - toldAt < TOLD_EVERY_MS)) return;
  toldAt = performance.now();
  process.stderr.write(`${text}\n`);
}
