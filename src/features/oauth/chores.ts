import type { Services } from "../../operation/context.js";
import { forget } from "../../operation/retention.js";
import type { Chore } from "../../platform/chores.js";
import { forgetRecords } from "./forget-statement.js";

export const oauthChores = ({ database }: Services): Chore[] => [
  { name: "forget OAuth records", intervalMs: 60_000, run: () => forget(database, forgetRecords) },
];
