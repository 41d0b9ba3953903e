import { ArgsType } from "type-graphql";
import { MemoryIdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { GRAPH_FOR_AGENTS, GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { Memory, MemoryNotFound } from "./memory.js";
import { CONTENTS } from "./memory-columns.js";
import { setMakers, showsMakers } from "./read-makers.js";
import { MEMORY_EXAMPLE, MEMORY_RELATIONSHIP_EXAMPLE } from "./memory-example.js";
import { LONG_FIELDS, readMemories } from "./read-memories.js";
import { withResolvedId } from "./resolve-memory-id.js";

@ArgsType()
export class MemoryInput extends GraphInput {
  @MemoryIdField("The memory's id, or its client id.")
  id!: string;
}

const OF_RELATIONSHIPS = ["relationships", "relationshipsTotal", "supersededBy"] as const;

export const memory = defineOperation({
  name: "memory",
  effect: "reads",
  summary: "One memory, with its relationships and the memories at their other ends.",
  input: MemoryInput,
  output: Memory,
  permission: "memories:read",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories/:id" },
  mcp: {
    name: "get_memory",
    description: "Reads one memory whole, with its relationships and the titles at their other ends.",
    inputs: { id: "The memory's id.", graph: GRAPH_FOR_AGENTS },
    outputs: [
      "id",
      ...CONTENTS,
      "createdAt",
      "updatedAt",
      "author",
      "editor",
      "version",
      "supersededBy",
      "relationshipsTotal",
      ...["type", "direction", "strength", "context", "memory"].map((name) => `relationships.${name}`),
    ],
    inParts: "content",
    ifCut: ({ relationships_total: links }) =>
      "To read on in a cut content, call get_memory with content_from: the character at which it was cut." +
      (links === 0
        ? ""
        : " get_related_memories lists relationships that had no room. find_path between both memories reads on in a " +
          "cut context of one."),
  },
  example: {
    input: { id: MEMORY_EXAMPLE.id },
    output: {
      ...MEMORY_EXAMPLE,
      relationships: [MEMORY_RELATIONSHIP_EXAMPLE],
      relationshipsTotal: 1,
      supersededBy: null,
    },
  },
  async handle(context, input) {
    const place = { graphId: chosenGraphId(context.caller, input), id: input.id };
    const found = await withResolvedId(context, place, async (resolved) => {
      const [memory] = await readMemories(context, [resolved], {
        withContent: LONG_FIELDS.some((field) => context.selects(field)),
        withRelationships: OF_RELATIONSHIPS.some((field) => context.selects(field)),
        withLinks: context.selects("context", "relationships"),
      });
      if (memory && showsMakers(context, memory.graphId)) await setMakers(context, [memory], (one) => one);
      return memory;
    });
    if (!found) throw new MemoryNotFound();
    return found;
  },
});
