import { Field, Float, InputType, Int } from "type-graphql";
import { Between, Form, ListSize, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import {
  CONTENT_MAX,
  MEMORY_COLUMNS,
  Memory,
  MemoryNotFound,
  type MemoryRow,
  SUMMARY_MAX,
  TAGS_MAX,
  TAG_MAX,
  TITLE_MAX,
  TYPE_DESCRIPTION,
  TYPE_FORM,
  normalTags,
  toMemory,
} from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";

@InputType({ description: "What to change of a memory; what is left out stays as it is." })
export class UpdateMemoryInput extends GraphInput {
  @IdField("The memory's id.")
  id!: string;

  @Field(() => String, { nullable: true, description: TYPE_DESCRIPTION })
  @Form(TYPE_FORM, "must be a lower-case word such as code_pattern, of up to 50 characters")
  type?: string;

  @Field(() => String, { nullable: true, description: "A short name for it." })
  @NotBlank()
  @TextLength(1, TITLE_MAX)
  title?: string;

  @Field(() => String, { nullable: true, description: "The note itself." })
  @TextLength(1, CONTENT_MAX)
  content?: string;

  @Field(() => String, { nullable: true, description: "The note in a few words; null removes it." })
  @Nullable()
  @TextLength(0, SUMMARY_MAX)
  summary?: string | null;

  @Field(() => [String], { nullable: true, description: "Labels, in place of those it has." })
  @ListSize(0, TAGS_MAX, TAG_MAX)
  tags?: string[];

  @Field(() => Float, { nullable: true, description: "How much it matters, from 0 to 1." })
  @Between(0, 1)
  importance?: number;

  @Field(() => Int, { nullable: true, description: "Refuse the update unless the memory is at this version." })
  @Nullable()
  @Between(1, 2_147_483_647)
  expectedVersion?: number | null;
}

export class VersionMismatch extends Failure {
  static readonly example = new VersionMismatch(4);
  readonly kind = "conflict";
  override readonly reason = "version_mismatch";
  override readonly details: { readonly version: number };

  constructor(version: number) {
    super(`The memory is at version ${version}. Read it again, then repeat the update on what it says now.`);
    this.details = { version };
  }
}

/**
 * Keeps what the memory was and changes it, in one statement. The row is locked first, so updates of one memory follow
 * each other: none is lost, each keeps its own predecessor. A memory at another version is answered unchanged.
 */
const changeMemory: Statement = {
  name: "change_memory",
  text: `
    WITH present AS MATERIALIZED (
      SELECT * FROM memory WHERE graph_id = $1 AND id = $2 FOR UPDATE
    ), kept AS (
      INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, summary, tags, importance,
        changed_by, changed_at)
      SELECT graph_id, id, version, type, title, content, summary, tags, importance, updated_by, updated_at
      FROM present WHERE $3::int IS NULL OR version = $3
    ), changed AS (
      UPDATE memory m SET
        type = coalesce($4, m.type), title = coalesce($5, m.title), content = coalesce($6, m.content),
        summary = CASE WHEN $7 THEN $8 ELSE m.summary END, tags = coalesce($9::text[], m.tags),
        importance = coalesce($10::float8, m.importance), version = m.version + 1, updated_by = $11, updated_at = $12
      FROM present WHERE m.graph_id = present.graph_id AND m.id = present.id
        AND ($3::int IS NULL OR present.version = $3)
      RETURNING ${MEMORY_COLUMNS}
    )
    SELECT present.version AS version_before, changed.*
    FROM present LEFT JOIN changed ON true`,
};

export const updateMemory = defineOperation({
  name: "updateMemory",
  kind: "mutation",
  summary: "Changes a memory and keeps what it was.",
  input: UpdateMemoryInput,
  output: Memory,
  permission: "memories:write",
  failures: [MemoryNotFound, VersionMismatch, NoTeamGraph],
  rest: { method: "PATCH", alsoMethod: "PUT", path: "/v1/memories/:id" },
  example: {
    input: { id: MEMORY_EXAMPLE.id, summary: null, importance: 0.9, expectedVersion: 1 },
    output: {
      ...MEMORY_EXAMPLE,
      summary: null,
      importance: 0.9,
      version: 2,
      updatedAt: new Date("2026-03-03T16:02:11.870Z"),
    },
  },
  oneStatement: true,
  async handle({ caller, database, now }, input) {
    const { type, title, content, summary, tags, importance } = input;
    if ([type, title, content, summary, tags, importance].every((change) => change === undefined)) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
    const place = [chosenGraphId(caller, input), input.id, input.expectedVersion ?? null];
    const text = [type ?? null, title ?? null, content ?? null, summary !== undefined, summary ?? null];
    const rest = [tags ? normalTags(tags) : null, importance ?? null, caller.userId, now()];
    type Changed = { version_before: number } & (MemoryRow | { id: null });
    const [row] = await database.run<Changed>(changeMemory, [...place, ...text, ...rest]);
    if (!row) throw new MemoryNotFound();
    if (row.id === null) throw new VersionMismatch(row.version_before);
    return toMemory(row);
  },
});
