import type { Context } from "../../operation/context.js";
import type { Memory, MemoryRelationship } from "./memory.js";
import type { MemoryRow } from "./memory-columns.js";
import { memoriesAlone, memoriesWithRelationships } from "./memory-statements.js";

/** Where a memory is. */
export interface Place {
  readonly graphId: string;
  readonly id: string;
}

/** What of the memories is read besides their other columns; a content that nobody asked for may be long. */
export interface Wanted {
  readonly withRelationships?: boolean;
  readonly withContent: boolean;
}

/** How many are read by one query: that many contents may have some 10 MB before it is known that they are too many. */
const BATCH = 250;
/** The same with up to 100 relationships each, which are all read in one turn of the event loop. */
const BATCH_WITH_RELATIONSHIPS = 25;

type Row = MemoryRow & Partial<Relations>;

/** Answers in the order of the places; what is not there is undefined. One query for every batch of them. */
export async function readMemories(
  { database, answer, pause }: Pick<Context, "database" | "answer" | "pause">,
  places: readonly Place[],
  { withRelationships = false, withContent }: Wanted,
): Promise<Array<Memory | undefined>> {
  const statement = withRelationships ? memoriesWithRelationships : memoriesAlone;
  // Many relationships may lead to one memory; it is read once.
  const wanted = new Map<string, Place>();
  const times = new Map<string, number>();
  for (const place of places) {
    const key = keyOf(place.graphId, place.id);
    wanted.set(key, place);
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  const found = new Map<string, Memory>();
  const read = [...wanted.values()];
  const size = withRelationships ? BATCH_WITH_RELATIONSHIPS : BATCH;
  let bytes = 0;
  for (let start = 0; start < read.length; start += size) {
    const batch = read.slice(start, start + size);
    const values = { graphIds: batch.map(({ graphId }) => graphId), ids: batch.map(({ id }) => id), withContent };
    for (const row of (await database.run(statement, values)) as Row[]) {
      const key = keyOf(row.graphId, row.id);
      found.set(key, toMemory(row));
      bytes += row.content.length * (times.get(key) ?? 0);
    }
    // Before the next batch is read, and before each of thousands of places finds out that it has no room.
    answer?.assertRoom(bytes);
    await pause?.();
  }
  return places.map(({ graphId, id }) => found.get(keyOf(graphId, id)));
}

const keyOf = (graphId: string, id: string): string => `${graphId}/${id}`;

/** What is read beside a memory: JSON, so that one row carries a list. */
interface Relations {
  readonly relationshipsTotal: number;
  readonly relationships: Array<Omit<MemoryRelationship, "createdAt"> & { createdAt: string }>;
}

function toMemory({ relationships, ...row }: Row): Memory {
  if (!relationships) return row;
  return { ...row, relationships: relationships.map((item) => ({ ...item, createdAt: new Date(item.createdAt) })) };
}
