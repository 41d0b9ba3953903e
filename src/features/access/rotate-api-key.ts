import { Field, InputType, Int } from "type-graphql";
import { Between } from "../../operation/bounds.js";
import { Failure } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import {
  API_KEY_EXAMPLE,
  ApiKeyNotFound,
  NewApiKey,
  ScopeNotHeld,
  assertHeld,
  lockUser,
  storeNewApiKey,
  toApiKey,
} from "./api-key.js";

const GRACE_DEFAULT_S = 86_400;
const GRACE_MAX_S = 7 * 86_400;

@InputType({ description: "Which API key to replace." })
export class RotateApiKeyInput {
  @IdField("The key's id.")
  id!: string;

  @Field(() => Int, {
    defaultValue: GRACE_DEFAULT_S,
    description: "For how many seconds the old key goes on working: a day unless given, at most a week, 0 for none.",
  })
  @Between(0, GRACE_MAX_S)
  graceSeconds!: number;
}

export class ApiKeyNotActive extends Failure {
  readonly kind = "conflict";
  override readonly reason = "api_key_not_active";

  constructor() {
    super("This API key is revoked, expired or already replaced, so it cannot be replaced.");
  }
}

export const rotateApiKey = defineOperation({
  name: "rotateApiKey",
  kind: "mutation",
  summary: "Replaces an API key of the caller's by a new one of the same name, scopes and lifetime.",
  input: RotateApiKeyInput,
  output: NewApiKey,
  permission: "keys:write",
  failures: [ApiKeyNotFound, ApiKeyNotActive, ScopeNotHeld],
  rest: { method: "POST", path: "/keys/:id/rotate", status: 201 },
  example: { input: { id: "019bb153-8740-7f50-b162-738495061728", graceSeconds: 3_600 }, output: API_KEY_EXAMPLE },
  audit: (_context, { id }, made) => ({ teamId: null, subject: id, detail: `replaced by ${made.id}` }),
  async handle(context, { id, graceSeconds }) {
    const { caller, database, newId, now } = context;
    // Of two rotations of one key at once, the second waits here and then sees the first.
    await lockUser(context, caller.userId);
    const old = await database.models.apiKey.findFirst({ where: { id: id, userId: caller.userId } });
    if (!old) throw new ApiKeyNotFound();
    const { name, scopes } = toApiKey(old);
    assertHeld(context, scopes);
    const time = now();
    if (old.revokedAt || old.replacedById || (old.expiresAt && old.expiresAt <= time)) throw new ApiKeyNotActive();
    const expiresAt = old.expiresAt && new Date(time.getTime() + old.expiresAt.getTime() - old.createdAt.getTime());
    const made = await storeNewApiKey(database.models, { id: newId(), userId: caller.userId, name, scopes, expiresAt });
    const graceEnd = new Date(time.getTime() + graceSeconds * 1_000);
    const oldEnd = old.expiresAt && old.expiresAt < graceEnd ? old.expiresAt : graceEnd;
    await database.models.apiKey.update({
      where: { id: old.id },
      data: { replacedById: made.id, expiresAt: oldEnd },
    });
    return made;
  },
});
