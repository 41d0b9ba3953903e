import { forgetOldest } from "../../operation/forget-statement.js";

export const forgetRecords = forgetOldest("oauth_record", "expires_at");
