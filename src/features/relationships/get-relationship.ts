import { ArgsType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "../memories/index.js";
import { RELATIONSHIP_COLUMNS, RELATIONSHIP_EXAMPLE, Relationship, RelationshipNotFound } from "./relationship.js";

@ArgsType()
export class RelationshipInput extends GraphInput {
  @IdField("The relationship's id.")
  id!: string;
}

const relationshipById: Statement = {
  name: "relationship_by_id",
  text: `SELECT ${RELATIONSHIP_COLUMNS} FROM relationship WHERE graph_id = $1 AND id = $2`,
};

export const relationship = defineOperation({
  name: "relationship",
  effect: "reads",
  summary: "One relationship.",
  input: RelationshipInput,
  output: Relationship,
  permission: "memories:read",
  failures: [RelationshipNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/relationships/:id" },
  example: { input: { id: RELATIONSHIP_EXAMPLE.id }, output: RELATIONSHIP_EXAMPLE },
  async handle({ caller, database }, input) {
    const place = [chosenGraphId(caller, input), input.id];
    const [found] = await database.run<Relationship>(relationshipById, place);
    if (!found) throw new RelationshipNotFound();
    return found;
  },
});
