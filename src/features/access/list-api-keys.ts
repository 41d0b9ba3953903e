import { ArgsType, Field, ObjectType } from "type-graphql";
import { NoInput, defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, olderThan, pageOf } from "../../operation/page.js";
import { API_KEY_EXAMPLE, ApiKey, toApiKey } from "./api-key.js";

@ArgsType()
export class ApiKeysInput extends Paged("apiKeys", NoInput) {}

@ObjectType({ description: "A page of API keys." })
export class ApiKeyPage {
  @Field(() => [ApiKey], { description: "The keys, newest first, including revoked and expired ones." })
  keys!: ApiKey[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const apiKeys = defineOperation({
  name: "apiKeys",
  effect: "reads",
  summary: "Lists the caller's API keys, newest first, without their secrets.",
  input: ApiKeysInput,
  output: ApiKeyPage,
  permission: "keys:write",
  failures: [],
  rest: { method: "GET", path: "/keys" },
  example: { input: { limit: 10 }, output: { keys: [API_KEY_EXAMPLE], nextCursor: null } },
  async handle({ caller, database, pause }, input) {
    const rows = await database.models.apiKey.findMany({
      where: { userId: caller.userId, ...olderThan(input.cursor) },
      orderBy: { id: "desc" },
      take: input.limit + 1,
    });
    const { items, nextCursor } = await pageOf({ pause }, rows, input, ({ id }) => id);
    return { keys: items.map(toApiKey), nextCursor };
  },
});
