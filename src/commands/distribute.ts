import "reflect-metadata";
import { type Distributed, distribute, findDistributionFaults } from "../platform/database/distribute.js";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { tellMessage, withDatabaseUrl } from "./with-database.js";

export const program = commandLine({
  script: "distribute",
  description: "Distributes what graphs hold over the nodes of a database that has the extension Citus.",
  examples: ["npm run distribute", "npm run distribute -- --check", "npm run --silent distribute -- --check --json"],
  notes:
    "Stop the service first: it would wait for the tables. The command can be repeated at any time: what is\n" +
    "distributed already stays. After an update, run it again before the service starts. docs/operations.md says\n" +
    "what to prepare.",
})
  .option("--check", "distribute nothing, and say what is missing on which node")
  .option(...JSON_OPTION)
  .action(async ({ check, json }: { check?: true; json?: true }) => {
    const done = await withDatabaseUrl(async ({ url }) => {
      const made = check ? { tables: [], emptied: [] } : await distribute(url, tellMessage);
      return { ...made, faults: await findDistributionFaults(url) };
    });
    if (json) console.log(JSON.stringify(done));
    else console.log(sentencesOf(done).join("\n"));
    if (done.faults.length > 0) process.exitCode = EXIT.failed;
  });

function sentencesOf({ tables, emptied, faults }: Distributed & { readonly faults: readonly string[] }): string[] {
  return [
    ...(tables.length > 0 ? [`Distributed: ${tables.join(", ")}.`] : []),
    ...(emptied.length > 0 ? [`Deleted the old rows on the coordinator: ${emptied.join(", ")}.`] : []),
    ...(faults.length > 0 ? faults : ["All tables of graphs are distributed, and each node answers alike."]),
  ];
}

await runCommand(program, import.meta.url);
