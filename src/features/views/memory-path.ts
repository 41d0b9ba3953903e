import { ArgsType, Field, Float, ID, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Unavailable } from "../../operation/failure.js";
import { MemoryIdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import {
  Direction,
  FollowDirection,
  GRAPH_FOR_AGENTS,
  GraphInput,
  MEMORY_EXAMPLE,
  MEMORY_RELATIONSHIP_EXAMPLE,
  MemoryHead,
  MemoryNotFound,
  NoTeamGraph,
  type Place,
  RelationshipTypesField,
  chosenGraphId,
  headOf,
  hintOfTypes,
  defineMemoryRelation,
  resolveEnds,
} from "../memories/index.js";
import { findPath } from "./find-path.js";

const DEPTH_MAX = 10;
const LOOKED_AT = LIMITS.views.pathRelationships.toLocaleString("en");

@ArgsType()
export class MemoryPathInput extends GraphInput {
  @MemoryIdField("The id of the memory where the path begins, or its client id.")
  fromMemoryId!: string;

  @MemoryIdField("The id of the memory where it ends, or its client id.")
  toMemoryId!: string;

  @RelationshipTypesField("Follow only relationships of these types, such as SOLVES.")
  types?: string[] | null;

  @Field(() => Int, { defaultValue: 6, description: `How many relationships it may have, from 1 to ${DEPTH_MAX}.` })
  @Between(1, DEPTH_MAX)
  maxDepth!: number;

  @Field(() => FollowDirection, { defaultValue: FollowDirection.ANY, description: "Which way to follow them." })
  direction!: FollowDirection;
}

@ObjectType({ description: "A memory on a path." })
export class PathStep extends MemoryHead {
  @Field(() => ID, {
    nullable: true,
    description: "The relationship that leads to it from the step before; null for the first step.",
  })
  relationshipId!: string | null;

  @Field(() => String, { nullable: true, description: "The type of that relationship, such as SOLVES." })
  relationship!: string | null;

  @Field(() => Direction, {
    nullable: true,
    description: "Which way that relationship is followed: along its arrow (out) or against it (in).",
  })
  direction!: `${Direction}` | null;

  @Field(() => Float, { nullable: true, description: "How strong that relationship is, from 0 to 1." })
  strength!: number | null;

  @Field(() => String, { nullable: true, description: "Where that relationship holds, or why." })
  context!: string | null;

  /** The memory's graph. Not a declared field, so clients never see it. */
  graphId!: string;
}

@ObjectType({ description: "How one memory leads to another." })
export class MemoryPath {
  @Field(() => Int, { nullable: true, description: "How many relationships the path has; null if none was found." })
  length!: number | null;

  @Field(() => [PathStep], { description: "Its memories, the first and the last among them; empty if none was found." })
  steps!: PathStep[];

  @Field(() => Boolean, {
    description: "Whether the search ended at its limit: there may be a path, or a shorter one, that it did not see.",
  })
  isCapped!: boolean;
}

export const memoryOfStep = defineMemoryRelation({
  of: PathStep,
  name: "memory",
  description: "The whole memory; null if it was deleted meanwhile.",
  placeOf: ({ graphId, memoryId: id }) => ({ graphId, id }),
});

const LINK = MEMORY_RELATIONSHIP_EXAMPLE;
const NO_RELATIONSHIP = { relationshipId: null, relationship: null, direction: null, strength: null, context: null };

export const memoryPath = defineOperation({
  name: "memoryPath",
  effect: "reads",
  summary: "A shortest path from one memory to another.",
  notes:
    `At most ${LOOKED_AT} relationships are looked at. \`isCapped\` says whether that was too few ` +
    "to be sure. The path may lead over expired memories.",
  input: MemoryPathInput,
  output: MemoryPath,
  permission: "memories:read",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories/:from_memory_id/path" },
  mcp: {
    name: "find_path",
    description: "Finds a shortest chain of relationships from one memory to another.",
    inputs: {
      fromMemoryId: "The id of the first memory.",
      toMemoryId: "The id of the last memory.",
      types: "Only along these types.",
      maxDepth: "How many relationships it may have.",
      direction: "Along the arrows (out), against them (in), or both (any).",
      graph: GRAPH_FOR_AGENTS,
    },
    outputs: [
      "length",
      "isCapped",
      ...["id", "type", "title", "relationship", "direction", "strength", "context"].map((name) => `steps.${name}`),
    ],
    inParts: "steps.context",
    ifCut:
      "For the other steps, call find_path from the last memory that is shown. To read on in a cut context, call it " +
      "from one memory to the next with context_from: the character at which it was cut.",
    whenEmpty({ types, direction = "any", max_depth }) {
      const others = [
        ...(direction === "any" ? [] : ["direction any"]),
        ...(types === undefined ? [] : ["no types"]),
        ...(max_depth === DEPTH_MAX ? [] : [`max_depth ${DEPTH_MAX}`]),
      ];
      const advice = others.length > 0 ? ` Try ${others.join(", ")}.` : "";
      return `${hintOfTypes(types)}No path was found.${advice} get_related_memories shows what each of the two leads to.`;
    },
  },
  example: {
    input: { fromMemoryId: MEMORY_EXAMPLE.id, toMemoryId: LINK.to },
    output: {
      length: 1,
      steps: [
        { ...headOf(MEMORY_EXAMPLE), ...NO_RELATIONSHIP },
        {
          ...headOf(LINK.memory),
          relationshipId: LINK.relationshipId,
          relationship: LINK.type,
          direction: LINK.direction,
          strength: LINK.strength,
          context: LINK.context,
        },
      ],
      isCapped: false,
    },
  },
  async handle(context, input) {
    const { types = null, direction, maxDepth } = input;
    const graphId = chosenGraphId(context.caller, input);
    // The path is read after it was found. If a part of it was deleted in between, the search begins again.
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { from, to } = await resolveEnds(context, graphId, input, "path");
      const { relationshipIds, isCapped } = await findPath(context.database, {
        graphId,
        from: from.id,
        to: to.id,
        types,
        direction,
        maxDepth,
      });
      if (!relationshipIds) return { length: null, steps: [], isCapped };
      const steps = await readSteps(context, { graphId, id: from.id }, relationshipIds);
      if (steps) return { length: relationshipIds.length, steps, isCapped };
    }
    throw new Unavailable();
  },
});

