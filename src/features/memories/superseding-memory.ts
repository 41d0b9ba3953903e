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
  "The memory to read instead: the one that was last linked as one that REPLACES this one or that it is DEPRECATED_BY, " +
  "also if it has expired; of more than 20 one of them; null if there is none";
