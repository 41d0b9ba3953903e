import { Field, Float, ID, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { IdInRest } from "../../operation/output.js";

const { most, scoreMinOfReplaced, waitMs } = LIMITS.similar;

@ObjectType({ description: "A memory that says much the same as one that was just stored, or that it may replace." })
export class SimilarMemory {
  @Field(() => ID, { description: "The memory's id." })
  @IdInRest
  memoryId!: string;

  @Field(() => String, { description: "The memory's title." })
  title!: string;

  @Field(() => Float, { description: `How much they are alike, from ${scoreMinOfReplaced} to 1.` })
  score!: number;
}

export const SIMILAR =
  `Only where a memory was just stored: up to ${most} others with much the same words, or that mean the same where the ` +
  "operator has a model for it, the most alike first; and what it may replace, as a decision an earlier one, with some " +
  `of its words. Null where finding them failed or took longer than ${waitMs} ms, and for a key without the scope ` +
  "`memories:read`.";
