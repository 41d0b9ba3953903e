import { Field, Float, ID, Int, ObjectType } from "type-graphql";
import { InRest } from "../../operation/output.js";
import { Direction } from "./memory.js";
import { defineMemoryRelation } from "./memory-relations.js";

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

  /** Undeclared, so it never leaves: where the memory is. */
  graphId!: string;
}

export const memoryReached = defineMemoryRelation({
  of: RelatedMemory,
  name: "memory",
  description: "The whole memory; null if it was deleted meanwhile.",
  placeOf: ({ graphId, memoryId: id }) => ({ graphId, id }),
});
