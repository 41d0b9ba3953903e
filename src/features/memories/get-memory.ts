import { ArgsType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { Memory, MemoryNotFound } from "./memory.js";
import { MEMORY_EXAMPLE, MEMORY_RELATIONSHIP_EXAMPLE } from "./memory-example.js";
import { readMemories } from "./read-memories.js";

@ArgsType()
export class MemoryInput extends GraphInput {
  @IdField("The memory's id.")
  id!: string;
}

export const memory = defineOperation({
  name: "memory",
  effect: "reads",
  summary: "One memory, with its relationships and the memories at their other ends.",
  input: MemoryInput,
  output: Memory,
  permission: "memories:read",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories/:id" },
  example: {
    input: { id: MEMORY_EXAMPLE.id },
    output: { ...MEMORY_EXAMPLE, relationships: [MEMORY_RELATIONSHIP_EXAMPLE], relationshipsTotal: 1 },
  },
  async handle(context, input) {
    const place = { graphId: chosenGraphId(context.caller, input), id: input.id };
    const [found] = await readMemories(context, [place], {
      withContent: context.selects("content"),
      withRelationships: context.selects("relationships") || context.selects("relationshipsTotal"),
    });
    if (!found) throw new MemoryNotFound();
    return found;
  },
});
