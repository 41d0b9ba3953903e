import { Field, ID, ObjectType } from "type-graphql";
import { IdInRest } from "../../operation/output.js";

@ObjectType({ description: "A memory that solves another." })
export class SolvingMemory {
  @Field(() => ID, { description: "The memory's id." })
  @IdInRest
  memoryId!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;
}
