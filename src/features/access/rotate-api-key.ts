import { Field, InputType, Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import {
  API_KEY_EXAMPLE,
  ApiKeyNotFound,
  NewApiKey,
  ScopeNotHeld,
  TooManyApiKeys,
  assertHeld,
  assertRoomForKey,
  notEnded,
  spendKey,
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
    description: "For how many seconds the old key goes on working: a day unless given, at most a week, 0 for none.",
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

export class MakerIsProtected extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "maker_is_protected";

  constructor() {
    super("A key cannot replace the one that it comes from. Use that one, or a key that does not come from it.");
  }
}

export const rotateApiKey = defineOperation({
  name: "rotateApiKey",
  effect: "transaction",
  summary: "Replaces an API key of the caller's by a new one of the same name, scopes and lifetime.",
  notes:
    "The key in use must have every scope of the old one, and the new one ends no later than the key in use. Done " +
    "with the key itself, or with one that it comes from, the new key also takes over the keys that the old one " +
    "had made. Otherwise they end with the old one, and the new one counts as made by the key in use. A user makes " +
    `at most ${LIMITS.keys.madePerUser.limit} keys an hour, replacements included.`,
  input: RotateApiKeyInput,
  output: NewApiKey,
  permission: "keys:write",
  failures: [ApiKeyNotFound, ApiKeyNotActive, ScopeNotHeld, MakerIsProtected, TooManyApiKeys],
  rest: { method: "POST", path: "/keys/:id/rotate", status: 201 },
  example: { input: { id: "019bb153-8740-7f50-b162-738495061728", graceSeconds: 3_600 }, output: API_KEY_EXAMPLE },
  prepare: spendKey,
  audit: (_context, { id }, made) => ({ teamId: null, subject: id, detail: `replaced by ${made.id}` }),
  async handle(context, { id, graceSeconds }) {
    const { caller, database, newId, now } = context;
    // Of two rotations of one key at once, the second waits here and then sees the first.
    await assertRoomForKey(context, caller.userId, LIMITS.keys.activeWithReplaced);
    const old = await database.models.apiKey.findFirst({ where: { id, userId: caller.userId } });
    if (!old) throw new ApiKeyNotFound();
    const ownEnd = await endOfKeyInUse(context);
    const { name, scopes } = toApiKey(old);
    assertHeld(context, scopes);
    const time = now();
    if (old.revokedAt || old.replacedById || (old.expiresAt && old.expiresAt <= time)) throw new ApiKeyNotActive();
    const { keepsPlace } = await standingOf(context, id);
    const newEnd = old.expiresAt && new Date(time.getTime() + old.expiresAt.getTime() - old.createdAt.getTime());
    const made = await storeNewApiKey(database.models, {
      id: newId(),
      userId: caller.userId,
      name,
      scopes,
      expiresAt: earlierEnd(newEnd, await latestEnd(context, keepsPlace ? old.createdByKey : null, ownEnd)),
      createdByKey: keepsPlace ? old.createdByKey : caller.keyId,
    });
    const { apiKey } = database.models;
    if (keepsPlace) {
      const theirs = { userId: caller.userId, createdByKey: id, ...notEnded(time) };
      await apiKey.updateMany({ where: theirs, data: { createdByKey: made.id } });
    }
    await apiKey.update({ where: { id }, data: { replacedById: made.id } });
    await endWithDescendants(context, id, new Date(time.getTime() + graceSeconds * 1_000));
    return made;
  },
});

/**
 * Whether the successor takes the old key's place: it does where the key in use would end it as well, so that whoever
 * holds the successor never outlives what they got it with.
 * @throws MakerIsProtected when the key in use comes from the other: it would get rid of what it ends with.
 */
async function standingOf(context: Context, id: string): Promise<{ keepsPlace: boolean }> {
  const { caller } = context;
  if (caller.keyId === id) return { keepsPlace: true };
  if ((await lineageOf(context, caller.keyId)).has(id)) throw new MakerIsProtected();
  return { keepsPlace: (await lineageOf(context, id)).has(caller.keyId) };
}

/** When a successor ends at the latest: with the key in use, and with the key whose place it comes from. */
async function latestEnd({ database }: Context, makerId: string | null, ownEnd: Date | null): Promise<Date | null> {
  const maker = makerId === null ? null : await database.models.apiKey.findUnique({ where: { id: makerId } });
  return earlierEnd(ownEnd, maker?.expiresAt ?? null);
}
