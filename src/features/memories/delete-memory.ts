import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { MemoryNotFound } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";

@InputType({ description: "Which memory to delete." })
export class DeleteMemoryInput extends GraphInput {
  @IdField("The memory's id.")
  id!: string;
}

const removeMemory: Statement = {
  name: "remove_memory",
  text: "SELECT removed FROM remove_memory($1::uuid, $2::uuid) AS removed",
};

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
  async handle({ caller, database }, input) {
    const place = [chosenGraphId(caller, input), input.id];
    const [answer] = await database.run<{ removed: boolean }>(removeMemory, place);
    if (!answer?.removed) throw new MemoryNotFound();
    return { id: input.id };
  },
});
