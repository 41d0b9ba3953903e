/** Compares the service with its model for a long time: `npm run model -- --help`. */
import { randomInt } from "node:crypto";
import { InvalidArgumentError, Option } from "commander";
import { startVitest } from "vitest/node";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "../../dist/modules/commands/command-line.js";
import { WrongUse } from "../../dist/modules/commands/for-operator.js";

const program = commandLine({
  script: "model",
  description:
    "Asks a real server at random for everything it can do, and compares each answer and the database with a small " +
    "model in memory. What differs is made as short as it gets, and printed with how to see it again.",
  examples: [
    "npm run model",
    "npm run model -- --steps 2000 --seed 7",
    "npm run model -- --steps 2000 --together 3             three requests at the same moment, again and again",
    "MODEL_SEED=7 MODEL_PATH=0,3,9 npm run model            what a failure says, to see it again",
    "npm run --silent model -- --steps 2000 --json",
  ],
})
  .option("--steps <count>", "how many commands", whole, 50_000)
  .addOption(new Option("--seed <number>", "where to begin; any unless given").env("MODEL_SEED").argParser(whole))
  .addOption(
    new Option("--path <path>", "which failure of that seed to show again, as it was printed").env("MODEL_PATH"),
  )
  .addOption(
    new Option("--together <count>", "send so many requests at the same moment, to two servers")
      .env("MODEL_TOGETHER")
      .choices(["2", "3"]),
  )
  .option(...JSON_OPTION)
  .action(compare);

async function compare({ steps, seed = randomInt(1, 2 ** 30), path, together, json }) {
  const { env, stderr, stdout } = process;
  if (path !== undefined && program.getOptionValue("seed") === undefined)
    throw new WrongUse("--path needs its --seed.");
  Object.assign(env, { MODEL_STEPS: String(steps), MODEL_SEED: String(seed), ...(path && { MODEL_PATH: path }) });
  if (together) env.MODEL_TOGETHER = together;
  // The test runs in another process, which has no terminal.
  env.MODEL_PROGRESS = stderr.isTTY ? "redrawn" : "lines";
  if (json) console.log = console.error;
  const config = { config: "test/vitest.config.ts", run: true, project: ["live"] };
  const vitest = await startVitest(
    "test",
    ["test/model/model.test.ts"],
    config,
    {},
    { stdout: json ? stderr : stdout },
  );
  const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
  const failures = tests.flatMap((test) => (test.result().errors ?? []).map(({ message }) => message));
  await vitest.close();
  if (json) stdout.write(`${JSON.stringify({ steps, seed, failures })}\n`);
  if (tests.length === 0 || failures.length > 0) process.exitCode = EXIT.failed;
}

function whole(text) {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 1.");
  return Number(text);
}

await runCommand(program, import.meta.url);
