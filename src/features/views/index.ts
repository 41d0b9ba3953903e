import { graphStatistics } from "./graph-statistics.js";
import { memoryGraph } from "./memory-graph.js";
import { memoryOfStep, memoryPath } from "./memory-path.js";
import { recentActivity } from "./recent-activity.js";

export const viewOperations = [recentActivity, memoryPath, memoryGraph, graphStatistics] as const;

export const viewRelations = [memoryOfStep] as const;
