import { forgetStatement, isPast } from "../../operation/forget-statement.js";

export const forgetKeys = forgetStatement("api_key", isPast("least(revoked_at, expires_at)"));

export const forgetCodes = forgetStatement("sign_up_code", isPast("expires_at"));
