import { forgetStatement } from "../../operation/forget-statement.js";

export const forgetKeys = forgetStatement(
  "api_key",
  "least(revoked_at, expires_at) <= now() - make_interval(days => $1::int)",
);

export const forgetCodes = forgetStatement("sign_up_code", "expires_at <= now()");
