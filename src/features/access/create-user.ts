import type { AuditAction } from "../../operation/audit-action.js";
import { NOBODY, recordAudit } from "../../operation/audit.js";
import type { Services } from "../../operation/context.js";
import { UUID } from "../../operation/id.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { SCOPES } from "../../operation/permission.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import type { Database } from "../../platform/database/database.js";
import type { Plan, User } from "../../platform/prisma/client.js";
import { type NewApiKey, storeNewApiKey } from "./api-key.js";
import { normalEmail } from "./email.js";

export interface UserToCreate {
  readonly email: string;
  readonly name?: string | null;
  readonly plan: Plan;
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
  /** @param which the address or id that was given */
  constructor(which: string) {
    super(
      `There is no user ${JSON.stringify(which)}. Correct the address or the id, or create one with ` +
        "`npm run user -- create`.",
    );
  }
}

export class AddressTaken extends UserError {
  constructor(address: string) {
    super(`There is already a user with the address ${address}. \`npm run user -- key\` creates another key for it.`);
  }
}

/**
 * Creates a user with a personal graph and a first key with every scope: this secret, or a new one.
 * @throws UserError when the address is invalid; AddressTaken when it belongs to another user.
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
    return await database.transaction(async (inner) => {
      await inner.models.user.create({ data });
      const key = { userId: data.id, name: "First key", action: "createUser" } as const;
      return { userId: data.id, email, apiKey: await storeKey({ newId, database: inner }, key, secret) };
    });
  } catch (error) {
    if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    throw new AddressTaken(email);
  }
}

/** @throws UserError when no user has this address or id. */
export async function readUser({ models }: Pick<Database, "models">, which: string): Promise<User> {
  const where = UUID.test(which) ? { id: which } : { email: normalEmail(which) ?? "" };
  const user = await models.user.findUnique({ where });
  if (!user) throw new NoSuchUser(which);
  return user;
}

/**
 * Creates another key with every scope, for a user who lost theirs: this secret, or a new one.
 * @param which the user's address or id
 * @throws UserError when there is no such user, or the user is suspended.
 */
export async function createKeyFor(
  services: Services,
  which: string,
  name: string,
  secret?: string,
): Promise<CreatedUser> {
  const { database, newId } = services;
  return database.transaction(async (inner) => {
    const user = await readUser(inner, which);
    const { email } = user;
    // Another command may delete the user meanwhile.
    const stays = await lockRow(inner, "user_account", { id: user.id }, { strength: "KEY SHARE" });
    if (!stays) throw new NoSuchUser(which);
    if (user.suspendedAt)
      throw new UserError(`${email} is suspended, so its keys do not work. Run \`npm run user -- unsuspend\` first.`);
    const key = { userId: user.id, name, action: "createKey" } as const;
    return { userId: user.id, email, apiKey: await storeKey({ newId, database: inner }, key, secret) };
  });
}

interface KeyToStore {
  readonly userId: string;
  readonly name: string;
  /** What the audit says: whoever has the key can act as the user. */
  readonly action: AuditAction;
}

interface Inside extends Pick<Services, "newId"> {
  /** A transaction. */
  readonly database: Database;
}

/** Stores a key with this secret, or a new one, and records it. */
async function storeKey(inside: Inside, { action, ...key }: KeyToStore, secret?: string): Promise<NewApiKey> {
  const { database, newId } = inside;
  const stored = { ...key, id: newId(), scopes: SCOPES, expiresAt: null, createdByKey: null };
  const made = await storeNewApiKey(database.models, stored, secret);
  const note = { teamId: null, subject: key.userId, detail: `key: ${made.id}` };
  await recordAudit({ ...inside, door: "operator" }, action, note, NOBODY);
  return made;
}
