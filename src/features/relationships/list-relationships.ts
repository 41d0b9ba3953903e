import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import { Form, ListSize, Marked, Nullable, UUID } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf, placeOf } from "../../operation/page.js";
import type { Database } from "../../platform/database.js";
import { GraphInput, NoTeamGraph, chosenGraphId } from "../memories/index.js";
import { RELATIONSHIP_EXAMPLE, Relationship, TYPE_FORM, UNSEEN, toRelationship } from "./relationship.js";

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
    const { limit, memoryId } = input;
    const before = placeOf(input.cursor, UUID);
    // Ids are in the order of time, so a page goes on below the last id it showed, whatever was stored meanwhile.
    const all = { graphId: chosenGraphId(caller, input), ...(before !== null && { id: { lt: before } }) };
    const types = input.types && [...new Set(input.types)];
    const rows = await newestOf(
      database,
      limit + 1,
      memoryId == null ? ofTypes(all, types) : atMemory(all, memoryId, types),
    );
    const page = pageOf(rows, limit, ({ id }) => id);
    return { relationships: page.items.map(toRelationship), nextCursor: page.nextCursor };
  },
});

type Condition = {
  graphId: string;
  id?: { lt: string };
  fromId?: string;
  toId?: string;
  type?: string | { in: string[] };
};

/** Each type by itself, which is read off an index that has it in this order. */
const ofTypes = (all: Condition, types: string[] | null | undefined): Condition[] =>
  types ? types.map((type) => ({ ...all, type })) : [all];

const atMemory = (all: Condition, id: string, types: string[] | null | undefined): Condition[] =>
  [{ fromId: id }, { toId: id }].map((end) => ({ ...all, ...end, ...(types && { type: { in: types } }) }));

/** The newest of each condition are enough to find the newest of all. No relationship meets two of them. */
async function newestOf({ models }: Database, take: number, conditions: readonly Condition[]) {
  const rows = [];
  for (const where of conditions) {
    rows.push(...(await models.relationship.findMany({ where, omit: UNSEEN, orderBy: { id: "desc" }, take })));
  }
  return rows.sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, take);
}
