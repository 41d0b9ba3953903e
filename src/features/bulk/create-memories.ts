import { Field, ID, InputType, Int, ObjectType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { CLIENT_ID_MAX } from "../../operation/id.js";
import { Nested, NotBlank, Nullable, SetSize, TextLength } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineOperation } from "../../operation/operation.js";
import {
  ClientIdField,
  GraphFull,
  GraphInput,
  MEMORY_EXAMPLE,
  MemoryNotFound,
  NewMemory,
  NoTeamGraph,
  assertHolds,
  bytesOf,
  chosenGraphId,
  contentsOf,
  costOfBytes,
  resolveMemoryIds,
  linkContentsOf,
  MemoryExists,
} from "../memories/index.js";
import { MUST_DIFFER, NewRelationship, RELATIONSHIP_EXAMPLE, TooManyRelationships } from "../relationships/index.js";
import { type LinkToStore, storeAll } from "./store-all.js";

const { items: ITEMS_MAX, itemsPerRequest, bytesPerRequest } = LIMITS.bulk;

/** How many requests of the rate limit a number of memories and relationships counts as, at least one. */
export const costOfItems = (items: number): number => Math.max(1, Math.ceil(items / itemsPerRequest));

type Items = Readonly<Record<"memories" | "relationships", readonly object[]>>;

/** The same for memories and relationships to store: by their number, or by the size of the memories if that is more. */
export function costOfStoring({ memories, relationships }: Items): number {
  const bytes = memories.reduce((sum, memory) => sum + bytesOf(Object.values(memory)), 0);
  return Math.max(costOfItems(memories.length + relationships.length), costOfBytes(bytes));
}

@InputType({ description: "One of the memories to store." })
export class BulkMemoryInput extends NewMemory(Object) {
  @ClientIdField()
  clientId?: string | null;

  @Field(() => String, {
    nullable: true,
    description: "The name by which the relationships of this call refer to it. It is not stored.",
  })
  @Nullable()
  @NotBlank()
  @TextLength(1, CLIENT_ID_MAX)
  ref?: string | null;
}

@InputType({
  description: "One of the relationships to make: between new memories, named by their `ref`, or existing ones.",
})
export class BulkRelationshipInput extends NewRelationship(Object) {}

@InputType({ description: "Memories and relationships to store together." })
export class CreateMemoriesInput extends GraphInput {
  @Field(() => [BulkMemoryInput], { defaultValue: [], description: "The memories." })
  @SetSize(0, ITEMS_MAX)
  @Nested(BulkMemoryInput)
  memories!: BulkMemoryInput[];

  @Field(() => [BulkRelationshipInput], { defaultValue: [], description: "The relationships." })
  @SetSize(0, ITEMS_MAX)
  @Nested(BulkRelationshipInput)
  relationships!: BulkRelationshipInput[];
}

@ObjectType({ description: "What was stored together." })
export class CreatedMemories {
  @Field(() => [ID], { description: "The ids of the memories, in the order in which they were given." })
  memoryIds!: string[];

  @Field(() => [ID], { description: "The ids of the relationships, in the order in which they were given." })
  relationshipIds!: string[];

  @Field(() => Int, {
    description: "How many of the relationships were there already: they stay as they are, with their ids.",
  })
  existingRelationships!: number;
}

