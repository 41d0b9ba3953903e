import { createMemories } from "./create-memories.js";
import { deleteMemories } from "./delete-memories.js";
import { exportGraph } from "./export-graph.js";
import { restoreMemories } from "./restore-memories.js";

export { exportGraph } from "./export-graph.js";

export const bulkOperations = [createMemories, deleteMemories, exportGraph, restoreMemories] as const;