const ATTEMPTS = 3;

const HEAD = { graphId: true, id: true, type: true, title: true } as const;

/** Reads the memories on a path, from its start along the relationships; undefined if one of them was deleted. */
async function readSteps(
  { database: { models } }: Context,
  { graphId, id: start }: Place,
  relationshipIds: readonly string[],
): Promise<PathStep[] | undefined> {
  const found = await models.relationship.findMany({
    where: { graphId, id: { in: [...relationshipIds] } },
    select: { id: true, type: true, strength: true, context: true, fromId: true, toId: true },
  });
  const ids = [...new Set([start, ...found.flatMap(({ fromId, toId }) => [fromId, toId])])];
  const heads = await models.memory.findMany({ where: { graphId, id: { in: ids } }, select: HEAD });
  const memories = new Map(heads.map((head) => [head.id, head]));
  const first = memories.get(start);
  if (!first) return undefined;
  const steps: PathStep[] = [{ ...headOf(first), ...NO_RELATIONSHIP }];
  for (const relationshipId of relationshipIds) {
    const relationship = found.find(({ id }) => id === relationshipId);
    if (!relationship) return undefined;
    const { type, strength, context, fromId, toId } = relationship;
    const isAlong = fromId === steps.at(-1)?.memoryId;
    const direction = isAlong ? Direction.OUT : Direction.IN;
    const next = memories.get(isAlong ? toId : fromId);
    if (!next) return undefined;
    steps.push({ ...headOf(next), relationshipId, relationship: type, direction, strength, context });
  }
  return steps;
}
