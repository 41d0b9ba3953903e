import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "../memories/index.js";
import { RELATIONSHIP_EXAMPLE, RelationshipNotFound } from "./relationship.js";

@InputType({ description: "Which relationship to delete." })
export class DeleteRelationshipInput extends GraphInput {
  @IdField("The relationship's id.")
  id!: string;
}

const removeRelationship: Statement = {
  name: "remove_relationship",
  text: `DELETE FROM relationship WHERE graph_id = $1 AND id = $2 RETURNING id`,
};

export const deleteRelationship = defineOperation({
  name: "deleteRelationship",
  kind: "mutation",
  summary: "Deletes a relationship; its memories stay.",
  input: DeleteRelationshipInput,
  output: Deletion,
  permission: "memories:write",
  failures: [RelationshipNotFound, NoTeamGraph],
  rest: { method: "DELETE", path: "/v1/relationships/:id", status: 204 },
  example: { input: { id: RELATIONSHIP_EXAMPLE.id }, output: { id: RELATIONSHIP_EXAMPLE.id } },
  oneStatement: true,
  async handle({ caller, database }, input) {
    const place = [chosenGraphId(caller, input), input.id];
    const [removed] = await database.run<Deletion>(removeRelationship, place);
    if (!removed) throw new RelationshipNotFound();
    return removed;
  },
});
