import { createMemory } from "./create-memory.js";
import { deleteMemory } from "./delete-memory.js";
import { memory } from "./get-memory.js";
import { memories } from "./list-memories.js";
import { memoryVersions } from "./list-memory-versions.js";
import {
  relationshipsOfMemory,
  relationshipsTotalOfMemory,
  solvedByOfMemory,
  supersededByOfMemory,
} from "./memory-relations.js";
import { makersRelations } from "./read-makers.js";
import { putMemory } from "./put-memory.js";
import { relatedMemories } from "./related-memories.js";
import { memoryOfRelatedMemory } from "./related-memory.js";
import { searchMemories } from "./search/search-memories.js";
import { memoryOfHit } from "./search/search-hit.js";
import { shareMemories } from "./share-memories.js";
import { updateMemory } from "./update-memory.js";

export { AGENT_INSTRUCTIONS } from "./agent-instructions.js";
export { memoryChores } from "./chores.js";
export { GRAPH_FOR_AGENTS, GraphInput, NoTeamGraph, chosenGraphId, chosenTeamId } from "./graph.js";
export { GRAPH_PLACE, graphOfPage, placeInGraph, writeGraphPlace } from "./graph-place.js";
export { MemoryVersion } from "./list-memory-versions.js";
export { GRAPH_STORAGE_EXAMPLE, GraphStorage, storageOf } from "./graph-storage.js";
export { GraphFull, assertRoom, measure, refuseWithoutRoom, settle } from "./graph-room.js";
export { chargeForCounting, costOfCounting } from "./charge-for-counting.js";
export { countRelationships } from "./count-relationships.js";
export {
  CONTENTS,
  CONTENT_TYPES,
  type Contents,
  MEMORY_COLUMNS,
  bytesOf,
  contentsOf,
  costOfBytes,
  jsonColumns,
  memoryBytes,
} from "./memory-columns.js";
export {
  LINK_COLUMNS,
  LINK_CONTENTS,
  LINK_TYPES,
  type LinkContents,
  linkBytes,
  linkChangesOf,
  linkContentsOf,
} from "./relationship-columns.js";
export { findNarrowed, findPassing, indexQueryOf } from "./words/find-narrowed.js";
export { MemoryFilterInput, expiryFor, filterOf, isNarrowed } from "./memory-filter.js";
export {
  ClientIdField,
  IncludeExpiredField,
  ProjectField,
  TypesField,
  RelationshipTypeForm,
  RelationshipTypesField,
  hintOfTypes,
} from "./common-fields.js";
export { MemoryHead, headOf } from "./memory-head.js";
export { NewMemory, assertHolds } from "./memory-input.js";
export { MemoryExists } from "./memory-exists.js";
export { AMONG_IDS, relationshipsOfEach, removeMemories, rowsWith, storeRelationships } from "./many-statements.js";
export { findExistingIds, resolveEnds, resolveEveryId, resolveMemoryIds, withResolvedId } from "./resolve-memory-id.js";
export { Direction, Memory, MemoryNotFound, MemoryRelationship } from "./memory.js";
export { MEMORY_EXAMPLE, MEMORY_RELATIONSHIP_EXAMPLE } from "./memory-example.js";
export { type LargeGraph, largestGraphs } from "./largest-graphs.js";
export { type MiscountedGraph, verifyGraphs } from "./verify-graphs.js";
export { CLOSING, OPEN_TYPES, isPlanned, isTurned } from "./memory-types.js";
export { setMakers, showsMakers } from "./read-makers.js";
export { type Place, callersIdsByGraph, keyOf, setSolving, setSuperseding } from "./read-memories.js";
export { FollowDirection } from "./related-memories.js";
export { defineMemoryRelation } from "./memory-relations.js";

export const memoryOperations = [
  createMemory,
  putMemory,
  memory,
  memories,
  updateMemory,
  deleteMemory,
  memoryVersions,
  searchMemories,
  relatedMemories,
  shareMemories,
] as const;

export const memoryRelations = [
  relationshipsOfMemory,
  relationshipsTotalOfMemory,
  supersededByOfMemory,
  solvedByOfMemory,
  memoryOfHit,
  ...makersRelations,
  memoryOfRelatedMemory,
] as const;
