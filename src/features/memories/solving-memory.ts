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

export const SOLVED_BY =
  "The memory that was last linked as one that SOLVES this one, else that ADDRESSES it, also if it has expired or was " +
  "replaced; of more than 20 one of them; null if there is none.";
