import type { AuditAction } from "../../operation/audit-action.js";
import { NOBODY, recordAudit, tellChanges } from "../../operation/audit.js";
import type { Services } from "../../operation/context.js";
import { Unauthorized } from "../../operation/failure.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database/database.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import type { ApiKey, Mail, Plan, User } from "../../platform/prisma/client.js";
import { NoSuchUser, UserError, normalEmail, notEnded, readUser, revokeWithDescendants } from "../access/index.js";
import { withdrawInvitationsBy, OwnerMustTransfer } from "../teams/index.js";
import { moveUser } from "./change-email.js";
import { STILL, deleteUser, forgetAddresses } from "./delete-user.js";
import { lockTeamOf } from "./lock-team-of.js";

interface UserChange {
  readonly action: AuditAction;
  readonly data: Partial<User>;
  /** The detail for the audit. */
  tell?(was: User, is: User): string | undefined;
  /** Runs in the transaction, before the user is changed. */
  first?(inner: Database, user: User): Promise<void>;
}

/**
 * Changes a user and records it in the same transaction; returns the changed user.
 * @throws UserError when no user has this address, or another command deletes the user meanwhile.
 */
function change(
  { database, newId }: Services,
  address: string,
  { action, tell, data, first }: UserChange,
): Promise<User> {
  return database.transaction(async (inner) => {
    const before = await readUser(inner, address);
    const { id } = before;
    await first?.(inner, before);
    const [user] = await inner.models.user.updateManyAndReturn({ where: { id }, data });
    if (!user) throw new NoSuchUser(address);
    const note = { teamId: null, subject: id, detail: tell?.(before, user) };
    await recordAudit({ database: inner, newId, door: "operator" }, action, note, NOBODY);
    return user;
  });
}

/** Takes effect with the next request. */
export const setPlan = (services: Services, address: string, plan: Plan): Promise<User> =>
  change(services, address, {
    action: "setPlan",
    tell: (was, is) => tellChanges([["plan", was.plan, is.plan]]),
    data: { plan },
  });

/** Null removes the name. The audit does not contain the names, since it is kept after the user is deleted. */
export const renameUser = (services: Services, address: string, name: string | null): Promise<User> =>
  change(services, address, { action: "renameUser", data: { name } });

/** Marks the address as verified, as a code that was sent there would. */
export const verifyUser = (services: Services, address: string): Promise<User> =>
  change(services, address, { action: "verifyUser", data: { emailVerifiedAt: services.now() } });

/**
 * Gives a user another address, marked as verified, such as the one that a thief of a key has changed. Nobody is told.
 * @throws UserError when no user has the first address, or another one has the second.
 */
export async function moveUserTo({ database, newId }: Services, address: string, to: string): Promise<User> {
  const email = normalEmail(to) ?? "";
  try {
    return await database.transaction(async (inner) => {
      const { id } = await readUser(inner, address);
      return (await moveUser({ database: inner, newId, door: "operator" }, { id, email }, NOBODY)).user;
    });
  } catch (error) {
    if (error instanceof Unauthorized) throw new NoSuchUser(address);
    if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    throw new UserError(`There is already a user with the address ${email}. Delete that one first, or move it away.`);
  }
}

/**
 * From the next request on, all keys are refused with 403 `account_suspended`, and a sign-up creates no new one.
 * Pending invitations that the user sent are revoked; the membership and all stored data stay.
 */
export const suspendUser = (services: Services, address: string): Promise<User> =>
  change(services, address, {
    action: "suspendUser",
    data: { suspendedAt: services.now() },
    async first(inner, { id }) {
      // An invitation that is just being created waits, and is then refused.
      await lockTeamOf(inner, id);
      await withdrawInvitationsBy(inner, id);
    },
  });

/** The same keys work again. Revoked invitations stay revoked. */
export const unsuspendUser = (services: Services, address: string): Promise<User> =>
  change(services, address, { action: "unsuspendUser", data: { suspendedAt: null } });

/**
 * Revokes every key of a user, or only this one with those that it made; returns how many there were.
 * @throws UserError when there is no such user, or the user has no such key.
 */
export function revokeKeysOf({ database, newId, now }: Services, which: string, keyId?: string) {
  return database.transaction(async (inner) => {
    const { id, email } = await readUser(inner, which);
    // A key that is just being made waits, and is then refused; or this waits, and revokes it, too.
    await lockRow(inner, "user_account", { id });
    const count = await revoke({ database: inner, now }, id, keyId);
    const note = { teamId: null, subject: id, detail: `keys: ${count}` };
    await recordAudit({ database: inner, newId, door: "operator" }, "revokeKeys", note, NOBODY);
    return { email, revoked: count };
  });
}

