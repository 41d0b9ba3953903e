import type { ImportedGraph } from "./graph.js";

/** The import cannot go on; the message says why and what to do next. */
export class ImportStopped extends Error {}

/** The same command would be refused again. */
export class RefusedAgain extends ImportStopped {}

/** The file cannot be restored whole, however often the command is run. */
export class UnfitExport extends RefusedAgain {}

const REASONS_SHOWN = 3;

/** Why nothing was found: the first of what was left out or skipped, each in a line of its own. */
export function showReasons({ notTaken, ignored }: Pick<ImportedGraph, "notTaken" | "ignored">): string {
  const all = [...notTaken, ...ignored].map(({ what, reason }) => `\n  ${what}: ${reason}`);
  const left = all.length - REASONS_SHOWN;
  return all.slice(0, REASONS_SHOWN).join("") + (left > 0 ? `\n  … and ${left} more` : "");
}

/** @throws ImportStopped for a key that no header can carry, such as one with a line break. */
export function assertKeyFits(key: string): void {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new ImportStopped(KEY_REFUSED);
}

/** The service's own message names the input and a route of REST. */
export const NO_TEAM = "You are in no team, so there is no team graph. Leave out --graph, or use --graph personal.";

export const TEAM_LEFT =
  "You have left the team into whose graph this went, or it was deleted. Another run imports all into your own graph.";

/** The command works on the database of the machine on which it runs. */
export const KEY_REFUSED =
  "The service does not accept this API key. Set MEMORY_GRAPH_KEY to a valid one. A sign-up gives another (`POST /signup` " +
  "there); so does `npm run user -- key --email <address>`, but only where the service itself runs.";
