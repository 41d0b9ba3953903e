import { ArgsType, Field, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, cursorOf, pageOf, readForPage, withinPage } from "../../operation/page.js";
import { NoTeamGraph } from "./graph.js";
import { GRAPH_PLACE, placeInGraph, writeGraphPlace } from "./graph-place.js";
import { Memory } from "./memory.js";
import { MEMORY_EXAMPLE } from "./memory-example.js";
import { UNREAD } from "./memory-columns.js";
import { findNarrowed, indexQueryOf } from "./words/find-narrowed.js";
import { LONG_FIELDS, type Place, readMemories } from "./read-memories.js";
import { MemoryFilterInput, filterOf, isNarrowed } from "./memory-filter.js";

/** As many as the largest graph holds. */
const OFFSET_MAX = LIMITS.storage.team.memories;

@ArgsType()
export class MemoriesInput extends Paged("memories", MemoryFilterInput, GRAPH_PLACE) {
  @Field(() => Int, {
    defaultValue: 0,
    description:
      `How many of the newest to leave out, from 0 to ${OFFSET_MAX.toLocaleString("en")}; not together with \`cursor\`, ` +
      "which misses and repeats none while others write. The next page's `offset` is this one's plus the number of its " +
      "memories.",
  })
  @Between(0, OFFSET_MAX)
  offset!: number;
}

@ObjectType({ description: "A page of memories." })
export class MemoryPage {
  @Field(() => [Memory], { description: "The memories, newest first; fewer than `limit` where they are large." })
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
  isLarge: true,
  permission: "memories:read",
  failures: [NoTeamGraph],
  rest: { method: "GET", path: "/v1/memories" },
  example: {
    input: { types: [MEMORY_EXAMPLE.type], limit: 10 },
    output: { memories: [MEMORY_EXAMPLE], nextCursor: null },
  },
  check(_context, { cursor, offset }) {
    if (cursor != null && offset > 0) throw InvalidInput.at("offset", "give either `cursor` or `offset`");
  },
  async handle(context, input) {
    const { caller, database } = context;
    const { offset, limit } = input;
    const { graphId, after } = placeInGraph(caller, input);
    const where = { graphId, ...filterOf(context, input) };
    const isShort = !LONG_FIELDS.some((field) => context.selects(field, "memories"));
    // The next page continues below the last id shown, whatever was stored meanwhile.
    const page = {
      where: { ...where, ...(after !== null && { id: { lt: after } }) },
      orderBy: { id: "desc" },
    } as const;
    if (offset === 0 && !isNarrowed(input)) {
      const omit = { ...UNREAD, content: isShort, context: isShort };
      const rows = await database.readPages(({ memory }) =>
        readForPage(limit, (last: { readonly id: string } | undefined, take) =>
          memory.findMany({ ...page, where: { ...page.where, ...(last && { id: { lt: last.id } }) }, omit, take }),
        ),
      );
      const whole = isShort ? rows.map((row) => Object.assign(row, NOT_READ)) : rows;
      const { items, nextCursor } = await pageOf(context, whole, input, ({ id }) => writeGraphPlace(graphId, id));
      return { memories: items, nextCursor };
    }
    const chosen = await chooseMemories(context, input, page);
    const places = chosen.slice(0, limit);
    const read = await readForPage<Memory | undefined>(limit, (_last, take) =>
      readMemories(context, places.splice(0, take), { withContent: !isShort }),
    );
    const rows = read.filter((row) => row !== undefined);
    const items = await withinPage(context, rows);
    const isCut = items.length < rows.length;
    if (!isCut && chosen.length <= limit) return { memories: items, nextCursor: null };
    const last = isCut ? items.at(-1) : chosen[limit - 1];
    return { memories: items, nextCursor: last ? cursorOf(input.list, writeGraphPlace(graphId, last.id)) : null };
  },
});

interface MemoriesPage {
  readonly where: { readonly graphId: string; readonly id?: { readonly lt: string } };
  readonly orderBy: { readonly id: "desc" };
}

/** Finds the memories that pass the filter: one more than a page, to tell whether there is another page. */
async function chooseMemories(context: Context, input: MemoriesInput, page: MemoriesPage): Promise<Place[]> {
  const { database } = context;
  const { limit, offset } = input;
  const { graphId, id } = page.where;
  const wanted = { select: { graphId: true, id: true }, skip: offset, take: limit + 1 } as const;
  const words = indexQueryOf(input);
  // An index alone answers these filters: for 100,000 memories in a tenth of the time.
  if (words === null) return database.readPages(({ memory }) => memory.findMany({ ...page, ...wanted }));
  // If many memories match, the newest ones fill the page.
  const near = await database.readPages(async ({ memory }) => {
    const where = { graphId, ...(id && { id }) };
    const [edge] = await memory.findMany({ where, orderBy: page.orderBy, select: { id: true }, skip: NEAR, take: 1 });
    const within = { ...page.where, id: { ...id, ...(edge && { gt: edge.id }) } };
    const found = await memory.findMany({ ...page, where: within, ...wanted });
    return edge && found.length <= limit ? undefined : found;
  });
  if (near) return near;
  const part = { before: id?.lt ?? null, isNewestFirst: true, limit: limit + 1, offset };
  const found = await findNarrowed(context, graphId, { ...input, words }, part);
  return found.map((row) => ({ graphId, id: row.id }));
}

/**
 * How many of the newest memories are checked before the search index is used, which reads all entries of a tag or
 * type.
 */
const NEAR = 1_000;

const NOT_READ = { content: "", context: null };
