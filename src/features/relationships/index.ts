import { createRelationship } from "./create-relationship.js";
import { deleteRelationship } from "./delete-relationship.js";
import { relationship } from "./get-relationship.js";
import { relationships } from "./list-relationships.js";
import { relationshipTypes } from "./list-relationship-types.js";
import {
  toMemoryOfRelationship,
  fromMemoryOfRelationship,
  contextOfMemoryRelationship,
  relationshipOfMemoryRelationship,
} from "./relationship.js";
import { updateRelationship } from "./update-relationship.js";

export { TooManyRelationships } from "./create-relationship.js";
export { RELATIONSHIP_EXAMPLE, Relationship, toRelationship } from "./relationship.js";
export { MUST_DIFFER, NewRelationship, RelationshipContents } from "./relationship-input.js";

export const relationshipOperations = [
  createRelationship,
  relationship,
  relationships,
  updateRelationship,
  deleteRelationship,
  relationshipTypes,
] as const;

export const relationshipRelations = [
  fromMemoryOfRelationship,
  toMemoryOfRelationship,
  contextOfMemoryRelationship,
  relationshipOfMemoryRelationship,
] as const;
