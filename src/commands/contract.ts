import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { lexicographicSortSchema, printSchema } from "graphql";
import { AGENT_INSTRUCTIONS } from "../features/memories/index.js";
import { graphqlSchema, operations, relations } from "../operations.js";
import { rightsTable } from "../operation/rights.js";
import { researchToolsOf } from "../surfaces/mcp/research-tools.js";
import { toolsJson, toolsOf } from "../surfaces/mcp/tools.js";
import { openApiJson } from "../surfaces/rest/openapi.js";
import { JSON_OPTION, commandLine, runCommand } from "./command-line.js";

export const program = commandLine({
  script: "contract",
  description:
    "Writes the schema, the OpenAPI document, the tools and the table of rights from the code. Read the diff.",
  examples: ["npm run contract", "npm run --silent contract -- --json"],
})
  .option(...JSON_OPTION)
  .action(async ({ json }: { json?: true }) => {
    const schema = await graphqlSchema();
    const tools = [toolsOf(operations, schema), researchToolsOf(operations, schema)] as const;
    const files = [
      write("schema.graphql", `${printSchema(lexicographicSortSchema(schema))}\n`),
      write("test/contract/openapi.json", openApiJson(operations, schema)),
      write("test/contract/tools.json", toolsJson(...tools, AGENT_INSTRUCTIONS)),
      write("docs/rights.md", rightsTable(operations, relations)),
    ];
    if (json) console.log(JSON.stringify({ files }));
    else for (const { path, changed } of files) console.log(`${path}  ${changed ? "changed" : "unchanged"}`);
  });

function write(path: string, text: string): { path: string; changed: boolean } {
  const changed = !existsSync(path) || readFileSync(path, "utf8") !== text;
  if (changed) writeFileSync(path, text);
  return { path, changed };
}

await runCommand(program, import.meta.url);
