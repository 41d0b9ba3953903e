/** The share of the repetitions that run: a fifth by default, all of them in strict mode. */
const SHARE = Number(process.env["TEST_ROUNDS"] ?? (process.env["CI_STRICT"] === "1" ? 1 : 0.2));

/** How often a test repeats what is random or a race. `TEST_ROUNDS=1 npm test` does all of it, 5 five times as much. */
export const roundsOf = (usual: number): number => Math.max(2, Math.round(usual * SHARE));
