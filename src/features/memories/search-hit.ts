import type { GraphQLResolveInfo } from "graphql";
import { Ctx, Field, FieldResolver, Float, ID, Info, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { InRest } from "../../operation/output.js";
import { Memory } from "./memory.js";
import { followMemory } from "./memory-relations.js";

@ObjectType({ description: "A memory that a search found." })
export class SearchHit {
  @Field(() => ID, { description: "The memory's id." })
  @InRest("id")
  memoryId!: string;

  @Field(() => String, { description: "The memory's type." })
  type!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;

  @Field(() => Float, { description: "How well it fits the query, from 0 to 1: a title that says it all is near 1." })
  relevance!: number;

  @Field(() => Memory, { nullable: true, description: "The whole memory; null if it was deleted meanwhile." })
  memory?: Memory;

  /** Undeclared, so it never leaves: where the memory is. */
  graphId!: string;
}

@Resolver(() => SearchHit)
export class SearchHitRelations {
  @FieldResolver(() => Memory)
  memory(@Root() hit: SearchHit, @Ctx() context: Context, @Info() info: GraphQLResolveInfo): Promise<Memory> {
    return followMemory(context, { graphId: hit.graphId, id: hit.memoryId }, info);
  }
}
