import { Field, InputType, Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import {
  API_KEY_EXAMPLE,
  KEYS_MADE,
  ApiKeyNotFound,
  NewApiKey,
  ScopeNotHeld,
  TooManyApiKeys,
  assertHeld,
  assertRoomForKey,
  storeNewApiKey,
  toApiKey,
} from "./api-key.js";
import { earlierEnd, endOfKeyInUse, endWithDescendants, lineageOf } from "./key-lineage.js";

const GRACE_DEFAULT_S = 86_400;
const GRACE_MAX_S = 7 * 86_400;

@InputType({ description: "Which API key to replace." })
export class RotateApiKeyInput {
  @IdField("The key's id.")
  id!: string;

  @Field(() => Int, {
    defaultValue: GRACE_DEFAULT_S,
    description: `How many seconds the old key still works: ${GRACE_DEFAULT_S} by default, at most ${GRACE_MAX_S}.`,
  })
  @Between(0, GRACE_MAX_S)
  graceSeconds!: number;
}

export class ApiKeyNotActive extends Failure {
  readonly kind = "conflict";
  override readonly reason = "api_key_not_active";

  constructor() {
    super(
      "This API key is revoked, expired or already replaced, so it cannot be replaced. " +
        "Create a new one with `createApiKey`.",
    );
  }
}

export class KeyOfClient extends Failure {
  readonly kind = "conflict";
  override readonly reason = "api_key_of_client";

  constructor() {
    super("A connected program acts as this key, and renews its tokens itself. To end its access, use `revokeApiKey`.");
  }
}

export class MakerIsProtected extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "maker_is_protected";

  constructor() {
    super("A key cannot replace a key that it descends from. Use that key, or one that does not descend from it.");
  }
}

export const rotateApiKey = defineOperation({
  name: "rotateApiKey",
  effect: "transaction",
  summary: "Replaces one of the caller's API keys by a new one with the same name, scopes and lifetime.",
  notes:
    "The key in use must have every scope of the old key, and the new key ends no later than the key in use. If " +
    "the key in use is the old key itself, or one that it descends from, the new key takes over the keys that the " +
    "old one created. Otherwise these end with the old key, and the new key counts as created by the key in use.",
  input: RotateApiKeyInput,
  output: NewApiKey,
  permission: "keys:write",
  failures: [ApiKeyNotFound, ApiKeyNotActive, KeyOfClient, ScopeNotHeld, MakerIsProtected, TooManyApiKeys],
  limits: [KEYS_MADE],
  rest: { method: "POST", path: "/keys/:id/rotate", status: 201 },
  example: { input: { id: "019bb153-8740-7f50-b162-738495061728", graceSeconds: 3_600 }, output: API_KEY_EXAMPLE },
  audit: (_context, { id }, made) => ({ teamId: null, subject: id, detail: `replaced by ${made.id}` }),
  async handle(context, { id, graceSeconds }) {
    const { caller, database, newId, now } = context;
    // Locks the user: of two rotations of one key at the same time, the second waits here and then sees the first.
    await assertRoomForKey(context, caller.userId, LIMITS.keys.activeWithReplaced);
    const old = await database.models.apiKey.findFirst({ where: { id, userId: caller.userId } });
    if (!old) throw new ApiKeyNotFound();
    const ownEnd = await endOfKeyInUse(context);
    const { name, scopes } = toApiKey(old);
    assertHeld(context, scopes);
    if (old.client !== null) throw new KeyOfClient();
    const time = now();
    if (old.revokedAt || old.replacedById || (old.expiresAt && old.expiresAt <= time)) throw new ApiKeyNotActive();
    const { keepsPlace } = await findPlace(context, id);
    const newEnd = old.expiresAt && new Date(time.getTime() + old.expiresAt.getTime() - old.createdAt.getTime());
    const made = await storeNewApiKey(database.models, {
      id: newId(),
      userId: caller.userId,
      name,
      scopes,
      expiresAt: earlierEnd(newEnd, await findLatestEnd(context, keepsPlace ? old.createdByKey : null, ownEnd)),
      createdByKey: keepsPlace ? old.createdByKey : caller.keyId,
    });
    const { apiKey } = database.models;
    if (keepsPlace) {
      const theirs = { userId: caller.userId, createdByKey: id };
      await apiKey.updateMany({ where: theirs, data: { createdByKey: made.id } });
    }
    await apiKey.update({ where: { id }, data: { replacedById: made.id } });
    await endWithDescendants(context, id, new Date(time.getTime() + graceSeconds * 1_000));
    return made;
  },
});

/**
 * Whether the new key takes the old key's place in the lineage. It does if the old key is the key in use or descends
 * from it. Otherwise the new key descends from the key in use, so that it ends with that key.
 * @throws MakerIsProtected when the key in use descends from the old key, which it could then outlive.
 */
async function findPlace(context: Context, id: string): Promise<{ keepsPlace: boolean }> {
  const { caller } = context;
  if (caller.keyId === id) return { keepsPlace: true };
  if ((await lineageOf(context, caller.keyId)).has(id)) throw new MakerIsProtected();
  return { keepsPlace: (await lineageOf(context, id)).has(caller.keyId) };
}

/** The latest possible end of a new key: the end of the key in use, or of the old key's creator if that is earlier. */
async function findLatestEnd({ database }: Context, makerId: string | null, ownEnd: Date | null): Promise<Date | null> {
  const maker = makerId === null ? null : await database.models.apiKey.findUnique({ where: { id: makerId } });
  return earlierEnd(ownEnd, maker?.expiresAt ?? null);
}
