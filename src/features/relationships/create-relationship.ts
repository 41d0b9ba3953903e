import { Field, Float, InputType } from "type-graphql";
import { Between, DifferentFrom, Form, Nullable, TextLength } from "../../operation/bounds.js";
import { Failure } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { FOREIGN_KEY_VIOLATION, type Database, type Statement, sqlStateOf } from "../../platform/database.js";
import { GraphInput, MemoryNotFound, NoTeamGraph, chosenGraphId } from "../memories/index.js";
import { CONTEXT_MAX, RELATIONSHIP_COLUMNS, RELATIONSHIP_EXAMPLE, Relationship, TYPE_FORM } from "./relationship.js";

@InputType({ description: "A link to make from one memory to another." })
export class CreateRelationshipInput extends GraphInput {
  @IdField("The id of the memory it starts from.")
  fromMemoryId!: string;

  @IdField("The id of the memory it leads to: another one.")
  @DifferentFrom("fromMemoryId", "must be another memory than the one it starts from")
  toMemoryId!: string;

  @Field(() => String, {
    description: "Its type, in upper case, such as SOLVES; `relationshipTypes` lists the well-known ones.",
  })
  @Form(TYPE_FORM, "must be an upper-case name such as SOLVES, of up to 50 characters")
  relationshipType!: string;

  @Field(() => Float, { defaultValue: 0.5, description: "How strong the link is, from 0 to 1." })
  @Between(0, 1)
  strength!: number;

  @Field(() => Float, { defaultValue: 0.8, description: "How sure the link is, from 0 to 1." })
  @Between(0, 1)
  confidence!: number;

  @Field(() => String, { nullable: true, description: "Where it holds, or why." })
  @Nullable()
  @TextLength(0, CONTEXT_MAX)
  context?: string | null;
}

export class RelationshipExists extends Failure {
  static readonly example = new RelationshipExists(RELATIONSHIP_EXAMPLE.id);
  readonly kind = "conflict";
  override readonly reason = "relationship_exists";
  override readonly details: { readonly id: string };

  constructor(id: string) {
    super("These two memories already have a relationship of this type; its id is in the details.");
    this.details = { id };
  }
}

/** Inserts unless both memories are there and the relationship is not yet; says which of the two was the case. */
const insertRelationship: Statement = {
  name: "insert_relationship",
  text: `
    WITH ends AS (
      SELECT count(*)::int AS found FROM memory WHERE graph_id = $1 AND id IN ($3, $4)
    ), inserted AS (
      INSERT INTO relationship (graph_id, id, from_id, to_id, type, strength, confidence, context, created_by, created_at)
      SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM ends WHERE found = 2
      ON CONFLICT (graph_id, from_id, type, to_id) DO NOTHING
      RETURNING ${RELATIONSHIP_COLUMNS}
    )
    SELECT ends.found, inserted.* FROM ends LEFT JOIN inserted ON true`,
};

const sameRelationship: Statement = {
  name: "same_relationship",
  text: `SELECT id FROM relationship WHERE graph_id = $1 AND from_id = $2 AND to_id = $3 AND type = $4`,
};

const ATTEMPTS_MAX = 3;

export const createRelationship = defineOperation({
  name: "createRelationship",
  kind: "mutation",
  summary: "Links one memory to another.",
  input: CreateRelationshipInput,
  output: Relationship,
  permission: "memories:write",
  failures: [MemoryNotFound, RelationshipExists, NoTeamGraph],
  rest: { method: "POST", path: "/v1/relationships", status: 201, location: "/v1/relationships/:id" },
  example: {
    input: {
      fromMemoryId: RELATIONSHIP_EXAMPLE.from,
      toMemoryId: RELATIONSHIP_EXAMPLE.to,
      relationshipType: RELATIONSHIP_EXAMPLE.type,
      strength: RELATIONSHIP_EXAMPLE.strength,
      context: RELATIONSHIP_EXAMPLE.context,
    },
    output: RELATIONSHIP_EXAMPLE,
  },
  oneStatement: true,
  async handle({ caller, database, newId, now }, input) {
    const graphId = chosenGraphId(caller, input);
    const ends = [input.fromMemoryId, input.toMemoryId];
    const rest = [input.strength, input.confidence, input.context ?? null, caller.userId, now()];
    const values = [graphId, newId(), ...ends, input.relationshipType, ...rest];
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const row = await inserted(database, values);
      if (!row || row.found < 2) throw new MemoryNotFound();
      if (row.id !== null) return row;
      const [same] = await database.run<{ id: string }>(sameRelationship, [graphId, ...ends, input.relationshipType]);
      if (same) throw new RelationshipExists(same.id);
      // The one that stood in the way was deleted meanwhile: now there is room.
    }
    throw new Error("A relationship could neither be made nor found.");
  },
});

type Inserted = { found: number } & (Relationship | { id: null });

/** A memory that is deleted between the look and the insert breaks the foreign key: then it is simply not there. */
async function inserted(database: Database, values: readonly unknown[]): Promise<Inserted | undefined> {
  try {
    const [row] = await database.run<Inserted>(insertRelationship, values);
    return row;
  } catch (error) {
    if (sqlStateOf(error) === FOREIGN_KEY_VIOLATION) return undefined;
    throw error;
  }
}
