import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Marked, Nullable, SetSize } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import {
  MEMORY_EXAMPLE,
  MemoryFilterInput,
  MemoryNotFound,
  NoTeamGraph,
  chosenGraphId,
  chosenTeamId,
  countRelationships,
  filterOf,
  isNarrowed,
  findNarrowed,
  findPassing,
  resolveEveryId,
  measure,
  removeMemories,
  settle,
  indexQueryOf,
} from "../memories/index.js";
import { costOfItems } from "./create-memories.js";

const { items: ITEMS_MAX, itemsPerRequest, relationshipsRemoved } = LIMITS.bulk;

@InputType({ description: "Which memories to delete: some by their ids, or those that a filter finds." })
export class DeleteMemoriesInput extends MemoryFilterInput {
  @Field(() => [ID], {
    nullable: true,
    description: "The memories' ids, or client ids; then without a filter.",
  })
  @Nullable()
  @Marked("memoryId")
  @SetSize(1, ITEMS_MAX)
  ids?: string[] | null;

  @Field(() => Boolean, { defaultValue: false, description: "Delete nothing, and tell what would be deleted." })
  dryRun!: boolean;
}

@ObjectType({ description: "What was deleted, or would be." })
export class DeletedMemories {
  @Field(() => [ID], { description: "The ids that the memories had, oldest first." })
  memoryIds!: string[];

  @Field(() => Int, { description: "How many relationships went with them." })
  relationships!: number;

  @Field(() => Int, { description: "How many more memories the filter finds: repeat the call until there are none." })
  remaining!: number;
}

/**
 * Relationships are deleted together with their memories, so their number is limited to what can be deleted in time.
 */
export class TooManyToDelete extends Failure {
  readonly kind = "conflict";
  override readonly reason = "too_many_relationships";

  constructor() {
    super(
      `At most ${relationshipsRemoved.toLocaleString("en")} relationships are deleted at once with their memories. ` +
        "Delete fewer memories at once, by their ids.",
    );
  }
}

export const deleteMemories = defineOperation({
  name: "deleteMemories",
  effect: "transaction",
  summary: `Deletes up to ${ITEMS_MAX} memories permanently, with their versions and relationships: all of them or none.`,
  notes:
    "Give `ids`, or at least one field of the filter; a memory must match all that are given. " +
    `${itemsPerRequest} memories to delete count as one request of the rate limit, with a filter always as many as ` +
    `${ITEMS_MAX}; a dry run counts as one. If a filter finds so many memories that it is more, ` +
    `${LIMITS.bulk.foundPerRequest.toLocaleString("en")} of these count as one, also in a dry run.`,
  input: DeleteMemoriesInput,
  output: DeletedMemories,
  permission: "memories:write",
  failures: [MemoryNotFound, TooManyToDelete, NoTeamGraph],
  rest: { method: "POST", path: "/v1/memories/bulk-delete" },
  example: {
    input: { tags: ["obsolete"], dryRun: true },
    output: { memoryIds: [MEMORY_EXAMPLE.id], relationships: 1, remaining: 0 },
  },
  cost: costOfDeleting,
  check: (_context, input) => assertChosen(input),
  audit: ({ caller }, input, { memoryIds, relationships }) => {
    const detail = `memories: ${memoryIds.length}, relationships: ${relationships}`;
    return {
      teamId: chosenTeamId(caller, input),
      subject: null,
      detail: input.dryRun ? `dry run, ${detail}` : detail,
    };
  },
  async handle(context, input) {
    const graphId = chosenGraphId(context.caller, input);
    const { database } = context;
    let charged = costOfDeleting(input);
    for (;;) {
      const { memoryIds, remaining } = await chooseMemories(context, graphId, input);
      const cost = Math.ceil((memoryIds.length + remaining) / LIMITS.bulk.foundPerRequest);
      if (cost > charged) await context.charge(cost - charged);
      charged = Math.max(charged, cost);
      const deleting = { graphId, ids: memoryIds };
      const counted = await countRelationships(database, deleting);
      if (counted === null) throw new TooManyToDelete();
      const { all: relationships } = counted;
      if (input.dryRun) return { memoryIds, relationships, remaining };
      // Locks the memories. If one was deleted or changed meanwhile and is no longer chosen, all are chosen again.
      const freed = await measure(context, graphId, memoryIds);
      if (await areStillChosen(context, graphId, input, memoryIds)) {
        await database.run(removeMemories, deleting);
        await settle(context, graphId, { memories: -freed.memories, bytes: -freed.bytes });
        return { memoryIds, relationships, remaining };
      }
    }
  },
});

/** As how many requests it counts, unless a filter finds so many memories that it is more. */
function costOfDeleting({ ids, dryRun }: DeleteMemoriesInput): number {
  return dryRun ? 1 : costOfItems(ids?.length ?? ITEMS_MAX);
}

/** @throws InvalidInput unless either ids or a filter is given: nobody deletes everything by leaving out a field. */
function assertChosen(input: DeleteMemoriesInput): void {
  if (isNarrowed(input) === (input.ids != null)) {
    throw InvalidInput.at("ids", "give either ids or at least one field of the filter");
  }
}

/** Chooses the memories to delete, and counts how many more the filter finds. */
async function chooseMemories(context: Context, graphId: string, input: DeleteMemoriesInput) {
  if (input.ids) return { memoryIds: await resolveEveryId(context, graphId, input.ids), remaining: 0 };
  const words = indexQueryOf(input);
  if (words !== null) {
    const part = { isNewestFirst: false, limit: ITEMS_MAX };
    const found = await findNarrowed(context, graphId, { ...input, words }, part);
    return { memoryIds: found.map(({ id }) => id), remaining: (found[0]?.total ?? 0) - found.length };
  }
  const where = { graphId, ...filterOf(context, input) };
  return context.database.readPages(async ({ memory }) => {
    const found = await memory.findMany({ where, ...OLDEST_FIRST, take: ITEMS_MAX });
    const remaining = found.length < ITEMS_MAX ? 0 : (await memory.count({ where })) - ITEMS_MAX;
    return { memoryIds: found.map(({ id }) => id), remaining };
  });
}

/** Whether the memories, now locked, are still those of the ids, or still pass the filter. */
async function areStillChosen(
  context: Context,
  graphId: string,
  input: DeleteMemoriesInput,
  memoryIds: readonly string[],
): Promise<boolean> {
  if (!input.ids) return (await findPassing(context, graphId, input, memoryIds)).length === memoryIds.length;
  const chosen = new Set(await resolveEveryId(context, graphId, input.ids));
  return memoryIds.every((id) => chosen.has(id));
}

const OLDEST_FIRST = { select: { id: true }, orderBy: { id: "asc" } } as const;
