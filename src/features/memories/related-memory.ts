import type { GraphQLResolveInfo } from "graphql";
import { Ctx, Field, FieldResolver, Float, ID, Info, Int, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { InRest } from "../../operation/output.js";
import { Direction, Memory } from "./memory.js";
import { followMemory } from "./memory-relations.js";

@ObjectType({ description: "A memory that can be reached from another." })
export class RelatedMemory {
  @Field(() => ID, { description: "The memory's id." })
  @InRest("id")
  memoryId!: string;

  @Field(() => String, { description: "The memory's type." })
  type!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;

  @Field(() => String, { description: "The type of the relationship by which it was reached, such as SOLVES." })
  relationship!: string;

  @Field(() => Direction, {
    description: "Whether that relationship was followed along (OUT) or against (IN) its arrow.",
  })
  direction!: Direction;

  @Field(() => Int, { description: "How many relationships away it is, from 1." })
  depth!: number;

  @Field(() => Float, { description: "How strong that relationship is, from 0 to 1." })
  strength!: number;

  @Field(() => Memory, { nullable: true, description: "The whole memory; null if it was deleted meanwhile." })
  memory?: Memory;

  /** Undeclared, so it never leaves: where the memory is. */
  graphId!: string;
}

@Resolver(() => RelatedMemory)
export class RelatedMemoryRelations {
  @FieldResolver(() => Memory)
  memory(@Root() related: RelatedMemory, @Ctx() context: Context, @Info() info: GraphQLResolveInfo): Promise<Memory> {
    return followMemory(context, { graphId: related.graphId, id: related.memoryId }, info);
  }
}
