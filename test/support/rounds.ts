/** The share of repetitions that run: a tenth by default, all of them in strict mode. */
const SHARE = Number(process.env["TEST_ROUNDS"] ?? (process.env["CI_STRICT"] === "1" ? 1 : 0.1));

/** How often to repeat a random test or a race. `TEST_ROUNDS=1 npm test` runs all rounds, 5 runs five times as many. */
export const roundsOf = (usual: number): number => Math.max(2, Math.round(usual * SHARE));

/** Whether all rounds run, or more. */
export const runsAllRounds = SHARE >= 1;

/** How many times all rounds run: once, unless `TEST_ROUNDS` asks for more. */
export const timesAllRounds = Math.max(1, Math.round(SHARE));
