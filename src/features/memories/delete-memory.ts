import { InputType } from "type-graphql";
import { MemoryIdField } from "../../operation/id.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import { GRAPH_FOR_AGENTS, GraphInput, NoTeamGraph, chosenGraphId, chosenTeamId } from "./graph.js";
import { measure, settle } from "./graph-room.js";
import { MemoryNotFound } from "./memory.js";
import { withResolvedId } from "./resolve-memory-id.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";

@InputType({ description: "Which memory to delete." })
export class DeleteMemoryInput extends GraphInput {
  @MemoryIdField("The memory's id, or its client id.")
  id!: string;
}

export const deleteMemory = defineOperation({
  name: "deleteMemory",
  effect: "transaction",
  summary: "Deletes a memory permanently, with its versions and its relationships.",
  notes: "For up to a day, searches may still correct a misspelt word to one that only this memory had.",
  input: DeleteMemoryInput,
  output: Deletion,
  permission: "memories:write",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "DELETE", path: "/v1/memories/:id", status: 204 },
  mcp: {
    name: "delete_memory",
    description:
      "Deletes a memory permanently, with its relationships and versions. Only for what is wrong or must not be kept; " +
      "what is outdated is updated or linked as replaced.",
    isDestructive: true,
    isIdempotent: true,
    inputs: { id: "The memory's id.", graph: GRAPH_FOR_AGENTS },
  },
  example: { input: { id: MEMORY_EXAMPLE.id }, output: { id: MEMORY_EXAMPLE.id } },
  audit: ({ caller }, input, { id }) => ({ teamId: chosenTeamId(caller, input), subject: id }),
  async handle(context, input) {
    const place = { graphId: chosenGraphId(context.caller, input), id: input.id };
    const deleted = await withResolvedId(context, place, async (resolved) => {
      const { graphId, id } = resolved;
      const { memories, bytes } = await measure(context, graphId, [id]);
      // Its relationships and versions are deleted by their foreign keys.
      const { count } = await context.database.models.memory.deleteMany({ where: { ...resolved } });
      if (count === 0) return undefined;
      await settle(context, graphId, { memories: -memories, bytes: -bytes });
      return { id };
    });
    if (!deleted) throw new MemoryNotFound();
    return deleted;
  },
});
