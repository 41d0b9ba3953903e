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

/**
 * Its relationships go with it, by their foreign keys. They are locked first, in one order: two memories that are
 * linked both ways and deleted at once would else each hold what the other waits for.
 */
const removeMemory: Statement = {
  name: "remove_memory",
  text: `
    WITH links AS MATERIALIZED (
      SELECT id FROM relationship WHERE graph_id = $1 AND (from_id = $2 OR to_id = $2) ORDER BY id FOR UPDATE
    )
    DELETE FROM memory WHERE graph_id = $1 AND id = $2 AND (SELECT count(*) FROM links) >= 0 RETURNING id`,
};

export const deleteMemory = defineOperation({
  name: "deleteMemory",
  kind: "mutation",
  summary: "Deletes a memory for good, with its versions and its relationships.",
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
    const [removed] = await database.run<Deletion>(removeMemory, place);
    if (!removed) throw new MemoryNotFound();
    return removed;
  },
});
