import { Field, ID, ObjectType } from "type-graphql";
import { IdInRest } from "../../operation/output.js";

/** Id, type and title of the memory that a hit, a step or a node stands for. */
@ObjectType()
export abstract class MemoryHead {
  @Field(() => ID, { description: "The memory's id." })
  @IdInRest
  memoryId!: string;

  @Field(() => String, { description: "The memory's type." })
  type!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;
}
