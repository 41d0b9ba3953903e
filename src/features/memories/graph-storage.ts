import { Field, Float, Int, ObjectType } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { boundsOf } from "./graph-room.js";
import { GraphChoice } from "./graph.js";
import { ROW_BYTES } from "./memory-columns.js";

@ObjectType({
  description:
    "What a graph holds and may hold. What would go beyond is refused with 409 `graph_full`; deleting makes room.",
})
export class GraphStorage {
  @Field(() => GraphChoice, { description: "Which of the caller's graphs it is." })
  graph!: GraphChoice;

  @Field(() => Int, { description: "How many memories it holds." })
  memories!: number;

  @Field(() => Int, {
    description:
      "How many it may hold: by the caller's plan, or by the team's, which is its owner's until the team pays.",
  })
  memoriesMax!: number;

  @Field(() => Float, {
    description:
      "How many bytes it holds: the texts, tags and contexts of memories, of their earlier versions and of " +
      `relationships in UTF-8, and ${ROW_BYTES} for each of these. An update keeps what the memory was, so it takes as ` +
      "much as a new one.",
  })
  bytes!: number;

  @Field(() => Float, { description: "How many bytes it may hold." })
  bytesMax!: number;
}

export const GRAPH_STORAGE_EXAMPLE: GraphStorage = {
  graph: GraphChoice.PERSONAL,
  memories: 128,
  memoriesMax: 100_000,
  bytes: 214_592,
  bytesMax: 1_000_000_000,
};

/** What the caller's graphs hold: the personal one, then the team's if there is one. */
export async function storageOf(context: Context): Promise<GraphStorage[]> {
  const { personalGraphId, team } = context.caller;
  const own = await storageIn(context, GraphChoice.PERSONAL, personalGraphId);
  return team ? [own, await storageIn(context, GraphChoice.TEAM, team.graphId)] : [own];
}

async function storageIn(context: Context, graph: GraphChoice, graphId: string): Promise<GraphStorage> {
  const usage = await context.database.models.graphUsage.findUnique({ where: { graphId } });
  const { memories, bytes } = boundsOf(context, graphId);
  const held = { memories: usage?.memories ?? 0, bytes: Number(usage?.bytes ?? 0) };
  return { graph, ...held, memoriesMax: memories, bytesMax: bytes };
}
