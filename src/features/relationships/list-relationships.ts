import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import { Form, ListSize, Marked, Nullable, UUID } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf, placeOf } from "../../operation/page.js";
import type { Statement } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "../memories/index.js";
import { RELATIONSHIP_COLUMNS, RELATIONSHIP_EXAMPLE, Relationship, TYPE_FORM } from "./relationship.js";

const TYPES_MAX = 50;

@ArgsType()
export class RelationshipsInput extends Paged(GraphInput) {
  @Field(() => [String], { nullable: true, description: "Only relationships of these types, such as SOLVES." })
  @Nullable()
  @Form(TYPE_FORM, "must be upper-case names such as SOLVES, of up to 50 characters")
  @ListSize(1, TYPES_MAX, 50)
  types?: string[] | null;

  @Field(() => ID, { nullable: true, description: "Only relationships from or to the memory of this id." })
  @Nullable()
  @Marked("id")
  memoryId?: string | null;
}

@ObjectType({ description: "A page of relationships." })
export class RelationshipPage {
  @Field(() => [Relationship], { description: "The relationships, newest first." })
  relationships!: Relationship[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

/**
 * Ids are in the order of time, so a page goes on below the last id it showed, whatever was stored meanwhile. Values:
 * graph, the last id or null, how many, and what the list is narrowed by.
 */
const BELOW = "r.graph_id = $1 AND r.id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff')::uuid";

const newestRelationships: Statement = {
  name: "newest_relationships",
  text: `SELECT ${RELATIONSHIP_COLUMNS} FROM relationship r WHERE ${BELOW} ORDER BY id DESC LIMIT $3`,
};

/** The newest of each type are enough to find the newest of all, and each is read off the index. */
const relationshipsOfTypes: Statement = {
  name: "relationships_of_types",
  text: `
    SELECT ${RELATIONSHIP_COLUMNS} FROM unnest($4::text[]) AS wanted(name) CROSS JOIN LATERAL (
      SELECT * FROM relationship r WHERE ${BELOW} AND r.type = wanted.name ORDER BY r.id DESC LIMIT $3
    ) newest ORDER BY id DESC LIMIT $3`,
};

/** `OFFSET 0` has PostgreSQL find a memory's own relationships before it sorts, not walk through the whole graph. */
const relationshipsOfMemory: Statement = {
  name: "relationships_of_memory",
  text: `
    SELECT ${RELATIONSHIP_COLUMNS} FROM (
      SELECT * FROM relationship r WHERE ${BELOW} AND r.from_id = $5 AND ($4::text[] IS NULL OR r.type = ANY($4))
      UNION ALL
      SELECT * FROM relationship r WHERE ${BELOW} AND r.to_id = $5 AND ($4::text[] IS NULL OR r.type = ANY($4))
      OFFSET 0
    ) own ORDER BY id DESC LIMIT $3`,
};

export const relationships = defineOperation({
  name: "relationships",
  effect: "reads",
  summary: "The relationships of a graph, newest first.",
  input: RelationshipsInput,
  output: RelationshipPage,
  permission: "memories:read",
  failures: [NoTeamGraph],
  rest: { method: "GET", path: "/v1/relationships" },
  example: {
    input: { types: [RELATIONSHIP_EXAMPLE.type], limit: 10 },
    output: { relationships: [RELATIONSHIP_EXAMPLE], nextCursor: null },
  },
  async handle({ caller, database }, input) {
    const { limit } = input;
    const types = input.types && [...new Set(input.types)];
    const values = [chosenGraphId(caller, input), placeOf(input.cursor, UUID), limit + 1];
    const read = (statement: Statement, ...narrowing: unknown[]) =>
      database.run<Relationship>(statement, [...values, ...narrowing]);
    const rows = await (input.memoryId != null
      ? read(relationshipsOfMemory, types ?? null, input.memoryId)
      : types
        ? read(relationshipsOfTypes, types)
        : read(newestRelationships));
    const page = pageOf(rows, limit, ({ id }) => id);
    return { relationships: page.items, nextCursor: page.nextCursor };
  },
});
