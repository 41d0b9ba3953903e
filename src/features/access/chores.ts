import type { Retention } from "../../config.js";
import type { Services } from "../../operation/context.js";
import { HOURS_OF_DAY, forgetChore } from "../../operation/retention.js";
import type { Chore } from "../../platform/chores.js";
import { forgetCodes, forgetKeys } from "./forget-statements.js";

export const accessChores = ({ database }: Services, { keysDays }: Retention): Chore[] => [
  forgetChore(database, "sign-up codes", forgetCodes),
  forgetChore(database, "ended keys", forgetKeys, keysDays * HOURS_OF_DAY),
];
