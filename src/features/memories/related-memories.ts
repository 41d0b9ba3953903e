import { ArgsType, Field, Int, ObjectType, registerEnumType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { MemoryIdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { withinPage } from "../../operation/page.js";
import { GRAPH_FOR_AGENTS, GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
import { MemoryNotFound } from "./memory.js";
import { withResolvedId } from "./resolve-memory-id.js";
import { MEMORY_EXAMPLE, MEMORY_RELATIONSHIP_EXAMPLE, PROBLEM_EXAMPLE } from "./memory-example.js";
import { expiryFor } from "./memory-filter.js";
import { headOf } from "./memory-head.js";
import { withMemories } from "./memory-relations.js";
import { RelatedMemory } from "./related-memory.js";
import { type RelatedRow, relatedStatement } from "./related-statement.js";
import { IncludeExpiredField, RelationshipTypesField, hintOfTypes } from "./common-fields.js";

const { depth: DEPTH_MAX, steps: STEPS_MAX, memories: MEMORIES_MAX, relationships: LIMIT_MAX } = LIMITS.walk;
const FOR_AGENTS_MAX = 30;
const LIMIT_BOUND = `must be from 1 to ${MEMORIES_MAX}, with \`eachRelationship\` to ${LIMIT_MAX.toLocaleString("en")}`;

export enum FollowDirection {
  ANY = "any",
  OUT = "out",
  IN = "in",
}
registerEnumType(FollowDirection, {
  name: "FollowDirection",
  description: "Which relationships to follow, seen from the current memory.",
  valuesConfig: {
    ANY: { description: "Both ways." },
    OUT: { description: "From the memory to another." },
    IN: { description: "From another to the memory." },
  },
});

@ArgsType()
export class RelatedMemoriesInput extends GraphInput {
  @MemoryIdField("The id of the memory to start from, or its client id.")
  id!: string;

  @RelationshipTypesField("Follow only relationships of these types, such as SOLVES.")
  types?: string[] | null;

  @Field(() => Int, { defaultValue: 1, description: `How many relationships away to go, from 1 to ${DEPTH_MAX}.` })
  @Between(1, DEPTH_MAX)
  maxDepth!: number;

  @Field(() => FollowDirection, { defaultValue: FollowDirection.ANY, description: "Which way to follow them." })
  direction!: FollowDirection;

  @Field(() => Int, {
    defaultValue: 20,
    description:
      `How many to answer with at most, from 1 to ${MEMORIES_MAX}; ` +
      `with \`eachRelationship\` to ${LIMIT_MAX.toLocaleString("en")}.`,
  })
  @Between(1, LIMIT_MAX, LIMIT_BOUND)
  limit!: number;

  @Field(() => Boolean, {
    defaultValue: false,
    description:
      "Whether to answer each relationship that leads to a memory on a shortest way, instead of each memory once by the " +
      "strongest of these.",
  })
  eachRelationship!: boolean;

  @Field(() => Boolean, { defaultValue: false, description: "Whether each has its whole `memory`, at every door." })
  full!: boolean;

  @IncludeExpiredField()
  includeExpired!: boolean;
}

@ObjectType({ description: "What can be reached from a memory." })
export class RelatedMemories {
  @Field(() => [RelatedMemory], {
    description:
      "Nearest first, then strongest, then most important: each memory once, or each relationship. Fewer than `limit` " +
      "where they are large.",
  })
  memories!: RelatedMemory[];

  @Field(() => Boolean, { description: "Whether there are more than `limit`, or more than fit into one answer." })
  truncated!: boolean;
}

export const relatedMemories = defineOperation({
  name: "relatedMemories",
  effect: "reads",
  summary: "The memories that relationships lead to from a memory, nearest first.",
  notes:
    `At each level up to ${STEPS_MAX.toLocaleString("en")} relationships are looked at. The next level is looked ` +
    "at only while no more than `limit` memories are found.",
  input: RelatedMemoriesInput,
  output: RelatedMemories,
  isLarge: true,
  permission: "memories:read",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories/:id/related" },
  mcp: {
    name: "get_related_memories",
    description:
      "Walks the relationships of a memory, nearest first: what solved, caused, replaced or needs it. get_memory reads " +
      "one whole.",
    leftOut: ["eachRelationship", "full", "includeExpired"],
    inputs: {
      id: "The id of the memory to start from.",
      types: "Only along relationships of these types, such as SOLVES.",
      maxDepth: "How many relationships away.",
      direction: "Along the arrows (out), against them (in), or both (any).",
      limit: "How many at most.",
      graph: GRAPH_FOR_AGENTS,
    },
    most: { limit: FOR_AGENTS_MAX },
    outputs: [
      "id",
      "type",
      "title",
      "relationship",
      "direction",
      "depth",
      "viaMemoryId",
      "strength",
      "link.context",
      "supersededBy",
    ].map((name) => `memories.${name}`),
    ifCut:
      "More can be reached. Ask for certain types, one direction, a smaller max_depth, or a limit up to " +
      `${FOR_AGENTS_MAX}. find_path between two memories reads on in a cut context.`,
    whenEmpty: ({ types, direction = "any" }) =>
      types === undefined && direction === "any"
        ? "It has no relationships, except maybe to expired memories. create_relationship links it with what belongs " +
          "to it."
        : `${hintOfTypes(types)}No relationship leads on this way. Try no types and direction any. get_memory shows ` +
          "which relationships it has.",
  },
  example: {
    input: { id: MEMORY_EXAMPLE.id, types: ["SOLVES", "CAUSES"], maxDepth: 2, limit: 10 },
    output: {
      memories: [
        {
          ...headOf(PROBLEM_EXAMPLE),
          relationship: MEMORY_RELATIONSHIP_EXAMPLE.type,
          direction: MEMORY_RELATIONSHIP_EXAMPLE.direction,
          depth: 1,
          viaMemoryId: null,
          strength: MEMORY_RELATIONSHIP_EXAMPLE.strength,
        },
      ],
      truncated: false,
    },
  },
  check(_context, { limit, eachRelationship }) {
    if (limit > MEMORIES_MAX && !eachRelationship) throw InvalidInput.at("limit", LIMIT_BOUND);
  },
  async handle(context, input) {
    const graphId = chosenGraphId(context.caller, input);
    const { types, maxDepth, direction, limit, eachRelationship, full } = input;
    // REST selects no fields: there, they come only with `eachRelationship`.
    const isLinked = context.door !== "rest" && LINKED.some((field) => context.selects(field, "memories"));
    const ofMemories = isLinked ? "linked" : "memories";
    const statement = relatedStatement(maxDepth, eachRelationship ? "relationships" : ofMemories);
    const rows = await withResolvedId(context, { graphId, id: input.id }, async ({ id: start }) => {
      // One row above the limit tells whether there are more.
      const values = {
        graphId,
        start,
        types: types ?? null,
        direction,
        limit: limit + 1,
        now: expiryFor(context, input),
      };
      const walked = await context.database.run(statement, values);
      return walked.length === 0 ? undefined : walked;
    });
    if (!rows) throw new MemoryNotFound();
    const related = rows.slice(0, limit).flatMap((row) => toRelated(row, graphId));
    const wanted = full ? await withMemories(context, related) : related;
    const memories = await withinPage(context, wanted);
    return { memories, truncated: rows.length > limit || memories.length < wanted.length };
  },
});

/** The fields that take further joins. */
const LINKED = ["link", "supersededBy"];

/**
 * Empty for a row without an id: the memory leads nowhere. Field by field: with `...rest` for the other fields, V8 takes
 * nine times as long.
 */
function toRelated(row: RelatedRow, graphId: string): RelatedMemory[] {
  const { id: memoryId, type, title, relationship, direction, depth, viaMemoryId, strength } = row;
  if (memoryId === null) return [];
  const related = { memoryId, graphId, type, title, relationship, direction, depth, viaMemoryId, strength };
  const { relationshipId, confidence, context, supersededBy = null } = row;
  if (relationshipId == null) return [related];
  const link = { relationshipId, confidence: confidence ?? 0, context: context ?? null };
  return [{ ...related, supersededBy, link }];
}
