/** The floor's answers, field by field. */
import type { LinkItem } from "../../src/features/memories/memory-statements.js";
import { Refusal, type RestName } from "./floor-input.js";
import type { Hits, Memory, Related } from "./floor-work.js";

export const restMemory = (memory: Memory): Record<RestName<keyof Memory> | "superseded_by", unknown> => ({
  id: memory.id,
  type: memory.type,
  title: memory.title,
  content: memory.content,
  summary: memory.summary,
  tags: memory.tags,
  importance: memory.importance,
  context: memory.context,
  confidence: memory.confidence,
  client_id: memory.clientId,
  expires_at: memory.expiresAt,
  created_at: memory.createdAt,
  updated_at: memory.updatedAt,
  version: memory.version,
  created_by: memory.createdBy,
  relationships: memory.relationships.map((link) => restLink(memory.id, link)),
  relationships_total: memory.relationshipsTotal,
  superseded_by: supersededBy(memory),
});

function restLink(own: string, link: LinkItem): object {
  const [id, type, direction, other, otherType, title, strength, confidence, createdAt, context] = link;
  return {
    id,
    type,
    direction,
    from: direction === "out" ? own : other,
    to: direction === "out" ? other : own,
    memory: { id: other, type: otherType, title },
    strength,
    confidence,
    context: context ?? null,
    created_at: new Date(createdAt),
  };
}

/** Memories here have few relationships, so an answer contains all of them. */
function supersededBy({ relationships }: Memory): object | null {
  const newest = relationships.find(
    ([, type, direction]) => type === (direction === "in" ? "REPLACES" : "DEPRECATED_BY"),
  );
  return newest ? { id: newest[3], title: newest[5] } : null;
}

export const graphqlMemory = (memory: Memory): Omit<Memory, "relationships" | "relationshipsTotal"> => ({
  id: memory.id,
  type: memory.type,
  title: memory.title,
  content: memory.content,
  summary: memory.summary,
  tags: memory.tags,
  importance: memory.importance,
  context: memory.context,
  confidence: memory.confidence,
  clientId: memory.clientId,
  expiresAt: memory.expiresAt,
  createdAt: memory.createdAt,
  updatedAt: memory.updatedAt,
  version: memory.version,
  createdBy: memory.createdBy,
});

export const graphqlHits = ({ memories, unknownWords: _unknown, ...rest }: Hits): object => ({
  memories: memories.map(({ id: memoryId, ...hit }) => ({ memoryId, ...hit })),
  ...rest,
});

export const graphqlRelated = ({ id, type, title, relationship, direction, depth, strength }: Related): object => ({
  memoryId: id,
  type,
  title,
  relationship,
  direction: direction.toUpperCase(),
  depth,
  strength,
});

export const restRelated = ({ viaMemoryId, strength, ...row }: Related): object => ({
  ...row,
  via_memory_id: viaMemoryId,
  strength,
});

/** A memory, its related memories, and their relationships. */
export function graphqlNested({ id, title, relationships }: Memory, others: readonly Memory[]): object {
  const otherAt = new Map(others.map((other) => [other.id, other]));
  return {
    id,
    title,
    relationships: relationships.map(([, type, direction, otherId]) => {
      const other = otherAt.get(otherId);
      if (!other) throw new Refusal(404);
      const { content, tags, relationships: further } = other;
      return {
        type,
        direction: direction.toUpperCase(),
        memory: { id: other.id, title: other.title, content, tags, relationships: further.map(lastLevel) },
      };
    }),
  };
}

const lastLevel = ([, type, direction, id, , title]: LinkItem): object => ({
  type,
  direction: direction.toUpperCase(),
  memory: { id, title },
});
