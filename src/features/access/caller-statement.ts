import type { Plan, TeamRole } from "../../operation/context.js";
import type { Scope } from "../../operation/permission.js";
import { type RowOf, defineStatement, listOf, oneOf } from "../../platform/database/statement.js";

/** The same rule as `givesPlan` in billing. */
const TEAM_PAYS = "(b.status IN ('active', 'trialing') OR b.status = 'past_due' AND b.grace_until > now())";

/**
 * SQL, because every request runs it, and because it uses the reserved connections, which models do not. `(SELECT …)`
 * hides the number of keys from the planner: otherwise, with many users, PostgreSQL makes a new plan for each request,
 * which takes 1 to 3 ms.
 */
export const callersByKeys = defineStatement({
  name: "callers_by_keys",
  reserved: true,
  values: { hashes: "bytea[]" },
  row: {
    hash: "bytea",
    keyId: "uuid",
    scopes: listOf<Scope>(),
    userId: "uuid",
    personalGraphId: "uuid",
    plan: oneOf<Plan>(),
    isSuspended: "bool",
    email: "text",
    emailIsVerified: "bool",
    // Null without a team, as are the next three, which are only read with it.
    teamId: "uuid?",
    role: oneOf<TeamRole>(),
    teamGraphId: "uuid",
    teamPlan: oneOf<Plan>(),
    // The time now, if the last recorded use of the key is more than a minute old; otherwise null.
    useToNote: "timestamptz?",
  },
  text: `
    SELECT k.hash, k.id AS "keyId", k.scopes, u.id AS "userId", g.id AS "personalGraphId",
      CASE WHEN ${TEAM_PAYS} THEN 'team' ELSE u.plan::text END AS plan,
      u.suspended_at IS NOT NULL AS "isSuspended", u.email, u.email_verified_at IS NOT NULL AS "emailIsVerified",
      m.team_id AS "teamId", m.role::text AS role, t.id AS "teamGraphId",
      CASE WHEN ${TEAM_PAYS} THEN 'team' ELSE o.plan::text END AS "teamPlan",
      CASE WHEN coalesce(k.last_used_at < now() - interval '1 minute', true) THEN now() END AS "useToNote"
    FROM api_key k JOIN user_account u ON u.id = k.user_id JOIN graph g ON g.user_id = u.id
      LEFT JOIN team_member m ON m.user_id = u.id LEFT JOIN graph t ON t.team_id = m.team_id
      LEFT JOIN billing_account b ON b.team_id = m.team_id
      LEFT JOIN team_member w ON w.team_id = m.team_id AND w.role = 'owner'
      LEFT JOIN user_account o ON o.id = w.user_id
    WHERE k.hash = ANY((SELECT :hashes)::bytea[])
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
});

export type CallerRow = RowOf<typeof callersByKeys>;