async function revoke(services: Pick<Services, "database" | "now">, userId: string, keyId?: string): Promise<number> {
  const { database, now } = services;
  const { apiKey } = database.models;
  if (keyId === undefined) {
    const { count } = await apiKey.updateMany({ where: { userId, revokedAt: null }, data: { revokedAt: now() } });
    return count;
  }
  const key = await apiKey.findFirst({ where: { id: keyId, userId } });
  if (!key) throw new UserError(`This user has no key with the id ${keyId}.`);
  return (await revokeWithDescendants(services, key)).length;
}

/** @throws UserError for the owner of a team, and when there is no such user. */
export async function deleteUserOf({ database, newId }: Services, address: string): Promise<User> {
  const user = await readUser(database, address);
  try {
    const context = { database, newId, door: "operator" } as const;
    await deleteUser(context, user.id, { action: "deleteUser", actor: NOBODY, isTold: false });
  } catch (error) {
    if (error instanceof Unauthorized) throw new NoSuchUser(address);
    if (!(error instanceof OwnerMustTransfer)) throw error;
    throw new UserError(
      `${user.email} owns a team. The owner must first transfer it to another member, or delete it. If they cannot, do ` +
        "that with a key of theirs, which `npm run user -- key` makes.",
    );
  }
  return user;
}

/**
 * Forgets the address of somebody who has no account, but was invited or began to sign up: invitations, codes, mails
 * that wait, except notices, and the address in the audit.
 * @returns how many invitations were deleted, and the ids of users whose address it was: their audit keeps it.
 * @throws UserError for the address of a user.
 */
export async function forgetAddress({ database, newId }: Services, address: string): Promise<ForgottenAddress> {
  const email = normalEmail(address) ?? "";
  return database.transaction(async (inner) => {
    if ((await inner.models.user.count({ where: { email } })) > 0)
      throw new UserError(`${email} is the address of a user. \`npm run user -- delete\` forgets it with the user.`);
    const invitations = await inner.models.invitation.count({ where: { email } });
    const changes = await inner.models.auditEntry.findMany({
      where: { action: "changeEmail", detail: email },
      select: { subject: true },
      distinct: ["subject"],
    });
    await forgetAddresses(inner, [{ email, until: STILL }]);
    const note = { teamId: null, subject: null };
    await recordAudit({ database: inner, newId, door: "operator" }, "forgetAddress", note, NOBODY);
    return { invitations, earlierOf: changes.flatMap(({ subject }) => subject ?? []) };
  });
}

interface ForgottenAddress {
  readonly invitations: number;
  readonly earlierOf: readonly string[];
}

const MAILS_SHOWN_MAX = 100;

/** What operators see of a user: the size of the stored data, but not the data; keys, but not their secrets. */
export interface ShownUser extends User {
  readonly keys: number;
  /** When a request had the user's key last; null if none had one that is still known. */
  readonly lastUsedAt: Date | null;
  /** The keys that work, the latest first. */
  readonly activeKeys: ReadonlyArray<Pick<ApiKey, "id" | "prefix" | "name" | "client" | "lastUsedAt" | "expiresAt">>;
  /** Mails to the user that wait, the oldest first, at most `MAILS_SHOWN_MAX`, and how many there are. */
  readonly mails: ReadonlyArray<Pick<Mail, "id" | "kind" | "attempts" | "lastError" | "createdAt">>;
  readonly mailsTotal: number;
  readonly team: { readonly id: string; readonly name: string; readonly role: string } | null;
  readonly memories: number;
  readonly bytes: number;
}

/**
 * @param which the user's address or id
 * @throws UserError when no user has it.
 */
export async function showUser({ database, now }: Services, which: string): Promise<ShownUser> {
  const { models } = database;
  const user = await readUser(database, which);
  const active = { userId: user.id, ...notEnded(now()) };
  const [activeKeys, used, mails, mailsTotal, membership, graph] = await Promise.all([
    models.apiKey.findMany({
      where: active,
      select: { id: true, prefix: true, name: true, client: true, lastUsedAt: true, expiresAt: true },
      orderBy: { id: "desc" },
    }),
    models.apiKey.aggregate({ where: { userId: user.id }, _max: { lastUsedAt: true } }),
    models.mail.findMany({
      where: { email: user.email },
      select: { id: true, kind: true, attempts: true, lastError: true, createdAt: true },
      orderBy: { createdAt: "asc" },
      take: MAILS_SHOWN_MAX,
    }),
    models.mail.count({ where: { email: user.email } }),
    models.teamMember.findUnique({ where: { userId: user.id }, include: { team: true } }),
    models.graph.findUnique({ where: { userId: user.id } }),
  ]);
  const usage = graph && (await models.graphUsage.findUnique({ where: { graphId: graph.id } }));
  const team = membership && { id: membership.teamId, name: membership.team.name, role: membership.role };
  const lastUsedAt = used._max.lastUsedAt;
  return {
    ...user,
    keys: activeKeys.length,
    activeKeys,
    lastUsedAt,
    mails,
    mailsTotal,
    team,
    memories: usage?.memories ?? 0,
    bytes: Number(usage?.bytes ?? 0),
  };
}
