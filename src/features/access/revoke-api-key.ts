import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { Deletion, defineOperation } from "../../operation/operation.js";
import { API_KEY_EXAMPLE, ApiKeyNotFound } from "./api-key.js";

@InputType({ description: "Which API key to revoke." })
export class RevokeApiKeyInput {
  @IdField("The key's id.")
  id!: string;
}

export const revokeApiKey = defineOperation({
  name: "revokeApiKey",
  kind: "mutation",
  summary: "Ends an API key of the caller's at once, be it the one in use; revoking it again changes nothing.",
  input: RevokeApiKeyInput,
  output: Deletion,
  permission: "keys:write",
  failures: [ApiKeyNotFound],
  rest: { method: "DELETE", path: "/keys/:id", status: 204 },
  example: { input: { id: API_KEY_EXAMPLE.id }, output: { id: API_KEY_EXAMPLE.id } },
  audit: (_context, { id }) => ({ teamId: null, subject: id }),
  async handle({ caller, database, now }, input) {
    const mine = { id: input.id, userId: caller.userId };
    await database.models.apiKey.updateMany({ where: { ...mine, revokedAt: null }, data: { revokedAt: now() } });
    const key = await database.models.apiKey.findFirst({ where: mine, select: { id: true } });
    if (!key) throw new ApiKeyNotFound();
    return key;
  },
});
