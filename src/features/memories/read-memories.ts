import type { Caller, Context } from "../../operation/context.js";
import { Direction, type Memory, type MemoryRelationship } from "./memory.js";
import { jsonUnits, paceBy } from "../../operation/pieces.js";
import type { ContentName, MemoryRow } from "./memory-columns.js";
import {
  type LinkItem,
  memoriesAlone,
  memoriesWithLinks,
  memoriesWithRelationships,
  solvingMemories,
  supersedingMemories,
} from "./memory-statements.js";
import type { SolvingMemory } from "./solving-memory.js";
import type { SupersedingMemory } from "./superseding-memory.js";

/** Where a memory is. */
export interface Place {
  readonly graphId: string;
  readonly id: string;
}

/** Fields that may be long. If one of them is requested, both are read. */
export const LONG_FIELDS: readonly string[] = ["content", "context"] satisfies ContentName[];

/** What to read besides the short columns. Long fields that nobody requested are left out. */
export interface Wanted {
  readonly withRelationships?: boolean;
  /** Whether relationships come with their contexts. */
  readonly withLinks?: boolean;
  readonly withContent: boolean;
}

/** Memories read by one query. Their contents and contexts may take 30 MB, which are read before the bound is checked. */
const BATCH = 100;
/** The same with up to 100 relationships each, which are all parsed in one turn of the event loop. */
const BATCH_WITH_RELATIONSHIPS = 25;

type Row = MemoryRow & Partial<Relations>;

/**
 * Reads memories, in the order of the places; undefined for each that does not exist. One query for each batch of a
 * graph.
 */
