import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import { Marked, Nullable } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf } from "../../operation/page.js";
import type { Database } from "../../platform/database/database.js";
import {
  GRAPH_PLACE,
  GraphInput,
  NoTeamGraph,
  RelationshipTypesField,
  placeInGraph,
  withResolvedId,
  writeGraphPlace,
} from "../memories/index.js";
import { newestAtMemory, newestOfTypes } from "./newest-statement.js";
import { RELATIONSHIP_EXAMPLE, Relationship, UNSEEN, toRelationship } from "./relationship.js";

@ArgsType()
export class RelationshipsInput extends Paged("relationships", GraphInput, GRAPH_PLACE) {
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
  isLarge: true,
  permission: "memories:read",
  failures: [NoTeamGraph],
  rest: { method: "GET", path: "/v1/relationships" },
  example: {
    input: { types: [RELATIONSHIP_EXAMPLE.type], limit: 10 },
    output: { relationships: [RELATIONSHIP_EXAMPLE], nextCursor: null },
  },
  async handle({ caller, database, pause }, input) {
    const { limit, memoryId } = input;
    const { graphId, after } = placeInGraph(caller, input);
    const types = input.types && [...new Set(input.types)];
    const part = { before: after, take: limit + 1 };
    const rows =
      memoryId == null
        ? await readNewest(database, graphId, types, part)
        : await withResolvedId({ database }, { graphId, id: memoryId }, async (place) => {
            const values = { graphId: place.graphId, memoryId: place.id, types: types ?? null, ...part };
            const found = await database.run(newestAtMemory, values);
            return found.length === 0 ? undefined : found;
          });
    const page = await pageOf({ pause }, rows ?? [], input, ({ id }) => writeGraphPlace(graphId, id));
    return { relationships: page.items.map(toRelationship), nextCursor: page.nextCursor };
  },
});

async function readNewest(
  database: Database,
  graphId: string,
  types: readonly string[] | null | undefined,
  { before, take }: { readonly before: string | null; readonly take: number },
) {
  if (types) return database.run(newestOfTypes, { graphId, types, before, take });
  const where = { graphId, ...(before !== null && { id: { lt: before } }) };
  return database.readPages(({ relationship }) =>
    relationship.findMany({ where, omit: UNSEEN, orderBy: { id: "desc" }, take }),
  );
}
