import { ConfigError } from "../variables.js";
import { UserError } from "../features/access/index.js";
import { ImportStopped } from "../import/import-stopped.js";
import { printable, printableLines } from "../import/text.js";
import { StartError, explainSystem } from "../platform/start-error.js";

/** The arguments are wrong, which could only be found at run time. Nothing was done. */
export class WrongUse extends Error {}

const WITHOUT_STACK = [ConfigError, StartError, UserError, WrongUse, ImportStopped];
const MESSAGE_MAX = 500;

const isKnown = (error: unknown): error is Error => WITHOUT_STACK.some((known) => error instanceof known);

/** What to print for an error: a sentence if the operator can fix it, otherwise the full error to find the bug. */
export const forOperator = (error: unknown): unknown =>
  isKnown(error) ? error.message : (explainSystem(error) ?? error);

/** The same for commands, always as a sentence. For a bug, the sentence ends with the place in the code. */
export function sentenceFor(error: unknown): string {
  const sentence = forOperator(error);
  if (typeof sentence === "string") return printableLines(sentence);
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const place = /\n\s+at (.*)/.exec(stack ?? "")?.[1];
  const text = printable(message.trim().replaceAll(/\s+/g, " ")).slice(0, MESSAGE_MAX);
  return `Unexpected ${name}: ${text}${place ? ` (at ${place})` : ""}`;
}
