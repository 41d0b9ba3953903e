import { ArgsType, Field, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, UUID } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf, placeOf } from "../../operation/page.js";
import { NoTeamGraph, chosenGraphId } from "./graph.js";
import { Memory } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { UNREAD } from "./memory-columns.js";
import { LONG_FIELDS } from "./read-memories.js";
import { MemoryFilterInput, filterOf } from "./memory-filter.js";

/** As many as the largest graph holds. */
const OFFSET_MAX = LIMITS.storage.team.memories;

@ArgsType()
export class MemoriesInput extends Paged(MemoryFilterInput) {
  @Field(() => Int, {
    defaultValue: 0,
    description:
      `How many of the newest to leave out, from 0 to ${OFFSET_MAX.toLocaleString("en")}; instead of \`cursor\`, which ` +
      "misses and repeats none while others write.",
  })
  @Between(0, OFFSET_MAX)
  offset!: number;
}

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
  check(_context, { cursor, offset }) {
    if (cursor != null && offset > 0)
      throw new InvalidInput([{ path: "offset", message: "give either `cursor` or `offset`" }]);
  },
  async handle(context, input) {
    const { caller, database } = context;
    const { cursor, offset, limit } = input;
    const where = { graphId: chosenGraphId(caller, input), ...filterOf(context, input) };
    const before = placeOf(cursor, UUID);
    const isShort = !LONG_FIELDS.some((field) => context.selects(field, "memories"));
    const omit = { ...UNREAD, content: isShort, context: isShort };
    const rows = await database.readPages(async (models) => {
      const [first] = offset > 0 ? await models.memory.findMany({ where, ...NEWEST_FIRST, ...idAt(offset) }) : [];
      if (offset > 0 && !first) return [];
      // Ids are in the order of time, so a page goes on below the last id it showed, whatever was stored meanwhile.
      const id = { ...(before !== null && { lt: before }), ...(first && { lte: first.id }) };
      return models.memory.findMany({ where: { ...where, id }, ...NEWEST_FIRST, omit, take: limit + 1 });
    });
    const whole = isShort ? rows.map((row) => Object.assign(row, NOT_READ)) : rows;
    const { items, nextCursor } = pageOf(whole, limit, (row) => row.id);
    return { memories: items, nextCursor };
  },
});

const NOT_READ = { content: "", context: null };
const NEWEST_FIRST = { orderBy: { id: "desc" } } as const;
/** Read apart, from the index alone where nothing is filtered. */
const idAt = (place: number) => ({ select: { id: true }, skip: place, take: 1 }) as const;