export const createMemories = defineOperation({
  name: "createMemories",
  effect: "transaction",
  summary: `Stores up to ${ITEMS_MAX} memories and relationships together: all of them or none.`,
  notes:
    `${itemsPerRequest} of them, or ${bytesPerRequest / 1_000} kB of memories, count as one request of the rate limit. A ` +
    "relationship refers to a new memory by its `ref`, and to an existing one by its id or client id.",
  input: CreateMemoriesInput,
  output: CreatedMemories,
  permission: "memories:write",
  failures: [MemoryExists, MemoryNotFound, TooManyRelationships, NoTeamGraph, GraphFull],
  rest: { method: "POST", path: "/v1/memories/bulk", status: 201 },
  example: {
    input: {
      memories: [{ ...contentsOf(MEMORY_EXAMPLE), ref: "retry" }] as BulkMemoryInput[],
      relationships: [
        { fromMemoryId: "retry", toMemoryId: RELATIONSHIP_EXAMPLE.to, relationshipType: RELATIONSHIP_EXAMPLE.type },
      ] as BulkRelationshipInput[],
    },
    output: { memoryIds: [MEMORY_EXAMPLE.id], relationshipIds: [RELATIONSHIP_EXAMPLE.id], existingRelationships: 0 },
  },
  audit: { none: "Memories and relationships say who made them and when." },
  cost: (input) => costOfStoring(input),
  check: (_context, input) => assertStorable(input),
  async handle(context, input) {
    const { caller, newId, now } = context;
    for (const [index, memory] of input.memories.entries()) assertHolds(context, memory, `memories.${index}.expiresAt`);
    const graphId = chosenGraphId(caller, input);
    const time = now();
    const by = { createdBy: caller.userId, createdAt: time };
    const refs = new Map<string, string>();
    const memories = input.memories.map((memory) => {
      const id = newId();
      if (memory.ref != null) refs.set(memory.ref, id);
      return { id, ...contentsOf(memory), version: 1, ...by, updatedBy: caller.userId, updatedAt: time };
    });
    const joined = await findEnds(context, graphId, input.relationships, refs);
    const links = joined.map(({ relationship, ...ends }): LinkToStore => {
      const { relationshipType: type } = relationship;
      return { id: newId(), ...ends, type, ...linkContentsOf(relationship), ...by };
    });
    const { relationshipIds, existing } = await storeAll(context, graphId, memories, links, { keepsExisting: false });
    return { memoryIds: memories.map(({ id }) => id), relationshipIds, existingRelationships: existing };
  },
});

/** @throws InvalidInput for no item, or for more than one call may have in both lists together. */
export function assertItemsFit({ memories, relationships }: Items): void {
  const items = memories.length + relationships.length;
  if (items > 0 && items <= ITEMS_MAX) return;
  throw InvalidInput.at("", `Give 1 to ${ITEMS_MAX} memories and relationships together.`);
}

/** Checks what the bounds of each list cannot express. */
function assertStorable(input: CreateMemoriesInput): void {
  assertItemsFit(input);
  const refs = input.memories.flatMap(({ ref }) => ref ?? []);
  if (new Set(refs).size < refs.length) throw InvalidInput.at("memories", "two have the same ref");
}

/**
 * Finds the ids of the memories that each relationship joins. One query finds the existing ones.
 * @throws MemoryNotFound if a memory does not exist; InvalidInput if a relationship leads back to its start.
 */
async function findEnds(
  context: Context,
  graphId: string,
  relationships: readonly BulkRelationshipInput[],
  refs: ReadonlyMap<string, string>,
) {
  const names = relationships.flatMap(({ fromMemoryId, toMemoryId }) => [fromMemoryId, toMemoryId]);
  const others = [...new Set(names.filter((name) => !refs.has(name)))];
  const known = others.length > 0 ? await resolveMemoryIds(context, graphId, others) : new Map<string, string>();
  return relationships.map((relationship, index) => {
    const { fromMemoryId, toMemoryId } = relationship;
    const fromId = refs.get(fromMemoryId) ?? known.get(fromMemoryId);
    const toId = refs.get(toMemoryId) ?? known.get(toMemoryId);
    const place = `relationships.${index}`;
    if (fromId === undefined) throw new MemoryNotFound(`the id that ${place} starts from`, `${place}.fromMemoryId`);
    if (toId === undefined) throw new MemoryNotFound(`the id that ${place} leads to`, `${place}.toMemoryId`);
    if (fromId !== toId) return { relationship, fromId, toId };
    throw InvalidInput.at(`${place}.toMemoryId`, MUST_DIFFER);
  });
}
