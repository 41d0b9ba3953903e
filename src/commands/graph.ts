import "reflect-metadata";
import { type MiscountedGraph, verifyGraphs } from "../features/memories/index.js";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { countInWords, tableOf } from "./table.js";
import { withDatabase } from "./with-database.js";

export const program = commandLine({
  script: "graph",
  description: "Looks after what graphs hold, beside a running server or without.",
  examples: ["npm run graph -- verify", "npm run graph -- verify --repair", "npm run --silent graph -- verify --json"],
});

program
  .command("verify")
  .description("count what every graph holds, and compare it with what is kept for its bounds")
  .option("--repair", "set right what is wrong")
  .option(...JSON_OPTION)
  .action(async ({ repair = false, json }: { repair?: boolean; json?: true }) => {
    const wrong: MiscountedGraph[] = [];
    await withDatabase(async (database) => {
      for await (const graph of verifyGraphs(database, { repair })) {
        wrong.push(graph);
      }
    });
    if (json) console.log(JSON.stringify({ graphs: wrong.map(plain), repaired: repair }));
    else if (wrong.length === 0) console.log("Every graph is counted rightly.");
    else console.log(`${tableOfGraphs(wrong)}\n`);
    if (!json && wrong.length > 0) {
      console.log(repair ? `Set right: ${wrong.length}.` : `Wrong: ${wrong.length}. --repair sets them right.`);
    }
    if (wrong.length > 0 && !repair) process.exitCode = EXIT.failed;
  });

function tableOfGraphs(graphs: readonly MiscountedGraph[]): string {
  const sizeOf = ({ memories, bytes }: MiscountedGraph["held"]) =>
    `${countInWords(memories, "memory", "memories")}, ${countInWords(bytes, "byte", "bytes")}`;
  return tableOf(
    ["GRAPH", "COUNTED", "HOLDS"],
    graphs.map((graph) => [graph.graphId, sizeOf(graph.counted), sizeOf(graph.held)]),
  );
}

const plain = ({ graphId, counted, held }: MiscountedGraph) => ({ graph_id: graphId, counted, held });

await runCommand(program, import.meta.url);
