import { ConfigError } from "../config.js";
import { UserError } from "../features/access/index.js";
import { StartError } from "../platform/start-error.js";

const WITHOUT_STACK = [ConfigError, StartError, UserError];

/** What to print of an error: a sentence where the operator can put it right, else all that helps to find the bug. */
export const forOperator = (error: unknown): unknown =>
  WITHOUT_STACK.some((known) => error instanceof known) && error instanceof Error ? error.message : error;
