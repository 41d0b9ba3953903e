/** Measures how well search ranks: `npm run search-quality -- --help`. */
import { resolve } from "node:path";
import { startVitest } from "vitest/node";
import { EXIT, commandLine, runCommand } from "../../dist/modules/commands/command-line.js";
import { WrongUse } from "../../dist/modules/commands/for-operator.js";

const program = commandLine({
  script: "search-quality",
  description:
    "Measures how search ranks labelled queries among 6,000 memories of others, by classes of queries: recall@5, how many " +
    "of the memories that answer are among the first five, and MRR@10, one by the place of the first of them.",
  notes:
    "It fails where search ranks worse than it must. With --embeddings, queries and memories are sent to the server of\n" +
    "EMBEDDINGS_URL, as the service would: see the other variables that begin with EMBEDDINGS_.",
  examples: [
    "npm run search-quality",
    "npm run search-quality -- --misses",
    "EMBEDDINGS_URL=http://127.0.0.1:11434/v1 EMBEDDINGS_MODEL=all-minilm npm run search-quality -- --embeddings",
  ],
})
  .option("--misses", "list the queries whose answers are not first, but for those that are held back")
  .option(
    "--labels <folder>",
    "measure your own: memories.jsonl and queries.jsonl, like those in test/search-quality/data",
  )
  .option("--embeddings", "search by meaning as well")
  .action(measure);

async function measure({ misses = false, labels, embeddings = false }) {
  const { env } = process;
  if (embeddings && !(env.EMBEDDINGS_URL && env.EMBEDDINGS_MODEL))
    throw new WrongUse("--embeddings needs EMBEDDINGS_URL and EMBEDDINGS_MODEL.");
  // By words only, whatever the environment contains.
  if (!embeddings) delete env.EMBEDDINGS_URL;
  if (labels) env.SEARCH_LABELS = resolve(labels);
  if (misses) env.SEARCH_MISSES = "1";
  const vitest = await startVitest("test", [], { config: "test/vitest.config.ts", run: true, project: ["quality"] });
  const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
  await vitest.close();
  if (tests.length === 0 || tests.some((test) => !test.ok())) process.exitCode = EXIT.failed;
}

await runCommand(program, import.meta.url);
