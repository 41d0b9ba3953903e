/** Explains `npm run build`: `run.mjs` has built everything before it runs this file. */
import { commandLine, runCommand } from "../dist/modules/commands/command-line.js";

const program = commandLine({
  script: "build",
  description:
    "Installs the dependencies, and builds the service, its commands and the playground into dist/: each only if it is " +
    "missing or out of date.",
  examples: ["npm run build"],
}).action(() => {});

await runCommand(program, import.meta.url);
