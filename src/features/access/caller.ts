import type { Caller, CallersTeam, Services } from "../../operation/context.js";
import { AccountSuspended, Unauthorized } from "../../operation/failure.js";
import { type CallerRow, callerByKey } from "./caller-statement.js";
import { hashApiKey } from "./key-text.js";
import type { Database } from "../../platform/database.js";

/**
 * The user of the key in an Authorization header. Read from the database each time, so a revocation counts from the
 * next request.
 * @throws Unauthorized for a key that is missing, malformed, unknown, expired or revoked. Each is hashed and looked up,
 * so the time does not differ either. AccountSuspended for a valid key of a suspended user.
 */
export const callerOf = (authorization: string | undefined, database: Database): Promise<Caller> =>
  callerWithKey(hashApiKey(bearerToken(authorization)), database);

/**
 * The same by an access token that was issued for this audience: it acts as the key of its grant, within its own scopes.
 * A key is not understood here, nor a token by `callerOf`.
 */
export async function callerOfToken(
  authorization: string | undefined,
  audience: string,
  { database, now }: Pick<Services, "database" | "now">,
): Promise<Caller> {
  const hash = new Uint8Array(hashApiKey(bearerToken(authorization)));
  const token = await database.models.oAuthRecord.findUnique({
    where: { kind_hash: { kind: "AccessToken", hash }, expiresAt: { gt: now() } },
    select: { payload: true, key: { select: { hash: true } } },
  });
  // The authorization server wrote it.
  const { aud, scope } = (token?.payload ?? {}) as { readonly aud?: string; readonly scope?: string };
  if (!token?.key || aud !== audience) throw new Unauthorized();
  const caller = await callerWithKey(Buffer.from(token.key.hash), database);
  const scopes = new Set((scope ?? "").split(" "));
  return { ...caller, scopes: new Set([...caller.scopes].filter((held) => scopes.has(held))) };
}

async function callerWithKey(hash: Buffer, database: Database): Promise<Caller> {
  const row = await lookUp(database, hash);
  if (!row) throw new Unauthorized();
  if (row.isSuspended) throw new AccountSuspended();
  if (row.useToNote) recordUse(database, row.keyId, row.useToNote);
  return {
    userId: row.userId,
    email: row.email,
    emailIsVerified: row.emailIsVerified,
    keyId: row.keyId,
    plan: row.plan,
    scopes: new Set(row.scopes),
    personalGraphId: row.personalGraphId,
    team: teamOf(row),
  };
}

/** The running look-up of a key, and the next one. */
interface LookUps {
  running: Promise<CallerRow | undefined>;
  next?: Promise<CallerRow | undefined> | undefined;
}

const lookUpsOf = new WeakMap<Database, Map<string, LookUps>>();

/**
 * Requests that arrive while their key is being looked up share the next look-up, which starts after they arrived, so
 * its result is not outdated. One key uses one connection, however many requests it sends at once.
 */
function lookUp(database: Database, hash: Buffer): Promise<CallerRow | undefined> {
  const known = lookUpsOf.get(database) ?? new Map<string, LookUps>();
  lookUpsOf.set(database, known);
  const name = hash.toString("latin1");
  const begin = async (): Promise<CallerRow | undefined> => {
    const [row] = await database.run(callerByKey, { hash });
    return row;
  };
  const end = (): void => {
    const ended = known.get(name);
    if (ended?.next) known.set(name, { running: ended.next });
    else known.delete(name);
  };
  const busy = known.get(name);
  // If the running one fails, the next one fails with it: another attempt would most likely fail too, only later.
  if (busy) return (busy.next ??= busy.running.then(begin).finally(end));
  const running = begin().finally(end);
  known.set(name, { running });
  return running;
}

const beingRecorded = new Set<string>();

/** Runs in the background: no request waits for it or fails with it. One at a time per key. */
function recordUse({ models }: Database, id: string, usedAt: Date): void {
  if (beingRecorded.has(id)) return;
  beingRecorded.add(id);
  const finish = () => void beingRecorded.delete(id);
  const aMinuteBefore = new Date(usedAt.getTime() - 60_000);
  const where = { id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: aMinuteBefore } }] };
  models.apiKey.updateMany({ where, data: { lastUsedAt: usedAt } }).then(finish, finish);
}

function teamOf({ teamId: id, role, teamGraphId: graphId, teamPlan: plan }: CallerRow): CallersTeam | null {
  return id === null ? null : { id, role, graphId, plan };
}

/** RFC 9110: the scheme is case-insensitive. Without a bearer token returns an empty one, which nobody has. */
const bearerToken = (header: string | undefined): string => /^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";
