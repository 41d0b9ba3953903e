/** Compares the service with its model for a long time: `npm run model -- --help`. */
import { Command } from "commander";
import { startVitest } from "vitest/node";

const { MODEL_SEED, MODEL_PATH } = process.env;
const options = new Command("npm run model --")
  .description(
    "Asks a real server at random for everything it can do, and compares each answer and the database with a small " +
      "model in memory. What differs is made as short as it gets, and printed with how to see it again.",
  )
  .option("--steps <count>", "how many commands", "50000")
  .option("--seed <number>", "where to begin; any unless given (MODEL_SEED)", MODEL_SEED)
  .option("--path <path>", "which failure of that seed to show again, as it was printed (MODEL_PATH)", MODEL_PATH)
  .parse()
  .opts();

process.env.MODEL_STEPS = options.steps;
process.env.MODEL_PROGRESS = "1";
if (options.seed !== undefined) process.env.MODEL_SEED = options.seed;
if (options.path !== undefined) process.env.MODEL_PATH = options.path;
const vitest = await startVitest("test", ["test/model/model.test.ts"], {
  config: "test/vitest.config.ts",
  run: true,
  project: ["live"],
});
await vitest.close();
