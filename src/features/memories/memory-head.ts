import { Field, ID, ObjectType } from "type-graphql";
import { InRest } from "../../operation/output.js";

/** What names the memory that a hit, a step or a node is about. */
@ObjectType()
export abstract class MemoryHead {
  @Field(() => ID, { description: "The memory's id." })
  @InRest("id")
  memoryId!: string;

  @Field(() => String, { description: "The memory's type." })
  type!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;
}
