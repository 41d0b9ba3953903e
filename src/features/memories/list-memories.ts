import { ArgsType, Field, ObjectType } from "type-graphql";
import { UUID } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf, placeOf } from "../../operation/page.js";
import { NoTeamGraph, chosenGraphId } from "./graph.js";
import { Memory } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { MemoryFilterInput, filterOf } from "./memory-filter.js";

@ArgsType()
export class MemoriesInput extends Paged(MemoryFilterInput) {}

@ObjectType({ description: "A page of memories." })
export class MemoryPage {
  @Field(() => [Memory], { description: "The memories, newest first." })
  memories!: Memory[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const memories = defineOperation({
  name: "memories",
  effect: "reads",
  summary: "The memories of a graph, newest first.",
  input: MemoriesInput,
  output: MemoryPage,
  permission: "memories:read",
  failures: [NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories" },
  example: {
    input: { types: [MEMORY_EXAMPLE.type], limit: 10 },
    output: { memories: [MEMORY_EXAMPLE], nextCursor: null },
  },
  async handle({ caller, database }, input) {
    const before = placeOf(input.cursor, UUID);
    // Ids are in the order of time, so a page goes on below the last id it showed, whatever was stored meanwhile.
    const rows = await database.models.memory.findMany({
      where: {
        graphId: chosenGraphId(caller, input),
        ...(before !== null && { id: { lt: before } }),
        ...filterOf(input),
      },
      omit: { updatedBy: true },
      orderBy: { id: "desc" },
      take: input.limit + 1,
    });
    const { items, nextCursor } = pageOf(rows, input.limit, ({ id }) => id);
    return { memories: items, nextCursor };
  },
});
