import type { Context } from "../../operation/context.js";
import type { Direction, Memory, MemoryRelationship } from "./memory.js";
import { type ContentName, type MemoryRow, textOf } from "./memory-columns.js";
import {
  memoriesAlone,
  memoriesWithLinks,
  memoriesWithRelationships,
  supersedingMemories,
} from "./memory-statements.js";
import type { SupersedingMemory } from "./superseding-memory.js";

/** Where a memory is. */
export interface Place {
  readonly graphId: string;
  readonly id: string;
}

/** Fields that may be long; both are read where one of them is asked for. */
export const LONG_FIELDS: readonly string[] = ["content", "context"] satisfies ContentName[];

/** What of the memories is read besides their other columns; long fields that nobody asked for are left out. */
export interface Wanted {
  readonly withRelationships?: boolean;
  /** Whether relationships come with their contexts. */
  readonly withLinks?: boolean;
  readonly withContent: boolean;
}

/** How many are read by one query: that many contents may have some 10 MB before it is known that they are too many. */
const BATCH = 250;
/** The same with up to 100 relationships each, which are all read in one turn of the event loop. */
const BATCH_WITH_RELATIONSHIPS = 25;

type Row = MemoryRow & Partial<Relations>;

/**
 * Answers in the order of the places; what is not there is undefined. One query for every batch of a graph; a caller
 * has at most two graphs.
 */
export async function readMemories(
  { database, answer, pause }: Pick<Context, "database" | "answer" | "pause">,
  places: readonly Place[],
  { withRelationships = false, withLinks = false, withContent }: Wanted,
): Promise<Array<Memory | undefined>> {
  const withThem = withLinks ? memoriesWithLinks : memoriesWithRelationships;
  const statement = withRelationships ? withThem : memoriesAlone;
  // Many relationships may lead to one memory; it is read once.
  const wanted = new Map<string, Place>();
  const times = new Map<string, number>();
  for (const place of places) {
    const key = keyOf(place.graphId, place.id);
    wanted.set(key, place);
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  const found = new Map<string, Memory>();
  const size = withRelationships ? BATCH_WITH_RELATIONSHIPS : BATCH;
  let bytes = 0;
  for (const { graphId, ids } of batchesOf([...wanted.values()], size)) {
    const rows = ((await database.run(statement, { graphId, ids, withContent })) as Row[]).map(toMemory);
    if (withRelationships) await addSuperseding(database, rows);
    for (const row of rows) {
      const key = keyOf(row.graphId, row.id);
      found.set(key, row);
      bytes += (row.content.length + textOf(row.context).length) * (times.get(key) ?? 0);
    }
    // Before the next batch is read, and before each of thousands of places finds out that it has no room.
    answer?.assertRoom(bytes);
    await pause?.();
  }
  return places.map(({ graphId, id }) => found.get(keyOf(graphId, id)));
}

const keyOf = (graphId: string, id: string): string => `${graphId}/${id}`;

/** Ids of one graph at a time: a statement is answered by the node that has the graph. */
function batchesOf(
  places: readonly Place[],
  size: number,
): Array<{ readonly graphId: string; readonly ids: string[] }> {
  return [...new Set(places.map(({ graphId }) => graphId))].flatMap((graphId) => {
    const ids = places.filter((place) => place.graphId === graphId).map(({ id }) => id);
    const starts = Array.from({ length: Math.ceil(ids.length / size) }, (_, batch) => batch * size);
    return starts.map((start) => ({ graphId, ids: ids.slice(start, start + size) }));
  });
}

/** What is read beside a memory: JSON, so that one row carries a list. */
interface Relations {
  readonly relationshipsTotal: number;
  readonly relationships: Array<Omit<MemoryRelationship, "createdAt"> & { createdAt: string }>;
}

/** Of most memories, their relationships say which memory has taken their place; of others, it is looked up. */
async function addSuperseding(database: Context["database"], memories: readonly Memory[]): Promise<void> {
  const others: Memory[] = [];
  for (const memory of memories) {
    const { relationships = [], relationshipsTotal = 0 } = memory;
    const newer = relationships.find(({ type, direction }) => SUPERSEDING.get(type) === direction)?.memory;
    memory.supersededBy = newer ? { memoryId: newer.id, title: newer.title } : null;
    if (!newer && relationshipsTotal > relationships.length) others.push(memory);
  }
  if (others.length === 0) return;
  const found = await readSuperseding({ database }, others);
  for (const [index, memory] of others.entries()) memory.supersededBy = found[index] ?? null;
}

/** Types of relationships that lead to the memory to read instead, and which way; see `supersedingMemories`. */
const SUPERSEDING: ReadonlyMap<string, `${Direction}`> = new Map([
  ["REPLACES", "in"],
  ["DEPRECATED_BY", "out"],
]);

/** The memories that have taken the place of others, in the order of these. */
export async function readSuperseding(
  { database }: Pick<Context, "database">,
  places: readonly Place[],
): Promise<Array<SupersedingMemory | null>> {
  const found = new Map<string, SupersedingMemory>();
  for (const batch of batchesOf(places, Math.max(1, places.length))) {
    const rows = await database.run(supersedingMemories, batch);
    for (const { id, ...newer } of rows) found.set(keyOf(batch.graphId, id), newer);
  }
  return places.map(({ graphId, id }) => found.get(keyOf(graphId, id)) ?? null);
}

function toMemory({ relationships, ...row }: Row): Memory {
  if (!relationships) return row;
  return { ...row, relationships: relationships.map((item) => ({ ...item, createdAt: new Date(item.createdAt) })) };
}
