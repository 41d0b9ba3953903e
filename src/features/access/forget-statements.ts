import { forgetOldest } from "../../operation/forget-statement.js";

export const forgetKeys = forgetOldest("api_key", "least(revoked_at, expires_at)");

export const forgetCodes = forgetOldest("sign_up_code", "expires_at");
