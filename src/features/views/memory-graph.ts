import { ArgsType, Field, Float, ID, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, Marked, Nullable } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { IdInRest } from "../../operation/output.js";
import type { Database } from "../../platform/database/database.js";
import {
  GraphInput,
  MEMORY_EXAMPLE,
  MEMORY_RELATIONSHIP_EXAMPLE,
  MemoryHead,
  MemoryNotFound,
  NoTeamGraph,
  chosenGraphId,
  headOf,
  resolveMemoryIds,
} from "../memories/index.js";
import { findSurroundings } from "./find-surroundings.js";
import { drawing } from "./walk-statements.js";

const NODES_MAX = 500;
const DEPTH_MAX = 5;
const { edges: EDGES_MAX, drawnFrom: LOOKED_AT } = LIMITS.views;
const LINK = MEMORY_RELATIONSHIP_EXAMPLE;

@ArgsType()
export class MemoryGraphInput extends GraphInput {
  @Field(() => ID, {
    nullable: true,
    description:
      "The id, or client id, of the memory to draw the surroundings of; without it the newest memories are drawn.",
  })
  @Nullable()
  @Marked("memoryId")
  memoryId?: string | null;

  @Field(() => Int, {
    defaultValue: 2,
    description: `How many relationships away from that memory to go, from 1 to ${DEPTH_MAX}.`,
  })
  @Between(1, DEPTH_MAX)
  maxDepth!: number;

  @Field(() => Int, { defaultValue: 100, description: `How many memories to draw at most, from 1 to ${NODES_MAX}.` })
  @Between(1, NODES_MAX)
  limit!: number;
}

@ObjectType({ description: "A memory in a drawing." })
export class GraphNode extends MemoryHead {
  @Field(() => Float, { description: "How much it matters, from 0 to 1." })
  importance!: number;
}

@ObjectType({ description: "A relationship in a drawing." })
export class GraphEdge {
  @Field(() => ID, { description: "The relationship's id." })
  @IdInRest
  relationshipId!: string;

  @Field(() => ID, { description: "The id of the memory it starts from." })
  from!: string;

  @Field(() => ID, { description: "The id of the memory it leads to." })
  to!: string;

  @Field(() => String, { description: "Its type, such as SOLVES." })
  type!: string;

  @Field(() => Float, { description: "How strong the link is, from 0 to 1." })
  strength!: number;
}

@ObjectType({ description: "Memories and the relationships between them, to be drawn." })
export class MemoryGraph {
  @Field(() => [GraphNode], { description: "The memories, the newest first." })
  nodes!: GraphNode[];

  @Field(() => [GraphEdge], { description: `The relationships between them, the strongest ${EDGES_MAX}.` })
  edges!: GraphEdge[];

  @Field(() => Boolean, {
    description: "Whether a limit was reached: there are, or may be, more memories or relationships.",
  })
  isCapped!: boolean;
}

export const memoryGraph = defineOperation({
  name: "memoryGraph",
  effect: "reads",
  summary: "The memories around one, or the newest of a graph, with the relationships between them: for drawing.",
  notes:
    `At most ${LOOKED_AT.toLocaleString("en")} relationships are looked at to find the memories, nearest first, and ` +
    "as many to find how they are linked. Expired memories are shown, too.",
  input: MemoryGraphInput,
  output: MemoryGraph,
  isLarge: true,
  permission: "memories:read",
  failures: [MemoryNotFound, NoTeamGraph],
  rest: { method: "GET", path: "/v1/graph" },
  example: {
    input: { memoryId: MEMORY_EXAMPLE.id },
    output: {
      nodes: [
        { ...headOf(MEMORY_EXAMPLE), importance: MEMORY_EXAMPLE.importance },
        { ...headOf(LINK.memory), importance: 0.7 },
      ],
      edges: [
        {
          relationshipId: LINK.relationshipId,
          from: LINK.from,
          to: LINK.to,
          type: LINK.type,
          strength: LINK.strength,
        },
      ],
      isCapped: false,
    },
  },
  async handle(context, input) {
    const graphId = chosenGraphId(context.caller, input);
    const { memoryId, maxDepth, limit } = input;
    const start = memoryId == null ? undefined : (await resolveMemoryIds(context, graphId, [memoryId])).get(memoryId);
    if (memoryId != null && start === undefined) throw new MemoryNotFound();
    const chosen =
      start === undefined
        ? await findNewestMemories(context.database, graphId, limit)
        : await findSurroundings(context.database, { graphId, start, maxDepth, limit });
    const [drawn = NOTHING] = await context.database.run(drawing, { graphId, ids: chosen.ids });
    const { nodes, edges } = drawn;
    if (start !== undefined && !nodes.some((node) => node.memoryId === start)) throw new MemoryNotFound();
    const isCapped = chosen.isCapped || drawn.isCapped || edges.length > EDGES_MAX;
    return { nodes: [...nodes], edges: edges.slice(0, EDGES_MAX), isCapped };
  },
});

const NOTHING = { isCapped: false, nodes: [], edges: [] };

async function findNewestMemories(database: Database, graphId: string, limit: number) {
  const found = await database.readPages(({ memory }) =>
    memory.findMany({ where: { graphId }, select: { id: true }, orderBy: { id: "desc" }, take: limit + 1 }),
  );
  return { ids: found.slice(0, limit).map(({ id }) => id), isCapped: found.length > limit };
}
