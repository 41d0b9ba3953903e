import { ArgsType, Field, Float, InputType, registerEnumType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, Era, ListSize, NotAllBlank, Nullable } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { pickOrNull } from "../../operation/input-fields.js";
import type { SqlType, ValuesOf } from "../../platform/database/statement.js";
import type { Prisma } from "../../platform/prisma/client.js";
import { GraphInput } from "./graph.js";
import { normalTags } from "./memory-columns.js";
import { IncludeExpiredField, ProjectField, TypesField } from "./common-fields.js";

/** Memories that have expired by this time are left out; null includes all. */
export const expiryFor = ({ now }: Pick<Context, "now">, { includeExpired }: { readonly includeExpired?: boolean }) =>
  includeExpired ? null : now();

export enum TagsMatch {
  ALL = "all",
  ANY = "any",
}
registerEnumType(TagsMatch, {
  name: "TagsMatch",
  description: "How many of the requested tags a memory must carry.",
  valuesConfig: { ALL: { description: "Every one." }, ANY: { description: "At least one." } },
});

/** The filters of lists and searches. A memory must pass all that are given. */
@ArgsType()
@InputType()
export abstract class MemoryFilterInput extends GraphInput {
  @TypesField()
  types?: string[] | null;

  @Field(() => [String], { nullable: true, description: "Only memories that carry these tags: see `tagsMatch`." })
  @Nullable()
  @NotAllBlank()
  @ListSize(1, LIMITS.memory.tags, LIMITS.memory.tag)
  tags?: string[] | null;

  @Field(() => TagsMatch, { defaultValue: TagsMatch.ALL, description: "Whether `tags` asks for all or any of them." })
  tagsMatch!: TagsMatch;

  @Field(() => Float, { nullable: true, description: "Only memories at least this important, from 0 to 1." })
  @Nullable()
  @Between(0, 1)
  minImportance?: number | null;

  @ProjectField("Only memories whose `context` has exactly this `project_path`.")
  project?: string | null;

  @Field(() => Date, { nullable: true, description: "Only memories stored at this time or later." })
  @Nullable()
  @Era()
  createdAfter?: Date | null;

  @Field(() => Date, { nullable: true, description: "Only memories stored before this time." })
  @Nullable()
  @Era()
  createdBefore?: Date | null;

  @IncludeExpiredField()
  includeExpired!: boolean;
}

/** The requested tags in their normal form; empty if none are requested. */
export const tagsAskedFor = (tags: readonly string[] | null | undefined): string[] => normalTags(tags ?? []);

/** The fields that leave out memories if they are given. */
type FilterName = Exclude<keyof MemoryFilterInput, keyof GraphInput | "tagsMatch" | "includeExpired">;

/** The filters that the search index does not have, with PostgreSQL's types, for statements. */
export const ROW_FILTERS = {
  minImportance: "float8?",
  project: "text?",
  createdAfter: "timestamptz?",
  createdBefore: "timestamptz?",
} as const satisfies Record<Exclude<FilterName, "types" | "tags">, SqlType>;

const ROW_FILTER_NAMES = Object.keys(ROW_FILTERS) as ReadonlyArray<keyof typeof ROW_FILTERS>;

/** The values of `ROW_FILTERS` for a statement; null for those that are not given. */
export const filterValues = (filter: Partial<MemoryFilterInput>): ValuesOf<typeof ROW_FILTERS> =>
  pickOrNull<ValuesOf<typeof ROW_FILTERS>>(ROW_FILTER_NAMES, filter);

/** Whether a filter needs more than the search index. */
export const needsRows = (filter: Partial<MemoryFilterInput>): boolean =>
  ROW_FILTER_NAMES.some((name) => filter[name] != null);

/** Whether there is a filter besides expiry, which leaves out only few memories. */
export const isNarrowed = (filter: Partial<MemoryFilterInput>): boolean =>
  filter.types != null || filter.tags != null || needsRows(filter);

/** The filter as a condition for models. */
export function filterOf(context: Pick<Context, "now">, input: Partial<MemoryFilterInput>) {
  const { types, tagsMatch, minImportance, project, createdAfter, createdBefore } = input;
  const tags = tagsAskedFor(input.tags);
  const expired = expiryFor(context, input);
  const conditions = {
    types: types && { type: { in: types } },
    tags: tags.length > 0 && { tags: tagsMatch === TagsMatch.ANY ? { hasSome: tags } : { hasEvery: tags } },
    minImportance: minImportance != null && { importance: { gte: minImportance } },
    project: project != null && { project },
    createdAfter: createdAfter && { createdAt: { gte: createdAfter } },
    createdBefore: createdBefore && { createdAt: { lt: createdBefore } },
    expiry: expired && { OR: [{ expiresAt: null }, { expiresAt: { gt: expired } }] },
  } satisfies Record<FilterName | "expiry", Prisma.MemoryWhereInput | false | null | undefined>;
  const given = Object.values(conditions).filter((condition) => condition != null && condition !== false);
  return { AND: given satisfies Prisma.MemoryWhereInput[] };
}
