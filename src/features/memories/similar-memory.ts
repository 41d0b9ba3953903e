import { Field, Float, ID, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { IdInRest } from "../../operation/output.js";

const { most, scoreMin, waitMs } = LIMITS.similar;

@ObjectType({ description: "A memory that says much the same as one that was just stored." })
export class SimilarMemory {
  @Field(() => ID, { description: "The memory's id." })
  @IdInRest
  memoryId!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;

  @Field(() => Float, { description: `How much they are alike, from ${scoreMin} to 1.` })
  score!: number;
}

export const SIMILAR =
  `Only where a memory was just stored: up to ${most} others with much the same words, or that mean the same where the ` +
  `operator has a model for it, the most alike first. Null where finding them failed or took longer than ${waitMs} ms, ` +
  "and for a key without the scope `memories:read`.";
