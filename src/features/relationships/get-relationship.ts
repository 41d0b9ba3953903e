import { ArgsType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "../memories/index.js";
import { RELATIONSHIP_EXAMPLE, Relationship, RelationshipNotFound, UNSEEN, toRelationship } from "./relationship.js";

@ArgsType()
export class RelationshipInput extends GraphInput {
  @IdField("The relationship's id.")
  id!: string;
}

export const relationship = defineOperation({
  name: "relationship",
  effect: "reads",
  summary: "Returns one relationship.",
  input: RelationshipInput,
  output: Relationship,
  permission: "memories:read",
  failures: [RelationshipNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/relationships/:id" },
  example: { input: { id: RELATIONSHIP_EXAMPLE.id }, output: RELATIONSHIP_EXAMPLE },
  async handle({ caller, database }, input) {
    const place = { graphId: chosenGraphId(caller, input), id: input.id };
    const found = await database.models.relationship.findUnique({ where: { graphId_id: place }, omit: UNSEEN });
    if (!found) throw new RelationshipNotFound();
    return toRelationship(found);
  },
});
