import { ArgsType, Field, Float, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { defineOperation } from "../../operation/operation.js";
import { GraphInput, NoTeamGraph, chargeForCounting, chosenGraphId, costOfCounting } from "../memories/index.js";
import { countGraph } from "./statistics-statement.js";
import { TypeCount } from "./type-count.js";

const MOST_COMMON = `the ${LIMITS.views.types} most common first`;

@ArgsType()
export class GraphStatisticsInput extends GraphInput {}

@ObjectType({ description: "What a graph holds, in numbers." })
export class GraphStatistics {
  @Field(() => Int, { description: "How many memories it holds." })
  memoriesTotal!: number;

  @Field(() => [TypeCount], { description: `How many of each type, ${MOST_COMMON}.` })
  memoriesByType!: TypeCount[];

  @Field(() => Int, { description: "How many relationships it holds." })
  relationshipsTotal!: number;

  @Field(() => [TypeCount], { description: `How many of each type, ${MOST_COMMON}.` })
  relationshipsByType!: TypeCount[];

  @Field(() => Float, {
    nullable: true,
    description: "How important its memories are on average, to six decimals; null without any.",
  })
  averageImportance!: number | null;

  @Field(() => Float, {
    nullable: true,
    description: "How sure they are on average, to six decimals; null without any.",
  })
  averageConfidence!: number | null;

  @Field(() => Boolean, {
    description: `Whether counting ended at ${LIMITS.views.counted.toLocaleString("en")} memories, or relationships: there may be more.`,
  })
  isCapped!: boolean;
}

export const graphStatistics = defineOperation({
  name: "graphStatistics",
  effect: "reads",
  summary: "How many memories and relationships a graph holds, in all and by type.",
  notes: `Expired memories count, too. It ${costOfCounting(2 * LIMITS.views.counted)}.`,
  input: GraphStatisticsInput,
  output: GraphStatistics,
  permission: "memories:read",
  failures: [NoTeamGraph],
  rest: { method: "GET", path: "/v1/graph/statistics" },
  example: {
    input: {},
    output: {
      memoriesTotal: 128,
      memoriesByType: [
        { type: "solution", count: 70 },
        { type: "problem", count: 58 },
      ],
      relationshipsTotal: 64,
      relationshipsByType: [{ type: "SOLVES", count: 64 }],
      averageImportance: 0.62,
      averageConfidence: 0.8,
      isCapped: false,
    },
  },
  async handle(context, input) {
    const most = LIMITS.views.counted;
    const graphId = chosenGraphId(context.caller, input);
    await chargeForCounting(context, graphId, 2 * most);
    const rows = await context.database.run(countGraph, { graphId, most });
    const memories = rows.filter(({ what }) => what === "memory");
    const relationships = rows.filter(({ what }) => what === "relationship");
    const memoriesTotal = memories[0]?.total ?? 0;
    const relationshipsTotal = relationships[0]?.total ?? 0;
    return {
      memoriesTotal,
      memoriesByType: memories.map(toTypeCount),
      relationshipsTotal,
      relationshipsByType: relationships.map(toTypeCount),
      averageImportance: memories[0]?.averageImportance ?? null,
      averageConfidence: memories[0]?.averageConfidence ?? null,
      isCapped: Math.max(memoriesTotal, relationshipsTotal) >= most,
    };
  },
});

const toTypeCount = ({ type, count }: TypeCount): TypeCount => ({ type, count });
