import { InputType } from "type-graphql";
import { assertChanges } from "../../operation/input-fields.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import {
  GraphFull,
  GraphInput,
  NoTeamGraph,
  chosenGraphId,
  linkBytes,
  linkChangesOf,
  settle,
} from "../memories/index.js";
import { RELATIONSHIP_EXAMPLE, Relationship, RelationshipNotFound, UNSEEN, toRelationship } from "./relationship.js";
import { ChangedRelationship } from "./relationship-input.js";

@InputType({
  description: "What to change in a relationship; absent fields stay as they are. Its type and ends cannot be changed.",
})
export class UpdateRelationshipInput extends ChangedRelationship(GraphInput) {
  @IdField("The relationship's id.")
  id!: string;
}

export const updateRelationship = defineOperation({
  name: "updateRelationship",
  effect: "transaction",
  summary: "Changes what is said of a relationship, such as its strength.",
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
  check: (_context, input) => assertChanges(linkChangesOf(input)),
  async handle(here, input) {
    const { caller, database } = here;
    const { id } = input;
    const changes = linkChangesOf(input);
    const graphId = chosenGraphId(caller, input);
    // Locked, so that its size before the change is counted correctly.
    if (!(await lockRow(database, "relationship", { graph_id: graphId, id }))) throw new RelationshipNotFound();
    const { relationship } = database.models;
    const where = { graphId_id: { graphId, id } };
    const before = await relationship.findUniqueOrThrow({ where });
    const changed = await relationship.update({ where, data: changes, omit: UNSEEN });
    const bytes = linkBytes(changed) - linkBytes(before);
    if (bytes !== 0) await settle(here, graphId, { bytes });
    return toRelationship(changed);
  },
});
