import fc from "fast-check";

/** Tests draw the same random values in every run, so a failure comes from a change. `SEED` draws other values. */
fc.configureGlobal({ seed: Number(process.env["SEED"] ?? 1) });
