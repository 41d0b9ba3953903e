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
  text: "SELECT removed FROM remove_relationship($1::uuid, $2::uuid) AS removed",
};

export const deleteRelationship = defineOperation({
  name: "deleteRelationship",
  effect: "statement",
  summary: "Deletes a relationship; its memories stay.",
  input: DeleteRelationshipInput,
  output: Deletion,
  permission: "memories:write",
  failures: [RelationshipNotFound, NoTeamGraph],
  rest: { method: "DELETE", path: "/v1/relationships/:id", status: 204 },
  example: { input: { id: RELATIONSHIP_EXAMPLE.id }, output: { id: RELATIONSHIP_EXAMPLE.id } },
  audit: { none: "A relationship is no more than a link; deleting what it links is recorded." },
  async handle({ caller, database }, input) {
    const place = [chosenGraphId(caller, input), input.id];
    const [answer] = await database.run<{ removed: boolean }>(removeRelationship, place);
    if (!answer?.removed) throw new RelationshipNotFound();
    return { id: input.id };
  },
});
