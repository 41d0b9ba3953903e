import "reflect-metadata";
import { Command } from "commander";
import { type MiscountedGraph, verifyGraphs } from "../features/memories/index.js";
import { forOperator } from "./for-operator.js";
import { withDatabase } from "./with-database.js";

const program = new Command("npm run graph --").description(
  "Looks after what graphs hold, beside a running server or without.",
);

program
  .command("verify")
  .description("count what every graph holds, and compare it with what is kept for its bounds")
  .option("--repair", "set right what is wrong", false)
  .option("--json", "print one JSON value and nothing else", false)
  .addHelpText("after", "\nExit codes: 0 when all is right, or was set right; 1 when something is wrong.")
  .action(async ({ repair, json }: { repair: boolean; json: boolean }) => {
    const wrong: MiscountedGraph[] = [];
    await withDatabase(async (database) => {
      for await (const graph of verifyGraphs(database, { repair })) {
        wrong.push(graph);
        if (!json) console.log(sentenceOf(graph));
      }
    });
    if (json) console.log(JSON.stringify({ graphs: wrong.map(plain), repaired: repair }));
    else if (wrong.length === 0) console.log("Every graph is counted rightly.");
    else console.log(repair ? `Set right: ${wrong.length}.` : `Wrong: ${wrong.length}. --repair sets them right.`);
    if (wrong.length > 0 && !repair) process.exitCode = 1;
  });

const sentenceOf = ({ graphId, counted, held }: MiscountedGraph): string =>
  `${graphId}  counted ${counted.memories} memories, ${counted.bytes} bytes; ` +
  `holds ${held.memories} memories, ${held.bytes} bytes`;

const plain = ({ graphId, counted, held }: MiscountedGraph) => ({ graph_id: graphId, counted, held });

try {
  await program.parseAsync();
} catch (error) {
  console.error(forOperator(error));
  process.exitCode = 1;
}
