import "reflect-metadata";
import { type LargeGraph, type MiscountedGraph, largestGraphs, verifyGraphs } from "../features/memories/index.js";
import { EXIT, JSON_OPTION, commandLine, countUpTo, runCommand } from "./command-line.js";
import { inSnakeCase } from "./in-snake-case.js";
import { tableOf } from "./table.js";
import { countInWords } from "../wording.js";
import { withDatabase } from "./with-database.js";

const LARGEST_MAX = 1_000;

export const program = commandLine({
  script: "graph",
  description: "Checks the stored sizes of graphs and shows the largest, with or without a running server.",
  examples: [
    "npm run graph -- largest",
    "npm run graph -- verify",
    "npm run graph -- verify --repair",
    "npm run --silent graph -- verify --json",
  ],
});

program
  .command("verify")
  .description("count the content of every graph, and compare it with the stored size, which its limits use")
  .option("--repair", "correct wrong sizes")
  .option(...JSON_OPTION)
  .action(async ({ repair = false, json }: { repair?: boolean; json?: true }) => {
    const wrong: MiscountedGraph[] = [];
    await withDatabase(async (database) => {
      for await (const graph of verifyGraphs(database, { repair })) {
        wrong.push(graph);
        // At once: if the command is stopped, or fails at a later graph, this one is corrected all the same.
        if (!json) console.log(miscountOf(graph));
      }
    });
    if (json) console.log(JSON.stringify({ graphs: inSnakeCase(wrong), repaired: repair }));
    else if (wrong.length === 0) console.log("The stored sizes of all graphs are correct.");
    else console.log(repair ? `Corrected: ${wrong.length}.` : `Wrong: ${wrong.length}. --repair corrects them.`);
    if (wrong.length > 0 && !repair) process.exitCode = EXIT.failed;
  });

program
  .command("largest")
  .description("show the graphs with the most memories, and whose they are")
  .option("--limit <count>", `how many, at most ${LARGEST_MAX}`, countUpTo(LARGEST_MAX), 20)
  .option(...JSON_OPTION)
  .action(async ({ limit, json }: { limit: number; json?: true }) => {
    const found = await withDatabase((database) => largestGraphs(database, limit + 1));
    const [graphs, more] = [found.slice(0, limit), found.length > limit];
    if (json) return console.log(JSON.stringify({ graphs: graphs.map(largeToJson), more }));
    if (graphs.length === 0) return console.log("No graph has a memory.");
    console.log(tableOf(["GRAPH", "MEMORIES", "BYTES", "OWNER"], graphs.map(rowOf)));
    if (more) console.log(`\nThere are more: --limit shows up to ${LARGEST_MAX} of them.`);
  });

const rowOf = ({ graphId, memories, bytes, owner }: LargeGraph): string[] => {
  const ownerText = owner?.teamId ? `team ${owner.name} of ${owner.email ?? "nobody"}` : owner?.name;
  return [graphId, String(memories), String(bytes), ownerText ?? "deleted"];
};

const largeToJson = ({ graphId, memories, bytes, owner }: LargeGraph) => ({
  graph_id: graphId,
  memories,
  bytes,
  user_id: owner?.userId ?? null,
  team_id: owner?.teamId ?? null,
  email: owner?.email ?? null,
});

function miscountOf({ graphId, counted, held }: MiscountedGraph): string {
  const sizeOf = ({ memories, bytes }: MiscountedGraph["held"]) =>
    `${countInWords(memories, "memory", "memories")}, ${countInWords(bytes, "byte", "bytes")}`;
  return `${graphId}  stored: ${sizeOf(counted)}; real: ${sizeOf(held)}`;
}

await runCommand(program, import.meta.url);
