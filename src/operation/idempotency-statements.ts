import type { Statement } from "../platform/database.js";
import { forgetStatement } from "./forget-statement.js";

/** SQL, because no model takes an advisory lock. */
export const tryLock: Statement = {
  name: "idempotency_try_lock",
  text: "SELECT pg_try_advisory_xact_lock($1::bigint) AS locked",
};

/** SQL, because it is hot: every creation under an Idempotency-Key asks it. */
export const resultsOfKey: Statement = {
  name: "idempotency_results_of_key",
  text: `
    SELECT part, fingerprint, result FROM idempotent_result
    WHERE user_id = $1::uuid AND key_hash = $2 AND created_at > now() - make_interval(hours => $3::int)`,
};

/** SQL, because it is hot, and because no model replaces a row only if it is old. */
export const keepResult: Statement = {
  name: "idempotency_keep_result",
  text: `
    INSERT INTO idempotent_result (user_id, key_hash, part, fingerprint, result) VALUES ($1::uuid, $2, $3, $4, $5)
    ON CONFLICT (user_id, key_hash, part) DO UPDATE
      SET fingerprint = excluded.fingerprint, result = excluded.result, created_at = now()
      WHERE idempotent_result.created_at <= now() - make_interval(hours => $6::int)`,
};

export const forgetResults = forgetStatement(
  "idempotent_result",
  "created_at <= now() - make_interval(hours => $1::int)",
);
