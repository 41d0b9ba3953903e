import type { Caller, CallersTeam, Plan, TeamRole } from "../../operation/context.js";
import { AccountSuspended, Unauthorized } from "../../operation/failure.js";
import type { Scope } from "../../operation/permission.js";
import { hashApiKey } from "./key-text.js";
import type { Database, Statement } from "../../platform/database.js";

interface CallerRow {
  readonly key_id: string;
  readonly user_id: string;
  readonly scopes: Scope[];
  readonly plan: Plan;
  readonly email: string;
  readonly email_is_verified: boolean;
  readonly personal_graph_id: string;
  readonly team_id: string | null;
  readonly role: TeamRole;
  readonly team_graph_id: string;
  readonly team_plan: Plan;
  readonly is_suspended: boolean;
  readonly use_is_stale: boolean;
}

const callerByKey: Statement = {
  name: "caller_by_key",
  reserved: true,
  text: `
    SELECT k.id AS key_id, k.scopes, u.id AS user_id, g.id AS personal_graph_id,
      CASE WHEN b.status IN ('active', 'trialing') THEN 'team' ELSE u.plan::text END AS plan,
      u.suspended_at IS NOT NULL AS is_suspended, u.email, u.email_verified_at IS NOT NULL AS email_is_verified,
      m.team_id, m.role::text AS role, t.id AS team_graph_id,
      CASE WHEN b.status IN ('active', 'trialing') THEN 'team' ELSE o.plan::text END AS team_plan,
      coalesce(k.last_used_at < now() - interval '1 minute', true) AS use_is_stale
    FROM api_key k JOIN user_account u ON u.id = k.user_id JOIN graph g ON g.user_id = u.id
      LEFT JOIN team_member m ON m.user_id = u.id LEFT JOIN graph t ON t.team_id = m.team_id
      LEFT JOIN billing_account b ON b.team_id = m.team_id
      LEFT JOIN team_member w ON w.team_id = m.team_id AND w.role = 'owner'
      LEFT JOIN user_account o ON o.id = w.user_id
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
};

const markKeyUsed: Statement = {
  name: "mark_key_used",
  text: `
    UPDATE api_key SET last_used_at = now()
    WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
};

/**
 * Whom the key in an Authorization header stands for. Read from the database each time, so a revocation counts from the next request on.
 * @throws Unauthorized alike for a key that is missing, malformed, unknown, expired or revoked: each is hashed and
 * looked up, so they cannot be told apart by time either. AccountSuspended for a right key of a suspended user.
 */
export async function callerOf(authorization: string | undefined, database: Database): Promise<Caller> {
  const hash = hashApiKey(bearerToken(authorization));
  const row = await lookUp(database, hash);
  if (!row) throw new Unauthorized();
  if (row.is_suspended) throw new AccountSuspended();
  if (row.use_is_stale) noteUse(database, row.key_id);
  return {
    userId: row.user_id,
    email: row.email,
    emailIsVerified: row.email_is_verified,
    keyId: row.key_id,
    plan: row.plan,
    scopes: new Set(row.scopes),
    personalGraphId: row.personal_graph_id,
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
    const [row] = await database.run<CallerRow>(callerByKey, [hash]);
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
function noteUse(database: Database, keyId: string): void {
  if (beingNoted.has(keyId)) return;
  beingNoted.add(keyId);
  const noted = () => void beingNoted.delete(keyId);
  database.run(markKeyUsed, [keyId]).then(noted, noted);
}

function teamOf({ team_id: id, role, team_graph_id: graphId, team_plan: plan }: CallerRow): CallersTeam | null {
  return id === null ? null : { id, role, graphId, plan };
}

/** RFC 9110: the scheme's case does not matter. What is no bearer token is read as an empty one, which nobody has. */
const bearerToken = (header: string | undefined): string => /^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";
