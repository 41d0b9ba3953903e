import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import { Marked, Nullable } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, olderThan, pageOf, placeOf } from "../../operation/page.js";
import type { Database } from "../../platform/database/database.js";
import { GraphInput, NoTeamGraph, RelationshipTypesField, chosenGraphId, withResolvedId } from "../memories/index.js";
import { newestAtMemory } from "./newest-statement.js";
import { RELATIONSHIP_EXAMPLE, Relationship, UNSEEN, toRelationship } from "./relationship.js";

@ArgsType()
export class RelationshipsInput extends Paged(GraphInput) {
  @RelationshipTypesField("Only relationships of these types, such as SOLVES.")
  types?: string[] | null;

  @Field(() => ID, {
    nullable: true,
    description: "Only relationships from or to the memory with this id, or client id.",
  })
  @Nullable()
  @Marked("memoryId")
  memoryId?: string | null;
}

@ObjectType({ description: "A page of relationships." })
export class RelationshipPage {
  @Field(() => [Relationship], { description: "The relationships, newest first." })
  relationships!: Relationship[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const relationships = defineOperation({
  name: "relationships",
  effect: "reads",
  summary: "Lists the relationships of a graph, newest first.",
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
    const { limit, memoryId } = input;
    const all = { graphId: chosenGraphId(caller, input), ...olderThan(input.cursor) };
    const types = input.types && [...new Set(input.types)];
    const rows =
      memoryId == null
        ? await readNewest(database, limit + 1, ofTypes(all, types))
        : await withResolvedId({ database }, { graphId: all.graphId, id: memoryId }, async ({ graphId, id }) => {
            const values = {
              graphId,
              memoryId: id,
              before: placeOf(input.cursor),
              types: types ?? null,
              take: limit + 1,
            };
            const found = await database.run(newestAtMemory, values);
            return found.length === 0 ? undefined : found;
          });
    const page = pageOf(rows ?? [], limit, ({ id }) => id);
    return { relationships: page.items.map(toRelationship), nextCursor: page.nextCursor };
  },
});

type Condition = {
  graphId: string;
  id?: { lt: string };
  type?: string;
};

/** One condition for each type, since an index has the relationships of one type in the order of their ids. */
const ofTypes = (all: Condition, types: string[] | null | undefined): Condition[] =>
  types ? types.map((type) => ({ ...all, type })) : [all];

/**
 * Reads the newest relationships of each condition, which contain the newest of all. No relationship matches two
 * conditions.
 */
async function readNewest(database: Database, take: number, conditions: readonly Condition[]) {
  const rows = await database.readPages(async (models) => {
    const found = [];
    for (const where of conditions) {
      found.push(...(await models.relationship.findMany({ where, omit: UNSEEN, orderBy: { id: "desc" }, take })));
    }
    return found;
  });
  return rows.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, take);
}
