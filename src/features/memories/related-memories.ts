import { ArgsType, Field, Int, ObjectType, registerEnumType } from "type-graphql";
import { Between, Form, ListSize, Nullable } from "../../operation/bounds.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { MemoryNotFound } from "./memory.js";
import { MEMORY_EXAMPLE, MEMORY_RELATIONSHIP_EXAMPLE, PROBLEM_EXAMPLE } from "./memory-example.js";
import { RelatedMemory } from "./related-memory.js";
import { DEPTH_MAX, STEPS_MAX, relatedStatement } from "./related-statement.js";

const LIMIT_MAX = 100;
const TYPES_MAX = 50;

export enum FollowDirection {
  ANY = "any",
  OUT = "out",
  IN = "in",
}
registerEnumType(FollowDirection, {
  name: "FollowDirection",
  description: "Which relationships to follow, seen from the memory one is at.",
  valuesConfig: {
    ANY: { description: "Both ways." },
    OUT: { description: "From the memory to another." },
    IN: { description: "From another to the memory." },
  },
});

@ArgsType()
export class RelatedMemoriesInput extends GraphInput {
  @IdField("The id of the memory to start from.")
  id!: string;

  @Field(() => [String], { nullable: true, description: "Follow only relationships of these types, such as SOLVES." })
  @Nullable()
  @Form(/^[A-Z][A-Z0-9_]{0,49}$/, "must be upper-case names such as SOLVES, of up to 50 characters")
  @ListSize(1, TYPES_MAX, 50)
  types?: string[] | null;

  @Field(() => Int, { defaultValue: 1, description: `How many relationships away to go, from 1 to ${DEPTH_MAX}.` })
  @Between(1, DEPTH_MAX)
  maxDepth!: number;

  @Field(() => FollowDirection, { defaultValue: FollowDirection.ANY, description: "Which way to follow them." })
  direction!: FollowDirection;

  @Field(() => Int, { defaultValue: 20, description: `How many to answer with at most, from 1 to ${LIMIT_MAX}.` })
  @Between(1, LIMIT_MAX)
  limit!: number;
}

@ObjectType({ description: "What can be reached from a memory." })
export class RelatedMemories {
  @Field(() => [RelatedMemory], {
    description: "Each memory once: nearest first, then strongest, then most important.",
  })
  memories!: RelatedMemory[];
}

export const relatedMemories = defineOperation({
  name: "relatedMemories",
  effect: "reads",
  summary: "The memories that relationships lead to from a memory, nearest first.",
  notes:
    `At each level up to ${STEPS_MAX.toLocaleString("en")} relationships are looked at. The next level is looked ` +
    "at only while fewer than `limit` memories are found.",
  input: RelatedMemoriesInput,
  output: RelatedMemories,
  permission: "memories:read",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories/:id/related" },
  example: {
    input: { id: MEMORY_EXAMPLE.id, types: ["SOLVES", "CAUSES"], maxDepth: 2 },
    output: {
      memories: [
        {
          memoryId: PROBLEM_EXAMPLE.id,
          type: PROBLEM_EXAMPLE.type,
          title: PROBLEM_EXAMPLE.title,
          graphId: PROBLEM_EXAMPLE.graphId,
          relationship: MEMORY_RELATIONSHIP_EXAMPLE.type,
          direction: MEMORY_RELATIONSHIP_EXAMPLE.direction,
          depth: 1,
          strength: MEMORY_RELATIONSHIP_EXAMPLE.strength,
        },
      ],
    },
  },
  async handle({ caller, database }, input) {
    const graphId = chosenGraphId(caller, input);
    const { types, maxDepth, direction, limit } = input;
    const values = { graphId, start: input.id, types: types ?? null, direction, limit };
    const rows = await database.run(relatedStatement(maxDepth), values);
    if (rows.length === 0) throw new MemoryNotFound();
    const found = rows.filter((row) => row.id !== null);
    return {
      memories: found.map(({ id: memoryId, type, title, relationship, direction, depth, strength }) => {
        return { memoryId, type, title, relationship, direction, depth, strength, graphId };
      }),
    };
  },
});
