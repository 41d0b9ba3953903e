import type { Context, Services } from "../../operation/context.js";
import { Unauthorized } from "../../operation/failure.js";
import { notEnded } from "./api-key.js";

/*
 * Which key was created by which. A key ends with the key that created it, so that revoking a stolen key also ends all
 * keys created with it; it has neither more scopes nor a later end than its creator. A key that replaces another one
 * takes its place: it counts as created by the same key, and the keys that the old one created count as its own. Every
 * change holds the lock of the user, so a key cannot create another one while it is being revoked.
 */

type Reads = Pick<Services, "database" | "now">;

interface KeyOfUser {
  readonly id: string;
  readonly userId: string;
}

/** When the key in use expires. Read while its user is locked. @throws Unauthorized when it has ended meanwhile. */
export async function endOfKeyInUse({ caller, database, now }: Context): Promise<Date | null> {
  const key = await database.models.apiKey.findUnique({ where: { id: caller.keyId } });
  if (!key || key.revokedAt || (key.expiresAt && key.expiresAt <= now())) throw new Unauthorized();
  return key.expiresAt;
}

/** The earlier of two ends; null means no end. */
export function earlierEnd(one: Date | null, other: Date | null): Date | null {
  if (!one || !other) return one ?? other;
  return one < other ? one : other;
}

/** The key itself, its creator, the creator of that one, and so on. */
export async function lineageOf(context: Context, keyId: string): Promise<ReadonlySet<string>> {
  const makers = new Map(
    (await readActiveKeys(context, context.caller.userId)).map(({ id, createdByKey }) => [id, createdByKey]),
  );
  const lineage = new Set<string>();
  for (let id: string | null = keyId; id !== null && !lineage.has(id); id = makers.get(id) ?? null) lineage.add(id);
  return lineage;
}

/** The key itself and the active keys that descend from it. Descendants of an ended key ended with it. */
async function findDescendants(services: Reads, { userId, id: keyId }: KeyOfUser): Promise<string[]> {
  const keys = await readActiveKeys(services, userId);
  const ending = new Set([keyId]);
  // The set grows during the loop, which also visits added keys.
  for (const maker of ending) {
    for (const { id, createdByKey } of keys) if (createdByKey === maker) ending.add(id);
  }
  return [...ending];
}

/** Few enough to be read at once: `assertRoomForKey` limits their number. */
const readActiveKeys = ({ database, now }: Reads, userId: string) =>
  database.models.apiKey.findMany({
    where: { userId, ...notEnded(now()) },
    select: { id: true, createdByKey: true },
  });

/** Revokes a key and its descendants; returns the ids of those that were not revoked before. */
export async function revokeWithDescendants(services: Reads, key: KeyOfUser): Promise<readonly string[]> {
  const { database, now } = services;
  const revoked = await database.models.apiKey.updateManyAndReturn({
    where: { id: { in: await findDescendants(services, key) }, revokedAt: null },
    data: { revokedAt: now() },
    select: { id: true },
  });
  return revoked.map(({ id }) => id);
}

/** Makes a key and its descendants end at this time at the latest. */
export async function endWithDescendants(context: Context, keyId: string, end: Date): Promise<void> {
  const ids = await findDescendants(context, { userId: context.caller.userId, id: keyId });
  await context.database.models.apiKey.updateMany({
    where: { id: { in: ids }, OR: [{ expiresAt: null }, { expiresAt: { gt: end } }] },
    data: { expiresAt: end },
  });
}
