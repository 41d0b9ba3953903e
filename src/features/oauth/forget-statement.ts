import { forgetStatement, isPast } from "../../operation/forget-statement.js";

export const forgetRecords = forgetStatement("oauth_record", isPast("expires_at"));
