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

/** Answers in the order of the places; what is not there is undefined. One query, however many. */
export async function readMemories(
  { database }: Pick<Context, "database">,
  places: readonly Place[],
  { withRelationships }: { withRelationships: boolean },
): Promise<Array<Memory | undefined>> {
  const statement = withRelationships ? memoriesWithRelationships : memoriesAlone;
  // Many relationships may lead to one memory; it is read once.
  const wanted = [...new Map(places.map((place) => [`${place.graphId}/${place.id}`, place])).values()];
  const rows = await database.run<MemoryRow & Partial<RelationshipColumns>>(statement, [
    wanted.map(({ graphId }) => graphId),
    wanted.map(({ id }) => id),
  ]);
  const found = new Map(rows.map((row) => [`${row.graph_id}/${row.id}`, withRelations(row)]));
  return places.map(({ graphId, id }) => found.get(`${graphId}/${id}`));
}

const memoriesAlone: Statement = {
  name: "memories_alone",
  text: `
    SELECT ${MEMORY_COLUMNS}
    FROM unnest($1::uuid[], $2::uuid[]) AS wanted(graph_id, id) JOIN memory m USING (graph_id, id)`,
};

/** The newest of each direction are enough to find the newest of both. */
const newest = (end: "from_id" | "to_id", other: "from_id" | "to_id", direction: `${Direction}`) => `
  (SELECT *, '${direction}' AS direction, ${other} AS other_id
   FROM relationship WHERE graph_id = m.graph_id AND ${end} = m.id
   ORDER BY id DESC LIMIT ${RELATIONSHIPS_SHOWN_MAX})`;

const memoriesWithRelationships: Statement = {
  name: "memories_with_relationships",
  text: `
    SELECT ${MEMORY_COLUMNS},
      (SELECT count(*) FROM relationship WHERE graph_id = m.graph_id AND from_id = m.id)::int
        + (SELECT count(*) FROM relationship WHERE graph_id = m.graph_id AND to_id = m.id)::int AS relationships_total,
      (SELECT coalesce(json_agg(json_build_object(
          'id', r.id, 'type', r.type, 'direction', r.direction, 'from', r.from_id, 'to', r.to_id,
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
