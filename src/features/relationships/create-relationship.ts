import { Field, Float, InputType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, DifferentFrom, Form, Nullable, TextLength } from "../../operation/bounds.js";
import { Failure } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { type Database, FOREIGN_KEY_VIOLATION, sqlStateOf } from "../../platform/database.js";
import {
  GraphFull,
  GraphInput,
  MemoryNotFound,
  NoTeamGraph,
  assertRoom,
  bytesOf,
  chosenGraphId,
  settle,
} from "../memories/index.js";
import { CONTEXT_MAX, RELATIONSHIP_EXAMPLE, Relationship, TYPE_FORM } from "./relationship.js";

const RELATIONSHIPS_MAX = LIMITS.memory.relationships;

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
    super(
      "These two memories already have a relationship of this type; its id is in the details. Change it with `updateRelationship`.",
    );
    this.details = { id };
  }
}

/** Deleting a memory takes its relationships along, so there is a number that can be deleted in time. */
export class TooManyRelationships extends Failure {
  static readonly example = new TooManyRelationships(RELATIONSHIP_EXAMPLE.to);
  readonly kind = "conflict";
  override readonly reason = "too_many_relationships";
  override readonly details: { readonly id: string; readonly relationships_max: number };

  constructor(id: string) {
    super(
      `A memory has at most ${RELATIONSHIPS_MAX.toLocaleString("en")} relationships, in both directions together; the ` +
        "one with the id in the details has as many. Delete some, or link to a memory that stands for a part of it.",
    );
    this.details = { id, relationships_max: RELATIONSHIPS_MAX };
  }
}

export const createRelationship = defineOperation({
  name: "createRelationship",
  effect: "transaction",
  summary: "Links one memory to another.",
  notes:
    `A memory has at most ${RELATIONSHIPS_MAX.toLocaleString("en")} relationships, in both directions together; one ` +
    "more is refused with `too_many_relationships`.",
  input: CreateRelationshipInput,
  output: Relationship,
  permission: "memories:write",
  failures: [MemoryNotFound, RelationshipExists, TooManyRelationships, NoTeamGraph, GraphFull],
  rest: {
    method: "POST",
    path: "/v1/relationships",
    status: 201,
    location: "/v1/relationships/:id",
  },
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
  audit: { none: "A relationship says who made it and when." },
  async handle(context, input) {
    const { caller, database, newId, now } = context;
    const { fromMemoryId: from, toMemoryId: to, relationshipType: type, strength, confidence } = input;
    const graphId = chosenGraphId(caller, input);
    const link = { graphId, fromId: from, type, toId: to };
    const [id, createdAt, note, bytes] = [newId(), now(), input.context ?? null, bytesOf([type, input.context])];
    const row = { ...link, id, strength, confidence, context: note, createdBy: caller.userId, createdAt };
    for (;;) {
      await assertPossible(database, link);
      await assertRoom(context, graphId, { bytes });
      const made = await database.models.relationship
        .createMany({ data: row, skipDuplicates: true })
        .catch((error: unknown) => {
          // A memory that is deleted between the look and the insert breaks the foreign key: then it is not there.
          throw sqlStateOf(error) === FOREIGN_KEY_VIOLATION ? new MemoryNotFound() : error;
        });
      if (made.count > 0) break;
      // Somebody has just made it: it is there now, or has been deleted again and leaves its place.
    }
    await settle(context, graphId, { bytes });
    return { graphId, id, from, to, type, strength, confidence, context: note, createdAt };
  },
});

interface Link {
  readonly graphId: string;
  readonly fromId: string;
  readonly type: string;
  readonly toId: string;
}

/**
 * Who links a memory at the same moment is not waited for, so it may end with a few relationships more.
 * @throws MemoryNotFound, RelationshipExists or TooManyRelationships.
 */
async function assertPossible({ models }: Database, link: Link): Promise<void> {
  const { graphId, fromId, toId } = link;
  const { memory, relationship } = models;
  if ((await memory.count({ where: { graphId, id: { in: [fromId, toId] } } })) < 2) throw new MemoryNotFound();
  const key = { graphId_fromId_type_toId: link };
  const existing = await relationship.findUnique({ where: key, select: { id: true } });
  if (existing) throw new RelationshipExists(existing.id);
  for (const id of [fromId, toId]) {
    const outgoing = await relationship.count({ where: { graphId, fromId: id } });
    const incoming = await relationship.count({ where: { graphId, toId: id } });
    if (outgoing + incoming >= RELATIONSHIPS_MAX) throw new TooManyRelationships(id);
  }
}
