import { ConfigError } from "../config.js";
import { UserError } from "../features/access/index.js";
import { ImportStopped } from "../import/import-stopped.js";
import { StartError, explainSystem } from "../platform/start-error.js";

/** Something is missing on the command line that only the work itself could tell; nothing was done. */
export class WrongUse extends Error {}

const WITHOUT_STACK = [ConfigError, StartError, UserError, WrongUse, ImportStopped];
const MESSAGE_MAX = 500;

const isKnown = (error: unknown): error is Error => WITHOUT_STACK.some((known) => error instanceof known);

/** What to print of an error: a sentence where the operator can put it right, else all that helps to find the bug. */
export const forOperator = (error: unknown): unknown =>
  isKnown(error) ? error.message : (explainSystem(error) ?? error);

/** The same for commands, always as a sentence: what is not known ends with the place to look for the bug. */
export function sentenceFor(error: unknown): string {
  const sentence = forOperator(error);
  if (typeof sentence === "string") return sentence;
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const place = /\n\s+at (.*)/.exec(stack ?? "")?.[1];
  const text = message.trim().replaceAll(/\s+/g, " ").slice(0, MESSAGE_MAX);
  return `Unexpected ${name}: ${text}${place ? ` (at ${place})` : ""}`;
}
