import DataLoader from "dataloader";
import type { GraphQLResolveInfo, SelectionNode } from "graphql";
import type { LinkItem } from "../../src/features/memories/memory-statements.js";
import { MEMORY_FIELDS } from "./documents.js";
import { newMemory } from "./floor-input.js";
import type { Caller, Memory, Related, Work } from "./floor-work.js";

/** The part of the service's schema that the cases need. Resolvers apply defaults, because graphql-jit does not. */
export const SCHEMA = `
scalar DateTimeISO
scalar JSONObject
enum Direction { IN OUT }

type Memory {
  ${Object.entries(MEMORY_FIELDS)
    .map(([name, type]) => `${name}: ${type}`)
    .join("\n  ")}
  relationships: [MemoryRelationship!]
}
type MemoryRelationship {
  relationshipId: ID!
  type: String!
  direction: Direction!
  strength: Float!
  confidence: Float!
  memory: Memory!
}
type RelatedMemory {
  memoryId: ID!
  type: String!
  title: String!
  relationship: String!
  direction: Direction!
  depth: Int!
  strength: Float!
}
type RelatedMemories { memories: [RelatedMemory!]! truncated: Boolean! }
type SearchHit { memoryId: ID! type: String! title: String! relevance: Float! }
type SearchHits { memories: [SearchHit!]! total: Int! totalIsCapped: Boolean! }
input CreateMemoryInput {
  type: String!
  title: String!
  content: String!
  summary: String
  tags: [String!]
  importance: Float
  context: JSONObject
  confidence: Float
}
type Query {
  memory(id: ID!): Memory
  relatedMemories(id: ID!): RelatedMemories
  searchMemories(query: String!): SearchHits
}
type Mutation { createMemory(input: CreateMemoryInput!): Memory }
`;

/** The context of resolvers, made for each request, because each request looks its key up. */
export interface PeerContext {
  readonly caller: Caller;
  readonly others: DataLoader<string, Memory>;
}

export async function contextOf(work: Work, authorization: string | undefined | null): Promise<PeerContext> {
  const caller = await work.callerOf(authorization);
  const others = new DataLoader<string, Memory>(async (ids) => {
    const found = new Map(
      (await work.memoriesAt(caller, ids, "memoryWithRelationships")).map((memory) => [memory.id, memory]),
    );
    return ids.map((id) => found.get(id) ?? new Error("Deleted meanwhile."));
  });
  return { caller, others };
}

type Asked<Arguments> = (root: unknown, given: Arguments, context: PeerContext, info: GraphQLResolveInfo) => unknown;

/** The floor's statements: relationships are read only if requested, with one statement for each level. */
export function resolversOf(work: Work) {
  const memory: Asked<{ id: string }> = (_root, { id }, { caller }, info) =>
    work.memoryAt(caller, id, selectedOf(info).has("relationships") ? "memoryWithRelationships" : "memoryAlone");
  const relatedMemories: Asked<{ id: string }> = (_root, { id }, { caller }) => work.related(caller, id);
  const searchMemories: Asked<{ query: string }> = (_root, { query }, { caller }) => work.find(caller, query, false);
  const createMemory: Asked<{ input: Record<string, unknown> }> = (_root, { input }, { caller }) =>
    work.create(caller, newMemory(input));
  return {
    Query: { memory, relatedMemories, searchMemories },
    Mutation: { createMemory },
    Memory: { relationships: ({ relationships }: Memory): Relationship[] => relationships.map(toRelationship) },
    MemoryRelationship: {
      direction: upperCaseDirection,
      memory: ({ memory: known }: Relationship, _given: object, { others }: PeerContext, info: GraphQLResolveInfo) =>
        [...selectedOf(info)].every((name) => name in known) ? known : others.load(known.id),
    },
    RelatedMemory: { memoryId: idOfRow, direction: upperCaseDirection },
    SearchHit: { memoryId: idOfRow },
  };
}

type Relationship = ReturnType<typeof toRelationship>;

function toRelationship(link: LinkItem) {
  const [relationshipId, type, direction, id, otherType, title, strength, confidence] = link;
  return { relationshipId, type, direction, strength, confidence, memory: { id, type: otherType, title } };
}

const upperCaseDirection = ({ direction }: Relationship | Related): string => direction.toUpperCase();
const idOfRow = ({ id }: { readonly id: string | null }): string | null => id;

/** The cases' documents have no fragments. */
const selectedOf = ({ fieldNodes }: GraphQLResolveInfo): Set<string> =>
  new Set(fieldNodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []).flatMap(nameOf));

const nameOf = (node: SelectionNode): string[] => (node.kind === "Field" ? [node.name.value] : []);
