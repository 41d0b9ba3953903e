import { Field, ID, ObjectType, registerEnumType } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { SCOPES, SCOPE_DESCRIPTIONS, type Scope } from "../../operation/permission.js";
import { apiKeyPrefix, hashApiKey, newApiKey } from "../../platform/api-key.js";
import type { Models, Statement } from "../../platform/database.js";
import type { ApiKey as ApiKeyRow } from "../../platform/prisma/client.js";

export const NAME_MAX = 100;
/** How many keys a user may have that are neither revoked nor expired. */
export const ACTIVE_KEYS_MAX = 100;

const graphqlName = (scope: Scope): string => scope.toUpperCase().replace(":", "_");

/** GraphQL's names for the scopes: `memories:read` is `MEMORIES_READ`. */
export const ScopeName = Object.fromEntries(SCOPES.map((scope) => [graphqlName(scope), scope]));
registerEnumType(ScopeName, {
  name: "Scope",
  description: "What an API key can be allowed to do.",
  valuesConfig: Object.fromEntries(
    SCOPES.map((scope) => [graphqlName(scope), { description: SCOPE_DESCRIPTIONS[scope] }]),
  ),
});

@ObjectType({ description: "An API key, without its secret." })
export class ApiKey {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => String, { description: "What its owner calls it." })
  name!: string;

  @Field(() => String, { description: "How the key begins, to tell it from others." })
  prefix!: string;

  @Field(() => [ScopeName], { description: "What it may do." })
  scopes!: Scope[];

  @Field(() => Date, { description: "When it was made." })
  createdAt!: Date;

  @Field(() => Date, { nullable: true, description: "When it ends; null for never." })
  expiresAt!: Date | null;

  @Field(() => Date, { nullable: true, description: "When it was last used, to the minute; null for never." })
  lastUsedAt!: Date | null;

  @Field(() => Date, { nullable: true, description: "When it was revoked; null for a key that was not." })
  revokedAt!: Date | null;
}

@ObjectType({ description: "A new API key. Its secret is shown here and never again." })
export class NewApiKey extends ApiKey {
  @Field(() => String, { description: "The key itself, to send as `Authorization: Bearer <key>`." })
  key!: string;
}

/** An API key as the documentation shows it. */
export const API_KEY_EXAMPLE: NewApiKey = {
  id: "019bb153-8740-7d3e-9f40-516273849506",
  name: "CI",
  prefix: "mg_live_EXAM",
  scopes: ["memories:read", "memories:write"],
  createdAt: new Date("2026-01-12T08:30:00.000Z"),
  expiresAt: new Date("2027-01-12T08:30:00.000Z"),
  lastUsedAt: null,
  revokedAt: null,
  key: "mg_live_EXAMPLEexampleEXAMPLEexampleEXAM0AbCdE",
};

export class ApiKeyNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("You have no API key with this id.");
  }
}

export class ScopeNotHeld extends Failure {
  static readonly example = new ScopeNotHeld(["teams:write"]);
  readonly kind = "forbidden";
  override readonly reason = "scope_not_held";

  constructor(scopes: readonly Scope[]) {
    super(`A key cannot give what it does not have: ${scopes.join(", ")}.`);
  }
}

export class TooManyApiKeys extends Failure {
  readonly kind = "conflict";
  override readonly reason = "too_many_api_keys";

  constructor() {
    super(`You have ${ACTIVE_KEYS_MAX} active API keys. Revoke one first.`);
  }
}

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  ...row,
  // The column holds what this service wrote there: scopes.
  scopes: row.scopes as Scope[],
});

/** @throws ScopeNotHeld when the caller's own key lacks one of the scopes. */
export function assertHeld({ caller }: Pick<Context, "caller">, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) throw new ScopeNotHeld(missing);
}

const lockUserRow: Statement = {
  name: "lock_user",
  text: "SELECT id FROM user_account WHERE id = $1::uuid FOR UPDATE",
};

/** Makes changes to one user's keys follow each other until the transaction ends. */
export async function lockUser({ database }: Pick<Context, "database">, userId: string): Promise<void> {
  await database.run(lockUserRow, [userId]);
}

/**
 * Counts while the user is locked, so that keys that are made at once cannot each take the last room.
 * @throws TooManyApiKeys when the user has as many as there may be.
 */
export async function assertRoomForKey(context: Pick<Context, "database" | "now">, userId: string): Promise<void> {
  await lockUser(context, userId);
  const { database, now } = context;
  const active = await database.models.apiKey.count({
    where: { userId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now() } }] },
  });
  if (active >= ACTIVE_KEYS_MAX) throw new TooManyApiKeys();
}

interface KeyToStore {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
}

/** Makes a key and stores its hash; the key itself is in the answer and nowhere else. */
export async function storeNewApiKey(models: Pick<Models, "apiKey">, key: KeyToStore): Promise<NewApiKey> {
  const secret = newApiKey();
  const hash = new Uint8Array(hashApiKey(secret));
  const data = { ...key, scopes: [...key.scopes], prefix: apiKeyPrefix(secret), hash };
  return { ...toApiKey(await models.apiKey.create({ data })), key: secret };
}
