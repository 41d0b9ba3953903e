import type { GraphQLSchema } from "graphql";
import { inputTypeOf } from "../../src/operation/input.js";
import type { Operation } from "../../src/operation/operation.js";
import { inputFields } from "../support/operations.js";

/** For each field with bounds, values that no door accepts; agents may write names in other forms. */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  title: ["", "  ", "x".repeat(501)],
  type: ["No type!"],
  content: ["x".repeat(50_001)],
  summary: ["x".repeat(1_001)],
  importance: [1.01, -0.01],
  tags: [["x".repeat(101)]],
  types: [["no type!"]],
  minImportance: [2],
  project: ["x".repeat(501)],
  createdAfter: ["yesterday"],
  strength: [1.01],
  clientId: ["", " ", "x".repeat(201)],
  confidence: [-1],
  relationshipType: ["solves!"],
  // One above the bound: for much larger limits GraphQL would refuse the cost instead.
  limit: [0, 101],
  offset: [-1, 1_001],
  tagsMatch: ["some"],
  cursor: ["no cursor!"],
  maxDepth: [0, 6],
  direction: ["sideways"],
  query: [" ", "x".repeat(1_001)],
  expectedVersion: [0],
  graph: ["ours"],
  name: [" ", "x".repeat(101)],
  keyName: [" "],
  scopes: [["everything"]],
  expiresAt: ["soon"],
  graceSeconds: [-1, 7 * 86_400 + 1],
  maxMembers: [0, 1_001],
  role: ["owner"],
  status: ["lost"],
};

/** Single operations with wider bounds. */
const OWN_WRONG: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  memories: { offset: [-1, 1_000_001] },
  recentActivity: { offset: [-1, 100_001] },
  // For 1,001 hits with all fields, GraphQL would refuse the cost before it checks the bound.
  searchMemories: { limit: [0, -1] },
  relatedMemories: { limit: [0, 1_001] },
  memoryGraph: { limit: [0, 501] },
  memoryPath: { maxDepth: [0, 11] },
};

/** The input with one field out of bounds; undefined if no field of the operation has bounds. */
export function spoiled(
  schema: GraphQLSchema,
  operation: Operation,
  input: object,
  [whichField, whichValue]: readonly [number, number],
): Readonly<Record<string, unknown>> | undefined {
  const fields = inputFields(inputTypeOf(schema, operation)).filter(({ name }) => name in WRONG);
  const name = fields[whichField % Math.max(1, fields.length)]?.name;
  if (name === undefined) return undefined;
  const values = OWN_WRONG[operation.name]?.[name] ?? WRONG[name] ?? [];
  return { ...input, [name]: values[whichValue % values.length] };
}
