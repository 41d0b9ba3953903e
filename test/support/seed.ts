import fc from "fast-check";

/**
 * What tests draw is the same in every run, so that a change is red for what it changed. `SEED` draws something else.
 */
fc.configureGlobal({ seed: Number(process.env["SEED"] ?? 1) });
