import { Field, ObjectType } from "type-graphql";
import { NoInput, defineOperation } from "../../operation/operation.js";
import { WELL_KNOWN_TYPES } from "../../relationship-types.js";

@ObjectType({ description: "A well-known type of relationship." })
export class RelationshipType {
  @Field(() => String, { description: "Its name, such as SOLVES." })
  name!: string;

  @Field(() => String, { description: "Its category: causal, solution, context, learning, similarity, …" })
  category!: string;

  @Field(() => Boolean, { description: "Whether it means the same in both directions." })
  symmetric!: boolean;

  @Field(() => String, { nullable: true, description: "The type with the same meaning in the other direction." })
  inverse!: string | null;
}

@ObjectType({ description: "The well-known types of relationships. Others with the same format are accepted, too." })
export class RelationshipTypes {
  @Field(() => [RelationshipType], { description: "The types, category by category." })
  relationshipTypes!: RelationshipType[];
}

export const relationshipTypes = defineOperation({
  name: "relationshipTypes",
  effect: "reads",
  summary: "Lists the well-known relationship types.",
  input: NoInput,
  output: RelationshipTypes,
  permission: "memories:read",
  failures: [],
  rest: { method: "GET", path: "/v1/relationship-types" },
  example: { input: {}, output: { relationshipTypes: WELL_KNOWN_TYPES.slice(0, 2) } },
  async handle() {
    return { relationshipTypes: [...WELL_KNOWN_TYPES] };
  },
});
