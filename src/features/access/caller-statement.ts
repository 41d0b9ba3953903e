import type { Statement } from "../../platform/database.js";

/** SQL, because it is the hottest of all: every request asks it. On the reserved connections, which no model uses. */
export const callerByKey: Statement = {
  name: "caller_by_key",
  reserved: true,
  text: `
    SELECT k.id AS key_id, k.scopes, u.id AS user_id, g.id AS personal_graph_id,
      CASE WHEN b.status IN ('active', 'trialing') THEN 'team' ELSE u.plan::text END AS plan,
      u.suspended_at IS NOT NULL AS is_suspended, u.email, u.email_verified_at IS NOT NULL AS email_is_verified,
      m.team_id, m.role::text AS role, t.id AS team_graph_id,
      CASE WHEN b.status IN ('active', 'trialing') THEN 'team' ELSE o.plan::text END AS team_plan,
      CASE WHEN coalesce(k.last_used_at < now() - interval '1 minute', true) THEN now() END AS use_to_note
    FROM api_key k JOIN user_account u ON u.id = k.user_id JOIN graph g ON g.user_id = u.id
      LEFT JOIN team_member m ON m.user_id = u.id LEFT JOIN graph t ON t.team_id = m.team_id
      LEFT JOIN billing_account b ON b.team_id = m.team_id
      LEFT JOIN team_member w ON w.team_id = m.team_id AND w.role = 'owner'
      LEFT JOIN user_account o ON o.id = w.user_id
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
};
