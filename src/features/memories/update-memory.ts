import { Field, Float, InputType, Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, Form, ListSize, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { GraphFull, assertRoom, settle } from "./graph-room.js";
import {
  CONTENT_MAX,
  Memory,
  MemoryNotFound,
  SUMMARY_MAX,
  TAGS_MAX,
  TAG_MAX,
  TITLE_MAX,
  TYPE_DESCRIPTION,
  TYPE_FORM,
} from "./memory.js";
import { SELECT_CONTENTS, bytesOf, changesOf, memoryBytes } from "./memory-columns.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { keepVersion } from "./memory-statements.js";
import type { Place } from "./read-memories.js";

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

export const updateMemory = defineOperation({
  name: "updateMemory",
  effect: "transaction",
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
    const changes = changesOf(input);
    if (Object.keys(changes).length === 0) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
    const { id, expectedVersion = null } = input;
    const graphId = chosenGraphId(caller, input);
    const [kept] = await database.run(keepVersion, { graphId, id, expectedVersion });
    if (!kept) throw await whyNotKept(context, { graphId, id });
    // The least that it takes; how much it is, the row tells when it is written.
    await assertRoom(context, graphId, { bytes: bytesOf(Object.values(changes)) });
    const [changed] = await database.models.memory.updateManyAndReturn({
      where: { graphId, id },
      data: { ...changes, version: { increment: 1 }, updatedBy: caller.userId, updatedAt: now() },
      omit: { updatedBy: true },
    });
    if (!changed) throw new MemoryNotFound();
    const freed = await dropOldVersions(context, { graphId, id }, kept.version - LIMITS.memory.versions);
    // What it was is kept, so all that it is now comes on top, but for the versions that go.
    await settle(context, graphId, { bytes: memoryBytes(changed) - freed, written: [id] });
    return changed;
  },
});

async function whyNotKept({ database }: Context, { graphId, id }: Place): Promise<Failure> {
  const found = await database.models.memory.findUnique({
    where: { graphId_id: { graphId, id } },
    select: { version: true },
  });
  return found ? new VersionMismatch(found.version) : new MemoryNotFound();
}

/** Answers with how many bytes that frees. */
async function dropOldVersions({ database }: Context, { graphId, id }: Place, last: number): Promise<number> {
  if (last < 1) return 0;
  const { memoryVersion } = database.models;
  const where = { graphId, memoryId: id, version: { lte: last } };
  const old = await memoryVersion.findMany({ where, select: SELECT_CONTENTS });
  await memoryVersion.deleteMany({ where });
  return old.reduce((sum, version) => sum + memoryBytes(version), 0);
}
