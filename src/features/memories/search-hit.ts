import { Field, Float, ID, ObjectType } from "type-graphql";
import { InRest } from "../../operation/output.js";
import { defineMemoryRelation } from "./memory-relations.js";

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

  /** Undeclared, so it never leaves: where the memory is. */
  graphId!: string;
}

export const memoryOfHit = defineMemoryRelation({
  of: SearchHit,
  name: "memory",
  description: "The whole memory; null if it was deleted meanwhile.",
  placeOf: ({ graphId, memoryId: id }) => ({ graphId, id }),
});
