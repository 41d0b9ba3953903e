import { Field, ID, ObjectType, registerEnumType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import type { UseLimit } from "../../operation/use-limit.js";
import { Failure } from "../../operation/failure.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { SCOPES, SCOPE_DESCRIPTIONS, type Scope } from "../../operation/permission.js";
import { sha256 } from "../../operation/sha256.js";
import { apiKeyPrefix, newApiKey } from "./key-text.js";
import type { Models } from "../../platform/database/database.js";
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

  @Field(() => String, { description: "Its name, chosen by whoever created it." })
  name!: string;

  @Field(() => String, { description: "The first characters of the key, to recognise it." })
  prefix!: string;

  @Field(() => [ScopeName], { description: "What it may do." })
  scopes!: Scope[];

  @Field(() => Date, { description: "When it was created." })
  createdAt!: Date;

  @Field(() => Date, { nullable: true, description: "When it expires; null for never." })
  expiresAt!: Date | null;

  @Field(() => Date, { nullable: true, description: "When it was last used, to the minute; null for never." })
  lastUsedAt!: Date | null;

  @Field(() => Date, { nullable: true, description: "When it was revoked; null if it was not." })
  revokedAt!: Date | null;

  @Field(() => ID, {
    nullable: true,
    description:
      "The key that created it: when that key ends, this one ends too. Null if no key created it, as on sign-up.",
  })
  createdByKey!: string | null;

  @Field(() => ID, { nullable: true, description: "The key that replaced it; null if it was not replaced." })
  replacedBy!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      "The host of a program that was connected by OAuth: its tokens act as this key. Null for an ordinary key.",
  })
  client!: string | null;
}

@ObjectType({ description: "A new API key. Its secret is shown only here." })
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
  client: null,
  key: "mg_live_EXAMPLEexampleEXAMPLEexampleEXAM0AbCdE",
};

export class ApiKeyNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("You have no API key with this id. `apiKeys` lists your keys.");
  }
}

export class ScopeNotHeld extends Failure {
  static readonly example = new ScopeNotHeld(["teams:write"]);
  readonly kind = "forbidden";
  override readonly reason = "scope_not_held";

  constructor(scopes: readonly Scope[]) {
    super(
      `The key in use lacks ${scopes.join(", ")}, so it cannot create, replace or revoke a key that has it. ` +
        "Use a key with these scopes.",
    );
  }
}

export class TooManyApiKeys extends Failure {
  readonly kind = "conflict";
  override readonly reason = "too_many_api_keys";

  /** @param more what else to do */
  constructor(more = "") {
    super(
      `A user has at most ${LIMITS.keys.active} active API keys, or ${LIMITS.keys.activeWithReplaced} including ` +
        `replaced keys that still work. Revoke one first with \`revokeApiKey\`.${more}`,
    );
  }
}

/** For a user who signs in: they may have lost all of these keys. */
export class TooManyKeysToSignIn extends TooManyApiKeys {
  constructor() {
    super(" If you have none of them any more, ask the operator of this service for one.");
  }
}

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  ...row,
  replacedBy: row.replacedById,
  // The column contains only scopes, which this service wrote.
  scopes: row.scopes as Scope[],
});

/** A key can only create, replace and revoke keys whose scopes it has. @throws ScopeNotHeld when it lacks one. */
export function assertHeld({ caller }: Pick<Context, "caller">, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !caller.scopes.has(scope));
  if (missing.length > 0) throw new ScopeNotHeld(missing);
}

/** The condition for keys that are neither revoked nor expired. */
export const notEnded = (now: Date) => ({ revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] });

/** Limits how many keys a user creates: keys that have ended stay stored for a while. */
export const KEYS_MADE: UseLimit = {
  ...LIMITS.keys.madePerUser,
  name: "make-key",
  of: "new API keys of one user, including replacements,",
  by: "account",
};

/**
 * Locks the user and counts their keys, so that keys created at the same time cannot exceed the maximum.
 * @throws TooManyApiKeys when the user has the maximum.
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

/** What the creator of a key chooses. */
export interface KeyOptions {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
  /** The host of the program whose tokens act as this key. The secret of such a key is never shown. */
  readonly client?: string;
}

interface KeyToStore extends KeyOptions {
  readonly id: string;
  readonly userId: string;
  /** Null for a key from a sign-up or an operator. */
  readonly createdByKey: string | null;
}

/** The prefix that lists show for a program's key: the program sends tokens, never the key. */
const CLIENT_PREFIX = "oauth";

/** Creates a key and stores its hash; the key itself is only in the result. */
export async function storeNewApiKey(
  models: Pick<Models, "apiKey">,
  key: KeyToStore,
  secret = newApiKey(),
): Promise<NewApiKey> {
  const hash = sha256(secret);
  const prefix = key.client === undefined ? apiKeyPrefix(secret) : CLIENT_PREFIX;
  const data = { ...key, scopes: [...key.scopes], prefix, hash };
  return { ...toApiKey(await models.apiKey.create({ data })), key: secret };
}
