import type { Retention } from "../../config.js";
import type { Services } from "../../operation/context.js";
import type { Chore } from "../../platform/chores.js";
import { forgetEndedKeys } from "./key-lineage.js";
import { forgetEndedCodes } from "./sign-up-code.js";

export const accessChores = ({ database }: Services, { keysDays }: Retention): Chore[] => [
  { name: "forget sign-up codes", intervalMs: 60_000, run: () => forgetEndedCodes(database) },
  { name: "forget ended keys", intervalMs: 60_000, run: () => forgetEndedKeys(database, keysDays) },
];