export async function readMemories(
  { caller, database, answer, pause }: Pick<Context, "caller" | "database" | "answer" | "pause">,
  places: readonly Place[],
  { withRelationships = false, withLinks = false, withContent }: Wanted,
): Promise<Array<Memory | undefined>> {
  const linkedStatement = withLinks ? memoriesWithLinks : memoriesWithRelationships;
  const statement = withRelationships ? linkedStatement : memoriesAlone;
  // Many relationships may lead to one memory: it is read once, and answered each time.
  const times = new Map<string, number>();
  for (const { graphId, id } of places) {
    const key = keyOf(graphId, id);
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  const found = new Map<string, Memory>();
  const size = withRelationships ? BATCH_WITH_RELATIONSHIPS : BATCH;
  const pace = paceBy(pause);
  let bytes = 0;
  for (const [index, { graphId, ids }] of callersIdsByGraph(caller, places, size).entries()) {
    if (index > 0) await pause();
    const rows = ((await database.run(statement, { graphId, ids, withContent })) as Row[]).map(toMemory);
    if (withRelationships) await addSuperseding({ caller, database }, rows);
    for (const row of rows) {
      const key = keyOf(row.graphId, row.id);
      found.set(key, row);
      if (!answer) continue;
      const length = row.content.length + jsonUnits(row.context);
      bytes += length * (times.get(key) ?? 0);
      const turn = pace(length);
      if (turn) await turn;
    }
    // Checked once for all places, and before the next batch is read.
    answer?.assertRoom(bytes);
  }
  return places.map(({ graphId, id }) => found.get(keyOf(graphId, id)));
}

/** A key for what is in a graph: two graphs may have the same ids, after an export was restored. */
export const keyOf = (graphId: string, id: string): string => `${graphId}/${id}`;

/**
 * The ids of each graph, each id once, at most `size` together: a statement runs on the node that has the graph. There
 * are few graphs, those of a caller at most two.
 */
export function idsByGraph(
  places: readonly Place[],
  size = places.length,
): Array<{ readonly graphId: string; readonly ids: string[] }> {
  return [...new Set(places.map(({ graphId }) => graphId))].flatMap((graphId) => {
    const ids = [...new Set(places.filter((place) => place.graphId === graphId).map(({ id }) => id))];
    const starts = Array.from({ length: Math.ceil(ids.length / size) }, (_, batch) => batch * size);
    return starts.map((start) => ({ graphId, ids: ids.slice(start, start + size) }));
  });
}

/**
 * The same in the caller's graphs alone: the first result of an Idempotency-Key may be of a team that the caller has
 * left since.
 */
export const callersIdsByGraph = ({ personalGraphId, team }: Caller, places: readonly Place[], size?: number) =>
  idsByGraph(
    places.filter(({ graphId }) => graphId === personalGraphId || graphId === team?.graphId),
    size,
  );

/** What a row has besides the memory. The relationships are JSON, so that one row carries the list. */
interface Relations {
  readonly relationshipsTotal: number;
  readonly relationships: readonly LinkItem[];
}

type Reading = Pick<Context, "caller" | "database">;

/** Sets `supersededBy`: from the relationships that were read, or by a query for memories with more relationships. */
async function addSuperseding(context: Reading, memories: readonly Memory[]): Promise<void> {
  const others: Memory[] = [];
  for (const memory of memories) {
    const { relationships = [], relationshipsTotal = 0 } = memory;
    const newer = relationships.find(({ type, direction }) => SUPERSEDING.get(type) === direction)?.memory;
    memory.supersededBy = newer ? { memoryId: newer.id, title: newer.title } : null;
    if (!newer && relationshipsTotal > relationships.length) others.push(memory);
  }
  if (others.length > 0) await setSuperseding(context, others);
}

/** Reads `supersededBy` of memories, and sets it. */
export async function setSuperseding(context: Reading, memories: readonly Memory[]): Promise<void> {
  const found = await readSuperseding(context, memories);
  for (const [index, memory] of memories.entries()) memory.supersededBy = found[index] ?? null;
}

/** Reads `solvedBy` of memories, and sets it. */
export async function setSolving(context: Reading, memories: readonly Memory[]): Promise<void> {
  const found = await readSolving(context, memories);
  for (const [index, memory] of memories.entries()) memory.solvedBy = found[index] ?? null;
}

/**
 * The types of relationships that lead to the memory to read instead, and their direction; see `supersedingMemories`.
 */
const SUPERSEDING: ReadonlyMap<string, `${Direction}`> = new Map([
  ["REPLACES", "in"],
  ["DEPRECATED_BY", "out"],
]);

/** Reads another memory for each of the given ones, in the same order; null if there is none. */
const readerOf =
  (statement: typeof supersedingMemories) =>
  async ({ caller, database }: Reading, places: readonly Place[]): Promise<Array<OtherMemory | null>> => {
    const found = new Map<string, OtherMemory>();
    for (const batch of callersIdsByGraph(caller, places)) {
      const rows = await database.run(statement, batch);
      for (const { id, ...other } of rows) found.set(keyOf(batch.graphId, id), other);
    }
    return places.map(({ graphId, id }) => found.get(keyOf(graphId, id)) ?? null);
  };

type OtherMemory = SupersedingMemory & SolvingMemory;

/** Reads the memories that supersede others. */
export const readSuperseding = readerOf(supersedingMemories);
/** Reads the memories that solve others. */
export const readSolving = readerOf(solvingMemories);

/** Converts a row in place: copying it would cost more than converting its relationships. */
function toMemory(row: Row): Memory {
  const relationships = row.relationships?.map((link) => toRelationship(row, link));
  return Object.assign(row, relationships && { relationships });
}

function toRelationship({ graphId, id }: Place, link: LinkItem): MemoryRelationship {
  const [relationshipId, type, direction, otherId, otherType, title, strength, confidence, createdAt, context] = link;
  const isOut = direction === Direction.OUT;
  const relationship: MemoryRelationship = {
    relationshipId,
    type,
    direction,
    from: isOut ? id : otherId,
    to: isOut ? otherId : id,
    memory: { graphId, id: otherId, type: otherType, title },
    strength,
    confidence,
    createdAt: new Date(createdAt),
  };
  if (context !== undefined) relationship.context = context;
  return relationship;
}
