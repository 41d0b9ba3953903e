import { BEFORE_COMMIT, defineStatement } from "../platform/database/statement.js";
import { forgetOldest } from "./forget-statement.js";

/**
 * Locks a key and reads its results; one row with `locked` false while another transaction holds it. SQL, because no
 * model takes an advisory lock.
 */
export const lockResults = defineStatement({
  name: "idempotency_lock_results",
  values: { number: "int8", userId: "uuid", keyHash: "bytea", keptHours: "int4" },
  row: { locked: "bool", part: "text", fingerprint: "bytea", result: "bytea" },
  text: "SELECT locked, part, fingerprint, result FROM lock_results(:number, :userId, :keyHash, :keptHours)",
});

/**
 * SQL, because it runs for every creation with an Idempotency-Key, and because no model can replace a row only if it is
 * old.
 */
export const keepResult = defineStatement({
  name: "idempotency_keep_result",
  values: { userId: "uuid", keyHash: "bytea", part: "text", fingerprint: "bytea", result: "bytea", keptHours: "int4" },
  row: {},
  text: `${BEFORE_COMMIT}
    INSERT INTO idempotent_result (user_id, key_hash, part, fingerprint, result)
    VALUES (:userId, :keyHash, :part, :fingerprint, :result)
    ON CONFLICT (user_id, key_hash, part) DO UPDATE
      SET fingerprint = excluded.fingerprint, result = excluded.result, created_at = now()
      WHERE idempotent_result.created_at <= now() - make_interval(hours => :keptHours)`,
});

export const forgetResults = forgetOldest("idempotent_result", "created_at");
