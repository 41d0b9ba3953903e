import { Field, InputType } from "type-graphql";
import { Nullable } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { defineOperation } from "../../operation/operation.js";
import { ClientIdExists } from "./client-id-exists.js";
import { GRAPH_FOR_AGENTS, GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { GraphFull } from "./graph-room.js";
import { Memory } from "./memory.js";
import { contentsOf } from "./memory-columns.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { NewMemory, assertHolds } from "./memory-input.js";
import { insertMemory } from "./insert-memory.js";
import { findSimilar } from "./search/find-similar.js";
import { ClientIdField, PROJECT_IN_CONTEXT } from "./common-fields.js";
import { hintOfType } from "./memory-types.js";

@InputType({ description: "A memory to store." })
export class CreateMemoryInput extends NewMemory(GraphInput) {
  @ClientIdField()
  clientId?: string | null;

  @Field(() => Boolean, {
    nullable: true,
    description: "Whether to look for `similar` memories. By default: not by REST, elsewhere if the field is selected.",
  })
  @Nullable()
  similar?: boolean | null;
}

/** Without it, an agent takes an answer without `similar` to mean that there are none. */
const NOT_COMPARED = "It is stored, but was not compared with others: whether a similar memory exists is unknown.";

export const createMemory = defineOperation({
  name: "createMemory",
  effect: "statement",
  summary: "Stores a memory.",
  input: CreateMemoryInput,
  output: Memory,
  permission: "memories:write",
  failures: [ClientIdExists, NoTeamGraph, GraphFull],
  rest: { method: "POST", path: "/v1/memories", status: 201, location: "/v1/memories/:id" },
  mcp: {
    name: "store_memory",
    description:
      "Stores a memory that will matter later: a problem, solution, decision, convention or preference. Answers with " +
      "its id and with `similar` memories: is one of them the same, or replaced by it? create_relationship links it.",
    leftOut: ["similar"],
    inputs: {
      title: "What it says, in one line to find it by.",
      content: "All that a stranger needs to use it; Markdown.",
      summary: "One sentence, if the note is long.",
      tags: "Labels to find it by, such as names of tools and projects.",
      importance: "How much it matters.",
      context: 'Where it holds, such as {"project_path": "acme/app"}: the same on every machine.',
      expiresAt: "Until when it holds, if it ends.",
      graph: GRAPH_FOR_AGENTS,
    },
    instead: PROJECT_IN_CONTEXT,
    outputs: ["id", "type", "title", "tags", "createdAt", "version", "similar"],
    hintOf: ({ type, similar }) =>
      [hintOfType(String(type)), similar ? undefined : NOT_COMPARED].filter(Boolean).join(" ") || undefined,
  },
  example: {
    input: contentsOf(MEMORY_EXAMPLE),
    output: { ...MEMORY_EXAMPLE, relationships: [], relationshipsTotal: 0, supersededBy: null },
  },
  audit: { none: "A memory says who made it and when." },
  prepare(context, input) {
    assertHolds(context, input);
    // A key that may only write gets none: they would show what is stored.
    if (!isWanted(context, input) || !context.caller.scopes.has("memories:read")) return null;
    return findSimilar(context, chosenGraphId(context.caller, input), input);
  },
  async handle(context, input, _standing, similar) {
    const stored = await insertMemory(context, chosenGraphId(context.caller, input), contentsOf(input));
    if (!stored) throw new ClientIdExists();
    return isWanted(context, input) ? { ...stored, similar } : stored;
  },
});

/** Whether the client wants `similar` memories. */
const isWanted = ({ door, selects }: Context, { similar }: CreateMemoryInput): boolean =>
  similar ?? (door !== "rest" && selects("similar"));
