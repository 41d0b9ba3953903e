import type { Context } from "../../operation/context.js";
import { Unauthorized } from "../../operation/failure.js";
import { HOURS_OF_DAY, forget } from "../../operation/retention.js";
import type { Database } from "../../platform/database.js";
import { notEnded } from "./api-key.js";
import { forgetKeys } from "./forget-statements.js";

/*
 * Which key comes from which. A key ends with the key that made it, so that revoking a stolen key also ends all keys
 * made with it; it has neither more scopes nor a later end than its maker. A key that is replaced hands over its place:
 * its successor comes from the same key, and what the old one made comes from the successor. Whoever changes any of it
 * holds the lock of the user, so a key cannot make another while it is being revoked.
 */

/** The end of the key in use, read while its user is locked. @throws Unauthorized when it has ended meanwhile. */
export async function endOfKeyInUse({ caller, database, now }: Context): Promise<Date | null> {
  const key = await database.models.apiKey.findUnique({ where: { id: caller.keyId } });
  if (!key || key.revokedAt || (key.expiresAt && key.expiresAt <= now())) throw new Unauthorized();
  return key.expiresAt;
}

/** The earlier of two ends; null is none. */
export const earlierEnd = (one: Date | null, other: Date | null): Date | null =>
  one && other ? (one < other ? one : other) : (one ?? other);

/** The key itself, the one that made it, the one that made that one, and so on. */
export async function lineageOf(context: Context, keyId: string): Promise<ReadonlySet<string>> {
  const makers = new Map((await liveKeys(context)).map(({ id, createdByKey }) => [id, createdByKey]));
  const lineage = new Set<string>();
  for (let id: string | null = keyId; id !== null && !lineage.has(id); id = makers.get(id) ?? null) lineage.add(id);
  return lineage;
}

/** The live keys that come from a key, and the key itself. A key that ended has none: they ended with it. */
async function withDescendants(context: Context, keyId: string): Promise<string[]> {
  const keys = await liveKeys(context);
  const ending = new Set([keyId]);
  // Grows while it is walked.
  for (const maker of ending) {
    for (const { id, createdByKey } of keys) if (createdByKey === maker) ending.add(id);
  }
  return [...ending];
}

/** Few enough to be read at once: `assertRoomForKey` says how many there may be. */
const liveKeys = ({ caller, database, now }: Context) =>
  database.models.apiKey.findMany({
    where: { userId: caller.userId, ...notEnded(now()) },
    select: { id: true, createdByKey: true },
  });

/** Revokes a key and all that come from it; answers with the ids of those that were not revoked before. */
export async function revokeWithDescendants(context: Context, keyId: string): Promise<readonly string[]> {
  const { database, now } = context;
  const revoked = await database.models.apiKey.updateManyAndReturn({
    where: { id: { in: await withDescendants(context, keyId) }, revokedAt: null },
    data: { revokedAt: now() },
    select: { id: true },
  });
  return revoked.map(({ id }) => id);
}

/** Lets a key end at this time at the latest, with all that come from it. */
export async function endWithDescendants(context: Context, keyId: string, end: Date): Promise<void> {
  const ids = await withDescendants(context, keyId);
  await context.database.models.apiKey.updateMany({
    where: { id: { in: ids }, OR: [{ expiresAt: null }, { expiresAt: { gt: end } }] },
    data: { expiresAt: end },
  });
}

/** Deletes a batch of keys that ended longer ago; answers with whether there may be more. */
export const forgetEndedKeys = (database: Database, keptDays: number): Promise<boolean> =>
  forget(database, forgetKeys, keptDays * HOURS_OF_DAY);
