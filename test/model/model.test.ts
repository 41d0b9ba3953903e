import { it } from "vitest";
import { lookForDisagreement } from "./run.js";
import { roundsOf } from "../support/rounds.js";

const asked = process.env["MODEL_STEPS"];
/** How many steps, and how many requests at the same moment. */
const RUNS = asked
  ? [{ steps: Number(asked), together: Number(process.env["MODEL_TOGETHER"]) || undefined }]
  : [{ steps: roundsOf(2_000) }, { steps: roundsOf(300), together: 3 }];
/** The same in each run, as in all tests; `npm run model` chooses another seed each time. */
const SEED = Number(process.env["MODEL_SEED"] ?? process.env["SEED"] ?? 1);
const PROGRESS = process.env["MODEL_PROGRESS"];
const TOLD_EVERY_MS = 10_000;
/** Far more than needed, for a busy machine; most of it is for shortening a failure. */
const timeoutMs = (steps: number): number => 360_000 + steps * 400;

for (const { steps, together } of RUNS) {
  it(
    `says the same as a small model of it, through ${steps} steps at every door${together ? `, often ${together} at once` : ""}`,
    async () => {
      const wishes = { steps, together, seed: SEED, path: process.env["MODEL_PATH"] };
      const found = await lookForDisagreement(wishes, (done) => tell(done, steps));
      if (found.failure === undefined) return;
      throw Object.assign(new Error(`After ${found.steps} steps: ${found.failure}`), { stack: "" });
    },
    timeoutMs(steps),
  );
}

let toldAt = performance.now();

/** On a terminal one line that is redrawn, elsewhere a line at intervals. `npm test` asks for neither. */
function tell(done: number, steps: number): void {
  const text = `${done} of ${steps} steps, seed ${SEED}`;
  const isLast = done >= steps;
  if (PROGRESS === "redrawn") process.stderr.write(`\r${text}${isLast ? "\n" : ""}`);
  if (PROGRESS !== "lines" || (!isLast && performance.now() - toldAt < TOLD_EVERY_MS)) return;
  toldAt = performance.now();
  process.stderr.write(`${text}\n`);
}
