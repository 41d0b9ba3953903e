import { Field, Float, InputType } from "type-graphql";
import { Between, Nullable, TextLength } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { GraphFull, GraphInput, NoTeamGraph, bytesOf, chosenGraphId, settle } from "../memories/index.js";
import {
  CONTEXT_MAX,
  RELATIONSHIP_EXAMPLE,
  Relationship,
  RelationshipNotFound,
  UNSEEN,
  toRelationship,
} from "./relationship.js";

@InputType({
  description: "What to change in a relationship; absent fields stay as they are. Its type and ends cannot be changed.",
})
export class UpdateRelationshipInput extends GraphInput {
  @IdField("The relationship's id.")
  id!: string;

  @Field(() => Float, { nullable: true, description: "How strong the link is, from 0 to 1." })
  @Between(0, 1)
  strength?: number;

  @Field(() => Float, { nullable: true, description: "How sure the link is, from 0 to 1." })
  @Between(0, 1)
  confidence?: number;

  @Field(() => String, { nullable: true, description: "Where or why it applies; null removes it." })
  @Nullable()
  @TextLength(0, CONTEXT_MAX)
  context?: string | null;
}

export const updateRelationship = defineOperation({
  name: "updateRelationship",
  effect: "transaction",
  summary: "Changes the strength, confidence or context of a relationship.",
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
  audit: { none: "A relationship is only a link; deleting a memory is recorded." },
  async handle(here, input) {
    const { caller, database } = here;
    const { id, strength, confidence, context } = input;
    if (strength === undefined && confidence === undefined && context === undefined) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
    const graphId = chosenGraphId(caller, input);
    // Locked, so that its size before the change is counted correctly.
    if (!(await lockRow(database, "relationship", { graph_id: graphId, id }))) throw new RelationshipNotFound();
    const { relationship } = database.models;
    const where = { graphId_id: { graphId, id } };
    const before = await relationship.findUniqueOrThrow({ where, select: { type: true, context: true } });
    const changes = {
      ...(strength !== undefined && { strength }),
      ...(confidence !== undefined && { confidence }),
      ...(context !== undefined && { context }),
    };
    const changed = await relationship.update({ where, data: changes, omit: UNSEEN });
    const bytes = bytesOf([changed.type, changed.context]) - bytesOf([before.type, before.context]);
    if (bytes !== 0) await settle(here, graphId, { bytes });
    return toRelationship(changed);
  },
});
