import type { Services } from "../../operation/context.js";
import { forgetChore } from "../../operation/retention.js";
import type { Chore } from "../../platform/chores.js";
import { forgetRecords } from "./forget-statement.js";

export const oauthChores = ({ database }: Services): Chore[] => [forgetChore(database, "OAuth records", forgetRecords)];
