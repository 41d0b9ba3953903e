import type { GraphQLResolveInfo } from "graphql";
import { Ctx, Field, FieldResolver, Float, ID, Info, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { MEMORY_EXAMPLE, MEMORY_RELATIONSHIP_EXAMPLE, Memory, followMemory } from "../memories/index.js";

export const TYPE_FORM = /^[A-Z][A-Z0-9_]{0,49}$/;
export const CONTEXT_MAX = 1_000;

@ObjectType({ description: "A typed link from one memory to another." })
export class Relationship {
  @Field(() => ID, { description: "Its id, a UUIDv7." })
  id!: string;

  @Field(() => ID, { description: "The id of the memory it starts from." })
  from!: string;

  @Field(() => ID, { description: "The id of the memory it leads to." })
  to!: string;

  @Field(() => String, { description: "Its type, such as SOLVES." })
  type!: string;

  @Field(() => Float, { description: "How strong the link is, from 0 to 1." })
  strength!: number;

  @Field(() => Float, { description: "How sure the link is, from 0 to 1." })
  confidence!: number;

  @Field(() => String, { nullable: true, description: "Where it holds, or why." })
  context!: string | null;

  @Field(() => Date, { description: "When it was made." })
  createdAt!: Date;

  @Field(() => Memory, { description: "The memory it starts from." })
  fromMemory?: Memory;

  @Field(() => Memory, { description: "The memory it leads to." })
  toMemory?: Memory;

  /** Undeclared, so it never leaves: where its memories are. */
  graphId!: string;
}

/** A relationship as the documentation shows it. */
export const RELATIONSHIP_EXAMPLE: Relationship = {
  graphId: MEMORY_EXAMPLE.graphId,
  id: MEMORY_RELATIONSHIP_EXAMPLE.id,
  from: MEMORY_RELATIONSHIP_EXAMPLE.from,
  to: MEMORY_RELATIONSHIP_EXAMPLE.to,
  type: MEMORY_RELATIONSHIP_EXAMPLE.type,
  strength: MEMORY_RELATIONSHIP_EXAMPLE.strength,
  confidence: MEMORY_RELATIONSHIP_EXAMPLE.confidence,
  context: "For calls that may be repeated safely.",
  createdAt: MEMORY_RELATIONSHIP_EXAMPLE.createdAt,
};

@Resolver(() => Relationship)
export class RelationshipRelations {
  @FieldResolver(() => Memory)
  fromMemory(
    @Root() { graphId, from }: Relationship,
    @Ctx() context: Context,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Memory> {
    return followMemory(context, { graphId, id: from }, info);
  }

  @FieldResolver(() => Memory)
  toMemory(
    @Root() { graphId, to }: Relationship,
    @Ctx() context: Context,
    @Info() info: GraphQLResolveInfo,
  ): Promise<Memory> {
    return followMemory(context, { graphId, id: to }, info);
  }
}

export class RelationshipNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("No relationship has this id.");
  }
}

/** The columns of a row, named as a Relationship is. */
export const RELATIONSHIP_COLUMNS = `graph_id AS "graphId", id, from_id AS "from", to_id AS "to", type, strength,
  confidence, context, created_at AS "createdAt"`;
