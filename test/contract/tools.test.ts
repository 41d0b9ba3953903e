import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { AGENT_INSTRUCTIONS } from "../../src/features/memories/index.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import type { Operation } from "../../src/operation/operation.js";
import type { ToolRoute } from "../../src/operation/tool.js";
import { researchToolsOf } from "../../src/surfaces/mcp/research-tools.js";
import { tokensOf, toolsJson, toolsOf } from "../../src/surfaces/mcp/tools.js";
import { operationNamed } from "../support/operations.js";

const schema = await graphqlSchema();
const tools = toolsOf(operations, schema);
const research = researchToolsOf(operations, schema);

it("equals test/contract/tools.json, which `npm run contract` rewrites", () => {
  const committed = readFileSync("test/contract/tools.json", "utf8");
  const built = toolsJson(tools, research, AGENT_INSTRUCTIONS);
  expect(built, "What agents are told changed. If that is meant, run: npm run contract").toBe(committed);
});

it("costs an agent at most 2,000 tokens, and keeps instructions short enough that no client cuts them", () => {
  expect(tools.length).toBeGreaterThan(6);
  const advice = "Each agent reads all of it, always. Let tools say less, or mark fields as `notForAgents`.";
  expect(tokensOf(tools), advice).toBeLessThanOrEqual(2_000);
  expect(AGENT_INSTRUCTIONS.length).toBeLessThanOrEqual(1_500);
});

it("names only existing tools in the instructions", () => {
  const names = tools.map(({ listing: { name } }) => name);
  const told = AGENT_INSTRUCTIONS.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? [];
  expect(told.length).toBeGreaterThan(3);
  expect(told.filter((name) => !names.includes(name))).toEqual([]);
  expect(new Set(tools.flatMap((tool) => tool.names)).size).toBe(tools.flatMap((tool) => tool.names).length);
});

it("is documented tool by tool in docs/agents.md", () => {
  const told = readFileSync("docs/agents.md", "utf8");
  const names = tools.flatMap((tool) => tool.names);
  expect(
    names.filter((name) => !told.includes(`\`${name}\``)),
    "Name these in docs/agents.md.",
  ).toEqual([]);
});

it("says how to get the rest wherever an answer that is read may be cut", () => {
  const silent = operations.filter(({ kind, mcp }) => kind === "query" && mcp && mcp.ifCut === undefined);
  expect(
    silent.map(({ name }) => name),
    "Say it as `ifCut` of `mcp`.",
  ).toEqual([]);
});

it("says of each tool that deletes that it destroys, so that clients ask before they call it", () => {
  const silent = operations.filter(({ rest, mcp }) => rest.method === "DELETE" && mcp && !mcp.isDestructive);
  expect(
    silent.map(({ name }) => name),
    "Say it as `isDestructive` of `mcp`.",
  ).toEqual([]);
});

it("shows relationships without their ids, since no tool takes them", () => {
  const shown = tools.filter(({ listing }) => JSON.stringify(listing.outputSchema).includes('"relationship_id"'));
  expect(shown.map(({ listing: { name } }) => name)).toEqual([]);
});

it("lists only one tool for searching", () => {
  const search = tools.find(({ names }) => names.includes("recall_memories"));
  expect(search?.listing.name).toBe("search_memories");
});

it("has the two tools that ChatGPT's research requires, with their one input, beside all others", () => {
  const inputs = research.map(({ listing: { name, inputSchema } }) => [
    name,
    Object.keys(inputSchema.properties ?? {}),
    inputSchema["required"],
    inputSchema.properties,
  ]);
  expect(inputs).toEqual([
    ["search", ["query"], ["query"], { query: expect.objectContaining({ type: "string" }) as object }],
    ["fetch", ["id"], ["id"], { id: expect.objectContaining({ type: "string" }) as object }],
  ]);
  const usual = tools.flatMap(({ names }) => names);
  expect(usual.filter((name) => ["search", "fetch"].includes(name))).toEqual([]);
});

describe.each([...tools, ...research].map(({ listing }) => [listing.name, listing] as const))(
  "%s",
  (_name, listing) => {
    it("has schemas that every client accepts", () => {
      for (const root of [listing.inputSchema, listing.outputSchema]) {
        expect(root["type"]).toBe("object");
        for (const part of partsOf(root)) {
          // Some clients refuse null beside a type, alternatives, references, and patterns without both anchors.
          expect(typeof part["type"], JSON.stringify(part)).toBe("string");
          expect(part["type"]).not.toBe("null");
          expect(part["required"]).not.toEqual([]);
          for (const word of ["oneOf", "anyOf", "allOf", "not", "$ref", "pattern"])
            expect(part).not.toHaveProperty(word);
        }
      }
    });

    it("lets clients show refusals that they compare with the schema of answers, as Gemini CLI does", () => {
      const isAnswer = new Ajv({ strict: false }).compile(listing.outputSchema);
      expect(isAnswer({ error: { code: "not_found", message: "No memory has this id." } })).toBe(true);
      const fields = Object.keys(listing.outputSchema.properties ?? {});
      expect(fields.filter((name) => isAnswer({ [name]: null }))).toEqual([]);
    });

    it("describes every input, and requires only inputs that it has", () => {
      const { properties, required } = listing.inputSchema as { properties: object; required?: string[] };
      for (const [name, input] of Object.entries(properties) as Array<[string, { description?: string }]>) {
        expect(input.description, name).toMatch(/^[A-Z].*\.$/s);
        // Names used in code mean nothing to an agent.
        expect(input.description).not.toMatch(/`[a-z]+[A-Z]/);
      }
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(required ?? []));
    });

    // ChatGPT's directory refuses a tool that leaves out a hint, Claude's one without a title among them.
    it("says in its annotations its title, whether it only reads, destroys or can be repeated, and that nothing is open", () => {
      const { title, openWorldHint, readOnlyHint, ...hints } = listing.annotations as Record<string, unknown>;
      expect([title, openWorldHint, typeof readOnlyHint]).toEqual([listing.title, false, "boolean"]);
      expect(hints).toEqual(
        readOnlyHint
          ? { destructiveHint: false, idempotentHint: true }
          : { destructiveHint: expect.any(Boolean) as boolean, idempotentHint: expect.any(Boolean) as boolean },
      );
    });
  },
);

it("refuses to start with a tool that names an input or an output that does not exist", () => {
  const searchMemories = operationNamed("searchMemories");
  const mcp: ToolRoute = { name: "search_memories", description: "" };
  for (const wrong of [
    { leftOut: ["nothing"] },
    { most: { nothing: 1 } },
    { inputs: { nothing: "" } },
    { outputs: ["nothing"] },
    { outputs: ["memories.nothing"] },
    { inParts: "nothing" },
  ]) {
    const broken: Operation = { ...searchMemories, mcp: { ...mcp, ...wrong } };
    expect(() => toolsOf([broken], schema)).toThrow(
      /search_memories names fields that do not exist: (memories\.)?nothing/,
    );
  }
});

type Part = Readonly<Record<string, unknown>>;

/** A schema and all schemas within it. */
function partsOf(schema: Part): Part[] {
  const inner = [
    ...Object.values((schema["properties"] ?? {}) as Record<string, Part>),
    schema["items"] as Part | undefined,
  ];
  return [schema, ...inner.flatMap((part) => (part ? partsOf(part) : []))];
}
