import { Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { type Batch, load } from "../../operation/load.js";
import { jsonUnits, paceBy } from "../../operation/pieces.js";
import { type Relation, defineRelation } from "../../operation/relation.js";
import { Memory, MemoryNotFound, MemoryRelationship } from "./memory.js";
import { LONG_FIELDS, type Place, type Wanted, readMemories, readSolving, readSuperseding } from "./read-memories.js";
import { SolvingMemory } from "./solving-memory.js";
import { SupersedingMemory } from "./superseding-memory.js";

/** How many memories of one level a query may follow: a thousand, with 100 relationships each, is much already. */
const FOLLOWED_MAX = 1_000;

export class TooManyFollowed extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "too_many_followed";

  constructor() {
    super(
      `A level of this query leads on from more than ${FOLLOWED_MAX.toLocaleString("en")} memories. ` +
        "Ask for fewer items or levels.",
    );
  }
}

const ofMemory = { of: Memory, permission: "memories:read", failures: [TooManyFollowed] } as const;

export const relationshipsOfMemory = defineRelation<Memory, MemoryRelationship[]>({
  ...ofMemory,
  name: "relationships",
  to: () => [MemoryRelationship],
  // An estimate: up to 100 are possible, but most memories have few. FOLLOWED_MAX bounds the real number.
  items: 10,
  async follow(context, memory, asked) {
    const relationships = memory.relationships ?? (await readRelationships(context, memory)).relationships ?? [];
    return followOtherEnds(context, relationships, asked("memory"));
  },
});

export const relationshipsTotalOfMemory = defineRelation<Memory, number>({
  ...ofMemory,
  name: "relationshipsTotal",
  to: () => Int,
  follow: async (context, memory) =>
    memory.relationshipsTotal ?? (await readRelationships(context, memory)).relationshipsTotal ?? 0,
});

export const supersededByOfMemory = defineRelation<Memory, SupersedingMemory | null>({
  ...ofMemory,
  name: "supersededBy",
  to: () => SupersedingMemory,
  follow: async (context, memory) =>
    memory.supersededBy === undefined ? ((await load(context, supersedingAt, memory)) ?? null) : memory.supersededBy,
});

export const solvedByOfMemory = defineRelation<Memory, SolvingMemory | null>({
  ...ofMemory,
  name: "solvedBy",
  to: () => SolvingMemory,
  follow: async (context, memory) =>
    memory.solvedBy === undefined ? ((await load(context, solvingAt, memory)) ?? null) : memory.solvedBy,
});

/** Fields of the memory at the other end that need no reading: the relationship has them, or they are relations. */
const KNOWN_OF_OTHER_END = new Set(["id", "type", "title", "relationships", "relationshipsTotal", "__typename"]);

/**
 * Adds the requested fields of the memories at the other ends. It loads the whole list at once: there may be ten
 * thousand memories, and a promise for each would cost more than all else.
 */
async function followOtherEnds(
  context: Context,
  relationships: MemoryRelationship[],
  asked: ReadonlySet<string>,
): Promise<MemoryRelationship[]> {
  const isKnown = [...asked].every((field) => KNOWN_OF_OTHER_END.has(field));
  if (isKnown || relationships.length === 0) return relationships;
  context.answer?.expect(relationships.length);
  const places = relationships.map(({ memory }) => memory);
  await context.admitLarge();
  const memories = await load(context, READ[choiceOf(asked)].lists, places);
  // If the memory was deleted meanwhile, so was the relationship.
  return relationships.flatMap((relationship, index) => {
    const memory = memories[index];
    return memory ? [{ ...relationship, memory }] : [];
  });
}

export const WHOLE_MEMORY = "The whole memory; null if it was deleted meanwhile. By REST only with `full`.";

/** Defines a relation to a memory of the same graph; `placeOf` says where it is. */
export const defineMemoryRelation = <Source extends object>({
  placeOf,
  ...field
}: Pick<Relation<Source>, "of" | "name" | "description"> & { placeOf(source: Source): Place }): Relation =>
  defineRelation<Source, Memory>({
    ...field,
    to: () => Memory,
    permission: "memories:read",
    failures: [MemoryNotFound, TooManyFollowed],
    async follow(context, source, asked) {
      const memory = await load(context, READ[choiceOf(asked())].each, placeOf(source));
      if (!memory) throw new MemoryNotFound();
      return memory;
    },
  });

/** How many whole memories are read before their size is checked. */
const WHOLE_BATCH = 50;

/**
 * Adds whole memories to items, and drops items whose memory was deleted meanwhile. Stops reading when a page is full.
 */
export async function withMemories<Item extends { readonly graphId: string; readonly memoryId: string }>(
  context: Context,
  items: readonly Item[],
): Promise<Array<Item & { memory: Memory }>> {
  const whole: Array<Item & { memory: Memory }> = [];
  const pace = paceBy(context.pause);
  let units = 0;
  for (let start = 0; start < items.length && units < LIMITS.answer.restPageBytes; start += WHOLE_BATCH) {
    const batch = items.slice(start, start + WHOLE_BATCH);
    const places = batch.map(({ graphId, memoryId: id }) => ({ graphId, id }));
    const memories = await readMemories(context, places, { withContent: true });
    for (const [index, item] of batch.entries()) {
      const memory = memories[index];
      if (!memory) continue;
      whole.push({ ...item, memory });
      const length = memory.content.length + jsonUnits(memory.context);
      units += length;
      const turn = pace(length);
      if (turn) await turn;
    }
  }
  return whole;
}

const readRelationships = async (context: Context, memory: Place): Promise<Partial<Memory>> =>
  (await load(context, READ.linkedHeads.each, memory)) ?? {};

type ListBatch = Batch<readonly Place[], ReadonlyArray<Memory | undefined>>;

/**
 * Two batches that read memories: `each` for single ones; `lists` for lists, which are read together and then split
 * again.
 */
function reading(wanted: Wanted): { readonly each: Batch<Place, Memory | undefined>; readonly lists: ListBatch } {
  const each: Batch<Place, Memory | undefined> = (context, places) =>
    readMemories(context, checkFollowed(places), wanted);
  const lists: ListBatch = async (context, asked) => {
    const memories = await each(context, asked.flat());
    let start = 0;
    return asked.map(({ length }) => memories.slice(start, (start += length)));
  };
  return { each, lists };
}

/**
 * `load` collects keys by batch, so each choice of fields has its own: a level of a query takes one statement for each.
 */
const READ = {
  heads: reading({ withContent: false }),
  whole: reading({ withContent: true }),
  linkedHeads: reading({ withContent: false, withRelationships: true }),
  linked: reading({ withContent: true, withRelationships: true }),
};

function choiceOf(asked: ReadonlySet<string>): keyof typeof READ {
  const isLong = LONG_FIELDS.some((field) => asked.has(field));
  if (asked.has("relationships") || asked.has("relationshipsTotal")) return isLong ? "linked" : "linkedHeads";
  return isLong ? "whole" : "heads";
}

const solvingAt: Batch<Place, SolvingMemory | null> = (context, places) => readSolving(context, checkFollowed(places));

const supersedingAt: Batch<Place, SupersedingMemory | null> = (context, places) =>
  readSuperseding(context, checkFollowed(places));

/** @throws TooManyFollowed */
export function checkFollowed(places: readonly Place[]): readonly Place[] {
  if (new Set(places.map(({ id }) => id)).size > FOLLOWED_MAX) throw new TooManyFollowed();
  return places;
}
