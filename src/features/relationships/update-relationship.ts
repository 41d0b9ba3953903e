import { Field, Float, InputType } from "type-graphql";
import { Between, Nullable, TextLength } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { GraphFull, GraphInput, NoTeamGraph, chosenGraphId, refuseWithoutRoom, roomIn } from "../memories/index.js";
import {
  CONTEXT_MAX,
  RELATIONSHIP_COLUMNS,
  RELATIONSHIP_EXAMPLE,
  Relationship,
  RelationshipNotFound,
} from "./relationship.js";

@InputType({ description: "What to change of a relationship; what is left out stays. Its type and ends are for good." })
export class UpdateRelationshipInput extends GraphInput {
  @IdField("The relationship's id.")
  id!: string;

  @Field(() => Float, { nullable: true, description: "How strong the link is, from 0 to 1." })
  @Between(0, 1)
  strength?: number;

  @Field(() => Float, { nullable: true, description: "How sure the link is, from 0 to 1." })
  @Between(0, 1)
  confidence?: number;

  @Field(() => String, { nullable: true, description: "Where it holds, or why; null removes it." })
  @Nullable()
  @TextLength(0, CONTEXT_MAX)
  context?: string | null;
}

const changeRelationship: Statement = {
  name: "change_relationship",
  text: `
    SELECT ${RELATIONSHIP_COLUMNS}
    FROM change_relationship($1, $2, $3, $4, $5, $6, $7, $8)`,
};

export const updateRelationship = defineOperation({
  name: "updateRelationship",
  effect: "statement",
  summary: "Changes how strong and how sure a relationship is, and its context.",
  notes: "Give at least one field to change.",
  input: UpdateRelationshipInput,
  output: Relationship,
  permission: "memories:write",
  failures: [RelationshipNotFound, NoTeamGraph, GraphFull],
  rest: { method: "PATCH", alsoMethod: "PUT", path: "/v1/relationships/:id" },
  example: {
    input: { id: RELATIONSHIP_EXAMPLE.id, strength: 0.7, context: null },
    output: { ...RELATIONSHIP_EXAMPLE, strength: 0.7, context: null },
  },
  audit: { none: "A relationship is no more than a link; deleting what it links is recorded." },
  async handle(here, input) {
    const { caller, database } = here;
    const { strength, confidence, context } = input;
    if (strength === undefined && confidence === undefined && context === undefined) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
    const graphId = chosenGraphId(caller, input);
    const changes = [strength ?? null, confidence ?? null, context !== undefined, context ?? null];
    const values = [graphId, input.id, ...changes, ...roomIn(here, graphId)];
    const [changed] = await database
      .run<Relationship>(changeRelationship, values)
      .catch((error: unknown) => refuseWithoutRoom(here, graphId, error));
    if (!changed) throw new RelationshipNotFound();
    return changed;
  },
});
