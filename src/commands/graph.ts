import "reflect-metadata";
import { type MiscountedGraph, verifyGraphs } from "../features/memories/index.js";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { countInWords, tableOf } from "./table.js";
import { withDatabase } from "./with-database.js";

export const program = commandLine({
  script: "graph",
  description: "Checks the stored sizes of graphs, with or without a running server.",
  examples: ["npm run graph -- verify", "npm run graph -- verify --repair", "npm run --silent graph -- verify --json"],
});

program
  .command("verify")
  .description("count the content of every graph, and compare it with the stored size, which its limits use")
  .option("--repair", "correct wrong sizes")
  .option(...JSON_OPTION)
  .action(async ({ repair = false, json }: { repair?: boolean; json?: true }) => {
    const wrong: MiscountedGraph[] = [];
    await withDatabase(async (database) => {
      for await (const graph of verifyGraphs(database, { repair })) wrong.push(graph);
    });
    if (json) console.log(JSON.stringify({ graphs: wrong.map(plain), repaired: repair }));
    else if (wrong.length === 0) console.log("The stored sizes of all graphs are correct.");
    else {
      console.log(`${tableOfGraphs(wrong)}\n`);
      console.log(repair ? `Corrected: ${wrong.length}.` : `Wrong: ${wrong.length}. --repair corrects them.`);
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
