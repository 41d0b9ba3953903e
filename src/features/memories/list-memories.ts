import { ArgsType, Field, ObjectType } from "type-graphql";
import { UUID } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf, placeOf } from "../../operation/page.js";
import type { Statement } from "../../platform/database.js";
import { NoTeamGraph, chosenGraphId } from "./graph.js";
import { MEMORY_COLUMNS, Memory, type MemoryRow, toMemory } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { MemoryFilterInput, filterCondition, filterValues } from "./memory-filter.js";

@ArgsType()
export class MemoriesInput extends Paged(MemoryFilterInput) {}

@ObjectType({ description: "A page of memories." })
export class MemoryPage {
  @Field(() => [Memory], { description: "The memories, newest first." })
  memories!: Memory[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

/** Ids are in the order of time, so a page goes on below the last id it showed, whatever was stored meanwhile. */
const newestMemories: Statement = {
  name: "newest_memories",
  text: `
    SELECT ${MEMORY_COLUMNS} FROM memory m
    WHERE m.graph_id = $1 AND m.id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff')::uuid
      AND ${filterCondition(4)}
    ORDER BY m.id DESC LIMIT $3`,
};

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
    const values = [chosenGraphId(caller, input), placeOf(input.cursor, UUID), input.limit + 1];
    const rows = await database.run<MemoryRow>(newestMemories, [...values, ...filterValues(input)]);
    const { items, nextCursor } = pageOf(rows, input.limit, ({ id }) => id);
    return { memories: items.map(toMemory), nextCursor };
  },
});
