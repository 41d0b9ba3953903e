import type { Caller, CallersTeam } from "../../operation/context.js";
import { AccountSuspended, Unauthorized } from "../../operation/failure.js";
import { type CallerRow, callerByKey } from "./caller-statement.js";
import { hashApiKey } from "./key-text.js";
import type { Database } from "../../platform/database.js";

/**
 * Whom the key in an Authorization header stands for. Read from the database each time, so a revocation counts from
 * the next request on.
 * @throws Unauthorized alike for a key that is missing, malformed, unknown, expired or revoked: each is hashed and
 * looked up, so they cannot be told apart by time either. AccountSuspended for a right key of a suspended user.
 */
export async function callerOf(authorization: string | undefined, database: Database): Promise<Caller> {
  const hash = hashApiKey(bearerToken(authorization));
  const row = await lookUp(database, hash);
  if (!row) throw new Unauthorized();
  if (row.isSuspended) throw new AccountSuspended();
  if (row.useToNote) noteUse(database, row.keyId, row.useToNote);
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

/** The look-up of a key that is under way, and the one that follows it. */
interface LookUps {
  running: Promise<CallerRow | undefined>;
  next?: Promise<CallerRow | undefined> | undefined;
}

const lookUpsOf = new WeakMap<Database, Map<string, LookUps>>();

/**
 * Requests that come while their key is being looked up share the next look-up. It begins after they came, so none gets
 * an outdated answer. One key uses one connection, however many requests it sends at once.
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
  // When the running one fails, those that wait fail with it: another try would most likely fail too, and later.
  if (busy) return (busy.next ??= busy.running.then(begin).finally(end));
  const running = begin().finally(end);
  known.set(name, { running });
  return running;
}

const beingNoted = new Set<string>();

/** In the background: no request waits for it or fails with it. One a key at a time, however long the row is locked. */
function noteUse({ models }: Database, id: string, usedAt: Date): void {
  if (beingNoted.has(id)) return;
  beingNoted.add(id);
  const noted = () => void beingNoted.delete(id);
  const aMinuteBefore = new Date(usedAt.getTime() - 60_000);
  const where = { id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: aMinuteBefore } }] };
  models.apiKey.updateMany({ where, data: { lastUsedAt: usedAt } }).then(noted, noted);
}

function teamOf({ teamId: id, role, teamGraphId: graphId, teamPlan: plan }: CallerRow): CallersTeam | null {
  return id === null ? null : { id, role, graphId, plan };
}

/** RFC 9110: the scheme's case does not matter. What is no bearer token is read as an empty one, which nobody has. */
const bearerToken = (header: string | undefined): string => /^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";
