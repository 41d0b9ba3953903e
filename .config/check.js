/** Checks what needs no database, until one check fails: `npm run check -- --help`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { EXIT, commandLine, runCommand } from "../dist/modules/commands/command-line.js";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
/** What `run.mjs` is to run. The format is that of `npm run format`. */
const CHECKS = [
  `${scripts.format.replace("node .config/run.mjs ", "")} --check`,
  "--no-build oxlint -c .config/oxlint.json --type-aware --deny-warnings",
  "--no-build typescript/tsc -p test/tsconfig.json",
  "--no-build knip --config .config/knip.json",
  // What only tests use: for example a background job that is tested, but not in the list of those that run.
  "--no-build knip --config .config/knip-production.json --production",
];
const TESTS = "--no-build vitest run --config test/vitest.config.ts --project static";

const program = commandLine({
  script: "check",
  description:
    "Checks the format, lint, types, dead code, and by the tests that need no database also the contract and the " +
    "documentation. It ends with the first check that finds something.",
  notes: "`npm run format` corrects the format, `npm run contract` the generated files.",
  examples: ["npm run check"],
})
  .option("--no-tests", "leaves out the tests, which `npm test` runs, too")
  .action(async ({ tests }) => {
    for (const check of tests ? [...CHECKS, TESTS] : CHECKS) {
      const child = spawn(process.execPath, [".config/run.mjs", ...check.split(" ")], { stdio: "inherit" });
      const [code] = await once(child, "exit");
      if (code === 0) continue;
      process.exitCode = EXIT.failed;
      return;
    }
  });

await runCommand(program, import.meta.url);
