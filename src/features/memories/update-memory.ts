import { GraphQLJSONObject } from "graphql-scalars";
import { Field, Float, InputType, Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, Form, JsonSize, ListSize, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { MemoryIdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { GRAPH_FOR_AGENTS, GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { GraphFull } from "./graph-room.js";
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
import { VersionMismatch, changeMemory } from "./change-memory.js";
import { ExternalIdExists } from "./external-id-exists.js";
import { withMemory } from "./meant-memory.js";
import { type Contents, changesOf } from "./memory-columns.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { ExpiryField, ExternalIdField } from "./common-fields.js";

@InputType({ description: "What to change of a memory; what is left out stays as it is." })
export class UpdateMemoryInput extends GraphInput {
  @MemoryIdField("The memory's id, or its external id.")
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

  @Field(() => GraphQLJSONObject, {
    nullable: true,
    description: "What a client keeps with it, in place of what it has; null removes it.",
  })
  @Nullable()
  @JsonSize(LIMITS.memory.contextBytes, LIMITS.memory.contextDepth)
  context?: Contents["context"];

  @Field(() => Float, { nullable: true, description: "How sure it is, from 0 to 1." })
  @Between(0, 1)
  confidence?: number;

  @ExternalIdField("A client's own id for it, unlike any other in the graph; null removes it.")
  externalId?: string | null;

  @ExpiryField("Until when it holds, at once if that is past; null for a memory that does not end.")
  expiresAt?: Date | null;

  @Field(() => Int, { nullable: true, description: "Refuse the update unless the memory is at this version." })
  @Nullable()
  @Between(1, 2_147_483_647)
  expectedVersion?: number | null;
}

export const updateMemory = defineOperation({
  name: "updateMemory",
  effect: "transaction",
  summary: `Changes a memory and keeps what it was: the newest ${LIMITS.memory.versions.toLocaleString("en")} earlier versions.`,
  notes: "Give at least one field to change. One more version drops the oldest.",
  input: UpdateMemoryInput,
  output: Memory,
  permission: "memories:write",
  failures: [MemoryNotFound, VersionMismatch, ExternalIdExists, NoTeamGraph, GraphFull],
  rest: { method: "PATCH", alsoMethod: "PUT", path: "/v1/memories/:id" },
  mcp: {
    name: "update_memory",
    description: "Changes a memory that is no longer right or complete. What it was is kept as an earlier version.",
    leftOut: ["externalId", "confidence", "context", "expiresAt"],
    inputs: {
      id: "The memory's id.",
      type: "What kind of note it is.",
      content: "The whole new note; it replaces the old one.",
      summary: "It in a sentence.",
      tags: "All its labels; they replace the old ones.",
      importance: "How much it matters.",
      expectedVersion: "Refuse unless this is its version.",
      graph: GRAPH_FOR_AGENTS,
    },
    outputs: ["id", "type", "title", "tags", "updatedAt", "version"],
  },
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
    const { caller } = context;
    const changes = changesOf(input);
    if (Object.keys(changes).length === 0) {
      throw new InvalidInput([{ path: "", message: "Give at least one field to change." }]);
    }
    const { expectedVersion = null } = input;
    const changed = await withMemory(context, { graphId: chosenGraphId(caller, input), id: input.id }, (place) =>
      changeMemory(context, place, { changes, expectedVersion }),
    );
    if (!changed) throw new MemoryNotFound();
    return changed;
  },
});
