import { Field, Float, InputType } from "type-graphql";
import { Between, Form, ListSize, NotBlank, Nullable, TextLength } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { GraphFull, goneWith, refuseWithoutRoom, roomIn } from "./graph-room.js";
import {
  CONTENT_MAX,
  Memory,
  SUMMARY_MAX,
  TAGS_MAX,
  TAG_MAX,
  TITLE_MAX,
  TYPE_DESCRIPTION,
  TYPE_FORM,
} from "./memory.js";
import { contentsOf, memoryBytes } from "./memory-columns.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { storeMemory } from "./memory-statements.js";

@InputType({ description: "A memory to store." })
export class CreateMemoryInput extends GraphInput {
  @Field(() => String, { description: TYPE_DESCRIPTION })
  @Form(TYPE_FORM, "must be a lower-case word such as code_pattern, of up to 50 characters")
  type!: string;

  @Field(() => String, { description: "A short name for it." })
  @NotBlank()
  @TextLength(1, TITLE_MAX)
  title!: string;

  @Field(() => String, { description: "The note itself." })
  @TextLength(1, CONTENT_MAX)
  content!: string;

  @Field(() => String, { nullable: true, description: "The note in a few words." })
  @Nullable()
  @TextLength(0, SUMMARY_MAX)
  summary?: string | null;

  @Field(() => [String], { defaultValue: [], description: "Labels to find it by; stored trimmed and in lower case." })
  @ListSize(0, TAGS_MAX, TAG_MAX)
  tags!: string[];

  @Field(() => Float, { defaultValue: 0.5, description: "How much it matters, from 0 to 1." })
  @Between(0, 1)
  importance!: number;
}

export const createMemory = defineOperation({
  name: "createMemory",
  effect: "statement",
  summary: "Stores a memory.",
  input: CreateMemoryInput,
  output: Memory,
  permission: "memories:write",
  failures: [NoTeamGraph, GraphFull],
  rest: { method: "POST", path: "/v1/memories", status: 201, location: "/v1/memories/:id" },
  example: {
    input: contentsOf(MEMORY_EXAMPLE),
    output: { ...MEMORY_EXAMPLE, relationships: [], relationshipsTotal: 0 },
  },
  audit: { none: "A memory says who made it and when." },
  async handle(context, input) {
    const { caller, database, newId, now } = context;
    const contents = contentsOf(input);
    const graphId = chosenGraphId(caller, input);
    const [id, time] = [newId(), now()];
    const bytes = memoryBytes(contents);
    const stored = await database
      .run(storeMemory, { graphId, id, ...contents, userId: caller.userId, time, bytes, ...roomIn(context, graphId) })
      .catch((error: unknown) => refuseWithoutRoom(context, graphId, error));
    if (stored.length === 0) throw goneWith(caller, graphId);
    return {
      ...{ graphId, id, ...contents, version: 1 },
      ...{ createdBy: caller.userId, createdAt: time, updatedAt: time },
      ...{ relationships: [], relationshipsTotal: 0 },
    };
  },
});
