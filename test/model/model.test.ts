import { expect, it } from "vitest";
import { operations } from "../../src/app.js";
import { moves } from "./moves.js";
import { anySeed, lookForDisagreement, operationsWithoutMove } from "./run.js";

const STEPS = Number(process.env["MODEL_STEPS"] ?? 2_000);
const SEED = Number(process.env["MODEL_SEED"] ?? anySeed());
/** Far more than it takes, for a machine that is busy; most of it is for shrinking. */
const TIMEOUT_MS = 360_000 + STEPS * 200;

it("has a command for every operation", () => {
  const missing = operationsWithoutMove();
  expect(
    missing,
    `Write how to ask for ${missing.join(", ")}, and what comes of it, in test/model/*-moves.ts.`,
  ).toEqual([]);
  expect([...moves.keys()].filter((name) => !operations.some((operation) => operation.name === name))).toEqual([]);
});

it(
  `says the same as a small model of it, through ${STEPS} steps at both doors`,
  async () => {
    const { failure, steps } = await lookForDisagreement(
      { steps: STEPS, seed: SEED, path: process.env["MODEL_PATH"] },
      tell,
    );
    if (failure !== undefined) throw Object.assign(new Error(`After ${steps} steps: ${failure}`), { stack: "" });
  },
  TIMEOUT_MS,
);

function tell(steps: number): void {
  if (process.env["MODEL_PROGRESS"] === "1")
    process.stderr.write(`\r${steps} of ${STEPS} steps, seed ${SEED}${steps < STEPS ? "" : "\n"}`);
}
