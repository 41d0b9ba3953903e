import type { Services } from "../../operation/context.js";
import { SCOPES } from "../../operation/permission.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import type { Models } from "../../platform/database/database.js";
import { type NewApiKey, storeNewApiKey } from "./api-key.js";
import { normalEmail } from "./email.js";

export interface UserToCreate {
  readonly email: string;
  readonly name?: string | null;
  readonly plan: "free" | "pro";
  readonly verified: boolean;
}

export interface CreatedUser {
  readonly userId: string;
  readonly email: string;
  readonly apiKey: NewApiKey;
}

/** A command on a user failed; the message says why and what to do. */
export class UserError extends Error {}

export class NoSuchUser extends UserError {
  constructor(address: string) {
    super(`There is no user with the address ${JSON.stringify(address)}. Correct it, or run \`user create\` first.`);
  }
}

/**
 * Creates a user with a personal graph and a first key with every scope: this secret, or a new one.
 * @throws UserError when the address is invalid or belongs to another user.
 */
export async function createUser(services: Services, user: UserToCreate, secret?: string): Promise<CreatedUser> {
  const { database, newId, now } = services;
  const email = normalEmail(user.email);
  if (email === null) throw new UserError(`${JSON.stringify(user.email)} is not an e-mail address.`);
  const data = {
    id: newId(),
    email,
    name: user.name ?? null,
    plan: user.plan,
    emailVerifiedAt: user.verified ? now() : null,
    graph: { create: { id: newId() } },
  };
  try {
    return await database.transaction(async ({ models }) => {
      await models.user.create({ data });
      const apiKey = await storeFirstKey(services, models, { userId: data.id, name: "First key" }, secret);
      return { userId: data.id, email, apiKey };
    });
  } catch (error) {
    if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    throw new UserError(`There is already a user with the address ${email}. \`user key\` creates another key for it.`);
  }
}

/**
 * Creates another key with every scope, for a user who lost theirs: this secret, or a new one.
 * @throws UserError when there is no such user, or the user is suspended.
 */
export async function createKeyFor(
  services: Services,
  address: string,
  name: string,
  secret?: string,
): Promise<CreatedUser> {
  const { models } = services.database;
  const email = normalEmail(address) ?? "";
  const user = await models.user.findUnique({ where: { email } });
  if (!user) throw new NoSuchUser(address);
  if (user.suspendedAt)
    throw new UserError(`${email} is suspended, so its keys do not work. Run \`user unsuspend\` first.`);
  return { userId: user.id, email, apiKey: await storeFirstKey(services, models, { userId: user.id, name }, secret) };
}

interface FirstKey {
  readonly userId: string;
  readonly name: string;
}

/** With this secret, or a new one. */
function storeFirstKey({ newId }: Services, models: Models, key: FirstKey, secret?: string): Promise<NewApiKey> {
  return storeNewApiKey(models, { ...key, id: newId(), scopes: SCOPES, expiresAt: null, createdByKey: null }, secret);
}
