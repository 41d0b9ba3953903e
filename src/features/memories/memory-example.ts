import { Direction, type Memory, type MemoryRelationship } from "./memory.js";

const GRAPH_ID = "019bb153-8740-7e4f-a051-627384950617";

/** A memory as the documentation shows it. */
export const MEMORY_EXAMPLE = {
  graphId: GRAPH_ID,
  id: "019cadd3-e5a4-7f21-8d4e-5a6b7c8d9e0f",
  type: "solution",
  title: "Retry with backoff",
  content: "Wait twice as long after each failure, and give up after five.",
  summary: "Exponential backoff, five attempts.",
  tags: ["http", "reliability"],
  importance: 0.8,
  context: { project_path: "/srv/gateway", languages: ["typescript"] },
  confidence: 0.9,
  clientId: null,
  expiresAt: null,
  version: 1,
  createdBy: "019bb153-8740-7c2d-8e3f-405162738495",
  createdAt: new Date("2026-03-02T09:14:31.204Z"),
  updatedAt: new Date("2026-03-02T09:14:31.204Z"),
} satisfies Memory;

/** The memory at the other end of the example's relationship. */
export const PROBLEM_EXAMPLE = {
  graphId: GRAPH_ID,
  id: "019cadd1-aafe-7a83-9c1b-2e3d4f5a6b7c",
  type: "problem",
  title: "Requests fail while the upstream restarts",
};

export const MEMORY_RELATIONSHIP_EXAMPLE = {
  relationshipId: "019cadd4-6070-7b34-a2c8-7f8091a2b3c4",
  type: "SOLVES",
  direction: Direction.OUT,
  from: MEMORY_EXAMPLE.id,
  to: PROBLEM_EXAMPLE.id,
  memory: PROBLEM_EXAMPLE,
  strength: 0.9,
  confidence: 0.8,
  context: "For calls that may be repeated safely.",
  createdAt: new Date("2026-03-02T09:15:02.640Z"),
} satisfies MemoryRelationship;
