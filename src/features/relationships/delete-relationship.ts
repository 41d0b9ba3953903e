import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { GraphInput, NoTeamGraph, chosenGraphId, linkBytes, settle } from "../memories/index.js";
import { RELATIONSHIP_EXAMPLE, RelationshipNotFound } from "./relationship.js";

@InputType({ description: "Which relationship to delete." })
export class DeleteRelationshipInput extends GraphInput {
  @IdField("The relationship's id.")
  id!: string;
}

export const deleteRelationship = defineOperation({
  name: "deleteRelationship",
  effect: "transaction",
  summary: "Deletes a relationship; its memories stay.",
  input: DeleteRelationshipInput,
  output: Deletion,
  permission: "memories:write",
  failures: [RelationshipNotFound, NoTeamGraph],
  rest: { method: "DELETE", path: "/v1/relationships/:id", status: 204 },
  example: { input: { id: RELATIONSHIP_EXAMPLE.id }, output: { id: RELATIONSHIP_EXAMPLE.id } },
  audit: { none: "A relationship is only a link; deleting a memory is recorded." },
  async handle(context, { id, ...input }) {
    const { caller, database } = context;
    const graphId = chosenGraphId(caller, input);
    if (!(await lockRow(database, "relationship", { graph_id: graphId, id }))) throw new RelationshipNotFound();
    const deleted = await database.models.relationship.delete({ where: { graphId_id: { graphId, id } } });
    await settle(context, graphId, { bytes: -linkBytes(deleted) });
    return { id };
  },
});
