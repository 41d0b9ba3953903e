import { Field, ID, ObjectType } from "type-graphql";
import { InRest } from "../../operation/output.js";

@ObjectType({ description: "A memory that has taken the place of another." })
export class SupersedingMemory {
  @Field(() => ID, { description: "The memory's id." })
  @InRest("id")
  memoryId!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;
}

export const SUPERSEDED_BY =
  "The memory to read instead: the newest that REPLACES this one or that it is DEPRECATED_BY; null if there is none";
