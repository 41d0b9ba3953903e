import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { measure, settle } from "./graph-room.js";
import { MemoryNotFound } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";

@InputType({ description: "Which memory to delete." })
export class DeleteMemoryInput extends GraphInput {
  @IdField("The memory's id.")
  id!: string;
}

export const deleteMemory = defineOperation({
  name: "deleteMemory",
  effect: "transaction",
  summary: "Deletes a memory for good, with its versions and its relationships.",
  notes: "Searches may still take a misspelt word for one that only this memory had, for up to a day.",
  input: DeleteMemoryInput,
  output: Deletion,
  permission: "memories:write",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "DELETE", path: "/v1/memories/:id", status: 204 },
  example: { input: { id: MEMORY_EXAMPLE.id }, output: { id: MEMORY_EXAMPLE.id } },
  audit: ({ caller }, input) => {
    const isTeams = chosenGraphId(caller, input) === caller.team?.graphId;
    return { teamId: isTeams ? (caller.team?.id ?? null) : null, subject: input.id };
  },
  async handle(context, { id, ...input }) {
    const graphId = chosenGraphId(context.caller, input);
    const { memories, bytes } = await measure(context, graphId, [id]);
    if (memories === 0) throw new MemoryNotFound();
    // Its relationships and versions go with it, by their foreign keys.
    await context.database.models.memory.deleteMany({ where: { graphId, id } });
    await settle(context, graphId, { memories: -memories, bytes: -bytes });
    return { id };
  },
});
