import type { Context } from "../../operation/context.js";
import type { Statement } from "../../platform/database.js";
import {
  type Direction,
  MEMORY_COLUMNS,
  type Memory,
  type MemoryRelationship,
  type MemoryRow,
  RELATIONSHIPS_SHOWN_MAX,
  toMemory,
} from "./memory.js";

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

type Row = MemoryRow & Partial<RelationshipColumns>;

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
    const ids = [batch.map(({ graphId }) => graphId), batch.map(({ id }) => id)];
    for (const row of await database.run<Row>(statement, [...ids, withContent])) {
      const key = keyOf(row.graph_id, row.id);
      found.set(key, withRelations(row));
      bytes += row.content.length * (times.get(key) ?? 0);
    }
    // Before the next batch is read, and before each of thousands of places finds out that it has no room.
    answer?.assertRoom(bytes);
    await pause?.();
  }
  return places.map(({ graphId, id }) => found.get(keyOf(graphId, id)));
}

const keyOf = (graphId: string, id: string): string => `${graphId}/${id}`;

/** A content that is not asked for is never taken out of where PostgreSQL keeps long texts. */
const COLUMNS = MEMORY_COLUMNS.replace("m.content", "CASE WHEN $3::boolean THEN m.content ELSE '' END AS content");

const memoriesAlone: Statement = {
  name: "memories_alone",
  text: `
    SELECT ${COLUMNS}
    FROM unnest($1::uuid[], $2::uuid[]) AS wanted(graph_id, id) JOIN memory m USING (graph_id, id)`,
};

/**
 * The newest of each direction are enough to find the newest of both. `OFFSET 0` has PostgreSQL find a memory's own
 * relationships before it sorts: to have them sorted, it would read those of the whole graph, for each memory anew.
 */
const newest = (end: "from_id" | "to_id", other: "from_id" | "to_id", direction: `${Direction}`) => `
  (SELECT *, '${direction}' AS direction, ${other} AS other_id
   FROM (SELECT * FROM relationship WHERE graph_id = m.graph_id AND ${end} = m.id OFFSET 0) own
   ORDER BY id DESC LIMIT ${RELATIONSHIPS_SHOWN_MAX})`;

const memoriesWithRelationships: Statement = {
  name: "memories_with_relationships",
  text: `
    SELECT ${COLUMNS},
      (SELECT count(*) FROM relationship WHERE graph_id = m.graph_id AND from_id = m.id)::int
        + (SELECT count(*) FROM relationship WHERE graph_id = m.graph_id AND to_id = m.id)::int AS relationships_total,
      (SELECT coalesce(json_agg(json_build_object(
          'relationshipId', r.id, 'type', r.type, 'direction', r.direction, 'from', r.from_id, 'to', r.to_id,
          'memory', json_build_object('graphId', m.graph_id, 'id', other.id, 'type', other.type, 'title', other.title),
          'strength', r.strength, 'confidence', r.confidence, 'createdAt', r.created_at) ORDER BY r.id DESC), '[]')
       FROM (${newest("from_id", "to_id", "out")} UNION ALL ${newest("to_id", "from_id", "in")}
             ORDER BY id DESC LIMIT ${RELATIONSHIPS_SHOWN_MAX}) r
       JOIN memory other ON other.graph_id = m.graph_id AND other.id = r.other_id) AS relationships
    FROM unnest($1::uuid[], $2::uuid[]) AS wanted(graph_id, id) JOIN memory m USING (graph_id, id)`,
};

/** What the statement above adds to a memory: JSON, so that one row carries a list. */
interface RelationshipColumns {
  readonly relationships_total: number;
  readonly relationships: Array<Omit<MemoryRelationship, "createdAt"> & { createdAt: string }>;
}

function withRelations(row: MemoryRow & Partial<RelationshipColumns>): Memory {
  const { relationships, relationships_total } = row;
  if (!relationships || relationships_total === undefined) return toMemory(row);
  return {
    ...toMemory(row),
    relationships: relationships.map((item) => ({ ...item, createdAt: new Date(item.createdAt) })),
    relationshipsTotal: relationships_total,
  };
}
