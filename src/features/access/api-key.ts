import { Field, ID, ObjectType, registerEnumType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import { spend } from "../../operation/budget.js";
import { Failure } from "../../operation/failure.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { SCOPES, SCOPE_DESCRIPTIONS, type Scope } from "../../operation/permission.js";
import { apiKeyPrefix, hashApiKey, newApiKey } from "./key-text.js";
import type { Models } from "../../platform/database.js";
import type { ApiKey as ApiKeyRow } from "../../platform/prisma/client.js";

export const NAME_MAX = 100;

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

  @Field(() => ID, {
    nullable: true,
    description: "The key that made it, with which it ends; null for one that no key made, such as that of a sign-up.",
  })
  createdByKey!: string | null;

  @Field(() => ID, { nullable: true, description: "The key that took its place; null for one that was not replaced." })
  replacedBy!: string | null;
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
  createdByKey: "019bb153-8740-7d3e-9f40-000000000001",
  replacedBy: null,
  key: "mg_live_EXAMPLEexampleEXAMPLEexampleEXAM0AbCdE",
};

export class ApiKeyNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("You have no API key with this id. `apiKeys` lists those that you have.");
  }
}

export class ScopeNotHeld extends Failure {
  static readonly example = new ScopeNotHeld(["teams:write"]);
  readonly kind = "forbidden";
  override readonly reason = "scope_not_held";

  constructor(scopes: readonly Scope[]) {
    super(
      `The key in use lacks ${scopes.join(", ")}, so it cannot make, replace or revoke a key that has it. ` +
        "Use a key with these scopes.",
    );
  }
}

export class TooManyApiKeys extends Failure {
  readonly kind = "conflict";
  override readonly reason = "too_many_api_keys";

  constructor() {
    super(
      `A user has at most ${LIMITS.keys.active} active API keys, and ${LIMITS.keys.activeWithReplaced} together with ` +
        "those that were replaced and still work. Revoke one first with `revokeApiKey`.",
    );
  }
}

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  ...row,
  replacedBy: row.replacedById,
  // The column holds what this service wrote there: scopes.
  scopes: row.scopes as Scope[],
});

/** A key gives, replaces and ends only what it could do itself. @throws ScopeNotHeld when it lacks one of the scopes. */
export function assertHeld({ caller }: Pick<Context, "caller">, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) throw new ScopeNotHeld(missing);
}

/** What is true of a key that still opens something. */
export const notEnded = (now: Date) => ({ revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] });

/** Every key that ends is kept for a while, so a user makes only so many. @throws RateLimited beyond that. */
export const spendKey = (context: Pick<Context, "budgets" | "caller">): Promise<void> =>
  spend(context, `make-key:${context.caller.userId}`, LIMITS.keys.madePerUser);

/**
 * Counts while the user is locked, so that keys that are made at once cannot each take the last room.
 * @throws TooManyApiKeys when the user has as many as there may be.
 */
export async function assertRoomForKey(
  context: Pick<Context, "database" | "now">,
  userId: string,
  activeMax: number = LIMITS.keys.active,
): Promise<void> {
  const { database, now } = context;
  await lockRow(database, "user_account", { id: userId });
  const active = await database.models.apiKey.count({ where: { userId, ...notEnded(now()) } });
  if (active >= activeMax) throw new TooManyApiKeys();
}

interface KeyToStore {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
  /** Null for one that an owner's mail or an operator stands for, not another key. */
  readonly createdByKey: string | null;
}

/** Makes a key and stores its hash; the key itself is in the answer and nowhere else. */
export async function storeNewApiKey(models: Pick<Models, "apiKey">, key: KeyToStore): Promise<NewApiKey> {
  const secret = newApiKey();
  const hash = new Uint8Array(hashApiKey(secret));
  const data = { ...key, scopes: [...key.scopes], prefix: apiKeyPrefix(secret), hash };
  return { ...toApiKey(await models.apiKey.create({ data })), key: secret };
}
