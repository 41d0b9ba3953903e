import { ArgsType, Field, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between, UUID } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, cursorOf, pageOf, placeOf, withinPage } from "../../operation/page.js";
import { NoTeamGraph, chosenGraphId } from "./graph.js";
import { Memory } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { UNREAD } from "./memory-columns.js";
import { LONG_FIELDS, readMemories } from "./read-memories.js";
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
    // Ids are in the order of time, so a page goes on below the last id it showed, whatever was stored meanwhile.
    const page = {
      where: { ...where, ...(before !== null && { id: { lt: before } }) },
      orderBy: { id: "desc" },
    } as const;
    if (offset === 0 && !isNarrowed(input)) {
      const omit = { ...UNREAD, content: isShort, context: isShort };
      const rows = await database.readPages(({ memory }) => memory.findMany({ ...page, omit, take: limit + 1 }));
      const whole = isShort ? rows.map((row) => Object.assign(row, NOT_READ)) : rows;
      const { items, nextCursor } = pageOf(whole, limit, (row) => row.id);
      return { memories: items, nextCursor };
    }
    // An index alone says which memories most filters let through: of 100,000 in a tenth of the time.
    const select = { graphId: true, id: true } as const;
    const chosen = await database.readPages(({ memory }) =>
      memory.findMany({ ...page, select, skip: offset, take: limit + 1 }),
    );
    const read = await readMemories(context, chosen.slice(0, limit), { withContent: !isShort });
    const rows = read.filter((row) => row !== undefined);
    const items = withinPage(rows);
    const last = items.length < rows.length ? items.at(-1) : chosen.length > limit ? chosen[limit - 1] : undefined;
    return { memories: items, nextCursor: last ? cursorOf(last.id) : null };
  },
});

const NOT_READ = { content: "", context: null };

/** Whether a filter is given besides that of expiry, which leaves out only few. */
const isNarrowed = ({ types, tags, minImportance, project, createdAfter, createdBefore }: MemoriesInput): boolean =>
  [types, tags, minImportance, project, createdAfter, createdBefore].some((filter) => filter != null);
