import { Field, ID, InputType, ObjectType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { defineOperation } from "../../operation/operation.js";
import { API_KEY_EXAMPLE, ApiKeyNotFound, ScopeNotHeld, assertHeld, toApiKey } from "./api-key.js";
import { endOfKeyInUse, revokeWithDescendants } from "./key-lineage.js";

@InputType({ description: "Which API key to revoke." })
export class RevokeApiKeyInput {
  @IdField("The key's id.")
  id!: string;
}

@ObjectType({ description: "An API key that was revoked." })
export class RevokedApiKey {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => [ID], {
    description: "The keys that ended with it: those it created, those that these created, and so on.",
  })
  alsoRevoked!: string[];
}

export const revokeApiKey = defineOperation({
  name: "revokeApiKey",
  effect: "transaction",
  summary: "Revokes one of the caller's API keys at once, with every key that it created.",
  notes:
    "The key in use may revoke itself, and any key whose scopes it has. Revoking a key again changes nothing and " +
    "succeeds. To end a key and keep those that it created, replace it with `rotateApiKey`.",
  input: RevokeApiKeyInput,
  output: RevokedApiKey,
  permission: "keys:write",
  failures: [ApiKeyNotFound, ScopeNotHeld],
  rest: { method: "DELETE", path: "/keys/:id", status: 204 },
  example: { input: { id: API_KEY_EXAMPLE.id }, output: { id: API_KEY_EXAMPLE.id, alsoRevoked: [] } },
  audit: (_context, { id }, { alsoRevoked }) => ({
    teamId: null,
    subject: id,
    ...(alsoRevoked.length > 0 && { detail: `with ${alsoRevoked.length} that it had made` }),
  }),
  async handle(context, { id }) {
    const { caller, database } = context;
    await lockRow(database, "user_account", { id: caller.userId });
    const key = await database.models.apiKey.findFirst({ where: { id, userId: caller.userId } });
    if (!key) throw new ApiKeyNotFound();
    // Of two keys that revoke each other at the same moment, the second has ended by now.
    await endOfKeyInUse(context);
    if (id !== caller.keyId) assertHeld(context, toApiKey(key).scopes);
    const revoked = await revokeWithDescendants(context, key);
    return { id, alsoRevoked: revoked.filter((other) => other !== id) };
  },
});
