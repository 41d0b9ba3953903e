import type { Context } from "../../operation/context.js";
import { Unauthorized } from "../../operation/failure.js";
import { forget, forgetStatement } from "../../operation/retention.js";
import type { Database, Statement } from "../../platform/database.js";

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

const lineage: Statement = {
  name: "key_lineage",
  text: `
    WITH RECURSIVE lineage AS (
      SELECT id, created_by_key FROM api_key WHERE id = $1::uuid
      UNION
      SELECT k.id, k.created_by_key FROM api_key k JOIN lineage l ON k.id = l.created_by_key
    )
    SELECT id FROM lineage`,
};

/** The key itself, the one that made it, the one that made that one, and so on. */
export async function lineageOf(database: Database, keyId: string): Promise<ReadonlySet<string>> {
  const keys = await database.run<{ id: string }>(lineage, [keyId]);
  return new Set(keys.map(({ id }) => id));
}

/** The live keys that come from a key, and the key itself. A key that ended has none: they ended with it. */
const WITH_DESCENDANTS = `
  WITH RECURSIVE ending AS (
    SELECT id FROM api_key WHERE user_id = $1::uuid AND id = $2::uuid
    UNION
    SELECT k.id FROM api_key k JOIN ending e ON k.created_by_key = e.id
    WHERE k.user_id = $1::uuid AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $3::timestamptz)
  )`;

const revoke: Statement = {
  name: "revoke_key_with_descendants",
  text: `${WITH_DESCENDANTS}
    UPDATE api_key SET revoked_at = $3::timestamptz
    WHERE id IN (SELECT id FROM ending) AND revoked_at IS NULL RETURNING id`,
};

/** Revokes a key and all that come from it; answers with the ids of those that were not revoked before. */
export async function revokeWithDescendants(
  { database, caller, now }: Context,
  keyId: string,
): Promise<readonly string[]> {
  const revoked = await database.run<{ id: string }>(revoke, [caller.userId, keyId, now().toISOString()]);
  return revoked.map(({ id }) => id);
}

const endBy: Statement = {
  name: "end_key_with_descendants",
  text: `${WITH_DESCENDANTS}
    UPDATE api_key SET expires_at = least(expires_at, $4::timestamptz) WHERE id IN (SELECT id FROM ending)
    RETURNING id`,
};

/** Lets a key end at this time at the latest, with all that come from it. */
export async function endWithDescendants({ database, caller, now }: Context, keyId: string, end: Date): Promise<void> {
  await database.run(endBy, [caller.userId, keyId, now().toISOString(), end.toISOString()]);
}

const forgetKeys = forgetStatement(
  "api_key",
  "least(revoked_at, expires_at) <= now() - make_interval(days => $1::int)",
);

/** Deletes a batch of keys that ended longer ago; answers with whether there may be more. */
export const forgetEndedKeys = (database: Database, keptDays: number): Promise<boolean> =>
  forget(database, forgetKeys, [keptDays]);
