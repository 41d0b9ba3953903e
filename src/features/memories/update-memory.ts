import { Field, Float, InputType, Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, Form, ListSize, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import type { Statement } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { GraphFull, refuseWithoutRoom, roomIn } from "./graph-room.js";
import {
  CONTENT_MAX,
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

/** One row always; all of it is null where there is no such memory, all but the version before where it was another. */
const changeMemory: Statement = {
  name: "change_memory",
  text: "SELECT * FROM change_memory($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
};

type Changed = { version_before: number | null } & (MemoryRow | { id: null });

export const updateMemory = defineOperation({
  name: "updateMemory",
  effect: "statement",
  summary: `Changes a memory and keeps what it was: the newest ${LIMITS.memory.versions.toLocaleString("en")} earlier versions.`,
  notes: "Give at least one field to change. One more version drops the oldest.",
  input: UpdateMemoryInput,
  output: Memory,
  permission: "memories:write",
  failures: [MemoryNotFound, VersionMismatch, NoTeamGraph, GraphFull],
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
  audit: { none: "The versions of a memory say who changed what and when." },
  async handle(context, input) {
    const { caller, database, now } = context;
    const { type, title, content, summary, tags, importance } = input;
    if ([type, title, content, summary, tags, importance].every((change) => change === undefined)) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
    const graphId = chosenGraphId(caller, input);
    const text = [type ?? null, title ?? null, content ?? null, summary !== undefined, summary ?? null];
    const rest = [tags ? normalTags(tags) : null, importance ?? null, caller.userId, now()];
    const values = [graphId, input.id, input.expectedVersion ?? null, ...text, ...rest];
    const [row] = await database
      .run<Changed>(changeMemory, [...values, ...roomIn(context, graphId), LIMITS.memory.versions])
      .catch((error: unknown) => refuseWithoutRoom(context, graphId, error));
    if (row == null || row.version_before === null) throw new MemoryNotFound();
    if (row.id === null) throw new VersionMismatch(row.version_before);
    return toMemory(row);
  },
});
