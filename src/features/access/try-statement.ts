import { LIMITS } from "../../limits.js";
import { defineStatement } from "../../platform/statement.js";

const { triesPerCode, triesPerNetwork } = LIMITS.signUp;

/**
 * SQL, because no model can count within a list. A correct code counts as an attempt, too, so that many requests at the
 * same time cannot make more attempts than allowed.
 */
export const takeTry = defineStatement({
  name: "take_sign_up_try",
  values: { email: "text", hash: "bytea", asker: "text" },
  row: { isRight: "bool" },
  // Locked in one order, so that attempts at the same time cannot deadlock.
  text: `
    WITH open AS (
      SELECT mail_id FROM sign_up_code WHERE email = :email AND expires_at > now() ORDER BY mail_id FOR UPDATE
    )
    UPDATE sign_up_code c SET tried_by = array_append(c.tried_by, :asker) FROM open
    WHERE c.mail_id = open.mail_id AND cardinality(c.tried_by) < ${triesPerCode}
      AND cardinality(array_positions(c.tried_by, :asker)) < ${triesPerNetwork}
    RETURNING c.hash = :hash AS "isRight"`,
});
