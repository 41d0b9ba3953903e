import { Field, ID, ObjectType } from "type-graphql";
import { IdInRest } from "../../operation/output.js";

@ObjectType({ description: "A memory that has taken the place of another." })
export class SupersedingMemory {
  @Field(() => ID, { description: "The memory's id." })
  @IdInRest
  memoryId!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;
}

export const SUPERSEDED_BY =
  "The memory to read instead: one that REPLACES this one or that it is DEPRECATED_BY, of several the one that was " +
  "linked last (of more than 20 one of them), also if it has expired; null if there is none";
