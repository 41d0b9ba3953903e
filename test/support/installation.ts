import { tablesOf } from "./tables.js";
import type { World } from "./world.js";

/** Tables that have no row for each user or team, and why. */
const SMALL: Readonly<Record<string, string>> = {
  embedding_model: "A row for each model.",
  lexicon_look: "A row for each graph that is being looked at.",
};

/**
 * Fills every table with at least this many rows, of as many users, teams and graphs. No background job has anything to
 * do with them. Returns the tables that have fewer rows.
 */
export async function fillInstallation({ database: { pool } }: World, count: number): Promise<string[]> {
  // One implicit transaction: a team and its owner refer to each other.
  await pool.query(STATEMENTS.replaceAll(":count", String(count)));
  const counts = (await tablesOf(pool)).map((name) => `SELECT '${name}' AS name, count(*)::int AS count FROM ${name}`);
  const { rows } = await pool.query<{ name: string; count: number }>(counts.join(" UNION ALL "));
  return rows.filter((table) => table.count < count && !(table.name in SMALL)).map(({ name }) => name);
}

const N = "generate_series(1, :count) AS n";
const ID = "('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid";
const HASH = "sha256(n::text::bytea)";
const EMAIL = "n || '@many.example.com'";
/** Graphs of teams, and second memories. */
const OTHER_ID = "('00000000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid";

const STATEMENTS = `
  INSERT INTO user_account (id, email) SELECT ${ID}, ${EMAIL} FROM ${N};
  INSERT INTO api_key (id, user_id, name, prefix, hash, scopes) SELECT ${ID}, ${ID}, 'Key', '', ${HASH}, '{}' FROM ${N};
  INSERT INTO team (id, name, owner_id, max_members) SELECT ${ID}, 'Team', ${ID}, 5 FROM ${N};
  INSERT INTO team_member (user_id, team_id, role) SELECT ${ID}, ${ID}, 'owner' FROM ${N};
  INSERT INTO graph (id, user_id) SELECT ${ID}, ${ID} FROM ${N};
  INSERT INTO graph (id, team_id) SELECT ${OTHER_ID}, ${ID} FROM ${N};
  INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
    SELECT ${ID}, memory_id, 'general', 'A note', 'Something.', '{}', ${ID}, now(), ${ID}, now()
    FROM ${N}, unnest(ARRAY[${ID}, ${OTHER_ID}]) AS memory_id;
  INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, tags, importance, changed_by, changed_at)
    SELECT graph_id, id, 1, type, title, content, tags, importance, updated_by, updated_at FROM memory;
  INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
    SELECT ${ID}, ${ID}, ${ID}, ${OTHER_ID}, 'RELATED_TO', ${ID}, now() FROM ${N};
  INSERT INTO lexicon (graph_id, word) SELECT ${ID}, word FROM ${N}, unnest('{one,two}'::text[]) AS word;
  INSERT INTO embedding_due (graph_id, memory_id, due_at) SELECT ${ID}, ${ID}, now() + interval '1 day' FROM ${N};
  INSERT INTO graph_vectors (graph_id) SELECT ${ID} FROM ${N};
  INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
    SELECT ${ID}, ${ID}, 'another', 0, 1, 1, 1, '' FROM ${N};
  INSERT INTO invitation (id, team_id, email, role, invited_by, expires_at)
    SELECT ${ID}, ${ID}, 'to' || ${EMAIL}, 'member', ${ID}, now() + interval '1 day' FROM ${N};
  INSERT INTO invitation_token (hash, invitation_id) SELECT ${HASH}, ${ID} FROM ${N};
  INSERT INTO invitation_allowance (subject, sent_at, last_sent_at) SELECT ${HASH}, ARRAY[now()], now() FROM ${N};
  INSERT INTO sign_up_code (mail_id, email, hash, long_hash, expires_at)
    SELECT ${ID}, ${EMAIL}, ${HASH}, ${HASH}, now() + interval '1 day' FROM ${N};
  INSERT INTO mail (id, kind, email, invitation_id, due_at)
    SELECT ${ID}, 'invitation', 'to' || ${EMAIL}, ${ID}, now() + interval '1 hour' FROM ${N};
  INSERT INTO audit_entry (id, door, action) SELECT ${ID}, 'operator', 'setPlan' FROM ${N};
  INSERT INTO billing_account (team_id, customer_id, mirrored_at, checked_at)
    SELECT ${ID}, 'many_' || n, now(), now() FROM ${N};
  INSERT INTO billing_operation (id, team_id, kind, request, door, outcome, ended_at)
    SELECT ${ID}, ${ID}, 'customer', '{}', 'rest', 'done', now() FROM ${N};
  INSERT INTO payment_event (id, type, processed_at) SELECT 'many_' || n, 'invoice.paid', now() FROM ${N};
  INSERT INTO idempotent_result (user_id, key_hash, part, fingerprint, result)
    SELECT ${ID}, ${HASH}, '', ${HASH}, '' FROM ${N};
  INSERT INTO oauth_record (kind, hash, payload, key_id, expires_at)
    SELECT 'Grant', ${HASH}, '{}', ${ID}, now() + interval '1 day' FROM ${N};`;
