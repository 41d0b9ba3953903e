import { createMemory } from "./create-memory.js";
import { deleteMemory } from "./delete-memory.js";
import { memory } from "./get-memory.js";
import { memories } from "./list-memories.js";
import { memoryVersions } from "./list-memory-versions.js";
import { relationshipsOfMemory, relationshipsTotalOfMemory } from "./memory-relations.js";
import { relatedMemories } from "./related-memories.js";
import { memoryReached } from "./related-memory.js";
import { searchMemories } from "./search-memories.js";
import { memoryOfHit } from "./search-hit.js";
import { shareMemories } from "./share-memories.js";
import { updateMemory } from "./update-memory.js";

export { memoryChores } from "./chores.js";
export { GraphInput, NoTeamGraph, chosenGraphId } from "./graph.js";
export { MemoryVersion } from "./list-memory-versions.js";
export { GRAPH_STORAGE_EXAMPLE, GraphStorage, storageOf } from "./graph-storage.js";
export { GraphFull, assertRoom, settle } from "./graph-room.js";
export { countWordsOfGraph } from "./count-words.js";
export { forgetWords } from "./forget-words.js";
export { bytesOf } from "./memory-columns.js";
export { Memory, MemoryNotFound, MemoryRelationship } from "./memory.js";
export { MEMORY_EXAMPLE, MEMORY_RELATIONSHIP_EXAMPLE } from "./memory-example.js";
export { type MiscountedGraph, verifyGraphs } from "./verify-graphs.js";
export type { Place } from "./read-memories.js";
export { defineMemoryRelation } from "./memory-relations.js";

export const memoryOperations = [
  createMemory,
  memory,
  memories,
  updateMemory,
  deleteMemory,
  memoryVersions,
  searchMemories,
  relatedMemories,
  shareMemories,
] as const;

export const memoryRelations = [relationshipsOfMemory, relationshipsTotalOfMemory, memoryOfHit, memoryReached] as const;
