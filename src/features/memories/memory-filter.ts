import { ArgsType, Field, Float } from "type-graphql";
import { Between, Era, Form, ListSize, Nullable } from "../../operation/bounds.js";
import { GraphInput } from "./graph.js";
import { TAGS_MAX, TAG_MAX, TYPE_FORM } from "./memory.js";
import { normalTags } from "./memory-columns.js";

const TYPES_MAX = 50;

/** What lists and searches can be narrowed by; all that is given must hold. */
@ArgsType()
export abstract class MemoryFilterInput extends GraphInput {
  @Field(() => [String], { nullable: true, description: "Only memories of one of these types." })
  @Nullable()
  @Form(TYPE_FORM, "must be lower-case words such as code_pattern")
  @ListSize(1, TYPES_MAX, 50)
  types?: string[] | null;

  @Field(() => [String], { nullable: true, description: "Only memories that carry all of these tags." })
  @Nullable()
  @ListSize(1, TAGS_MAX, TAG_MAX)
  tags?: string[] | null;

  @Field(() => Float, { nullable: true, description: "Only memories at least this important, from 0 to 1." })
  @Nullable()
  @Between(0, 1)
  minImportance?: number | null;

  @Field(() => Date, { nullable: true, description: "Only memories stored at this time or later." })
  @Nullable()
  @Era()
  createdAfter?: Date | null;

  @Field(() => Date, { nullable: true, description: "Only memories stored before this time." })
  @Nullable()
  @Era()
  createdBefore?: Date | null;
}

/** The filter for models. */
export function filterOf(input: MemoryFilterInput) {
  const { types, tags, minImportance, createdAfter, createdBefore } = input;
  return {
    ...(types && { type: { in: types } }),
    ...(tags && { tags: { hasEvery: normalTags(tags) } }),
    ...(minImportance != null && { importance: { gte: minImportance } }),
    createdAt: { ...(createdAfter && { gte: createdAfter }), ...(createdBefore && { lt: createdBefore }) },
  };
}

/** The same for the statement that searches. */
export const filterValues = ({ types, tags, minImportance, createdAfter, createdBefore }: MemoryFilterInput) => ({
  types: types ?? null,
  tags: tags ? normalTags(tags) : null,
  minImportance: minImportance ?? null,
  createdAfter: createdAfter ?? null,
  createdBefore: createdBefore ?? null,
});
