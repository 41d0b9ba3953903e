-- Locks an Idempotency-Key until the end of the transaction, then reads the results stored under it: a row with
-- `locked` false when another transaction holds the key. Each statement of a function sees what was committed before it,
-- so what the previous holder stored is seen.
CREATE FUNCTION lock_results(p_number bigint, p_user_id uuid, p_key_hash bytea, p_kept_hours integer)
RETURNS TABLE (locked boolean, part text, fingerprint bytea, result bytea) LANGUAGE plpgsql AS $$
BEGIN
  IF pg_try_advisory_xact_lock(p_number) THEN
    RETURN QUERY SELECT true, r.part, r.fingerprint, r.result FROM idempotent_result r
    WHERE r.user_id = p_user_id AND r.key_hash = p_key_hash AND r.created_at > now() - make_interval(hours => p_kept_hours);
  ELSE
    RETURN QUERY SELECT false, '', ''::bytea, ''::bytea;
  END IF;
END $$;
