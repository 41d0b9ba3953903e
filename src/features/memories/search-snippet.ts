import type { Finder, Occurrence } from "./search-occurrences.js";

/** UTF-16 units of a snippet, its ellipses among them. */
export const SNIPPET_MAX = 300;
/** How much of what stands before the first match is shown. */
const LEAD = 60;
/** How far a cut is moved to come to the end of a word; in scripts without spaces it stays. */
const WORD_MAX = 40;
const ELLIPSIS = "…";
/** Runs of spaces are shown as one, so more than a snippet's length is read: no more than this. */
const READ_MAX = 4 * SNIPPET_MAX;
/** Marks, the second half of a character, what joins characters to one, skin tones. */
const CONTINUES = /^(?:[\p{M}\p{Cs}\p{Emoji_Modifier}]|\u200d)/u;
const FLAG_HALF = /^[\u{1f1e6}-\u{1f1ff}]/u;
const JOINER = "\u200d";
/** Longer than any character that is not made to be long. */
const CLUSTER_MAX = 200;

/** What a hit says, as far as it was read. */
export interface HitText {
  readonly text: string;
  /** Whether the content goes on behind the text. */
  readonly goesOn: boolean;
  readonly summary: string | null;
}

/**
 * The part of a hit's content, else of its summary, that has the most of what was looked for; the beginning of the
 * content where neither has any. In one line, at most `SNIPPET_MAX` units long, cut between words.
 */
export function snippetOf({ text, goesOn, summary }: HitText, find: Finder): string {
  const inText = bestOf(find(text));
  if (inText !== undefined) return cutAround(text, inText, goesOn);
  const inSummary = summary === null ? undefined : bestOf(find(summary));
  if (summary !== null && inSummary !== undefined) return cutAround(summary, inSummary, false);
  return cutAround(text, 0, goesOn);
}

/** Where the first of the snippets begins that have the most, by what each concept tells. */
function bestOf(found: readonly Occurrence[]): number | undefined {
  let [best, most] = [found[0]?.at, 0];
  for (const [index, { at }] of found.entries()) {
    const within = new Set<Occurrence["concept"]>();
    for (let next = index; next < found.length; next++) {
      const other = found[next];
      if (!other || other.at > at + SNIPPET_MAX - LEAD - WORD_MAX) break;
      within.add(other.concept);
    }
    const told = [...within].reduce((sum, { weight }) => sum + weight, 0);
    if (told > most) [best, most] = [at, told];
  }
  return best;
}

/** The text around a place. `goesOn` says that there is more behind its end. */
function cutAround(text: string, at: number, goesOn: boolean): string {
  const start = startBefore(text, at);
  const head = start > 0 ? ELLIPSIS : "";
  const read = text
    .slice(start, wholeUntil(text, start + READ_MAX))
    .replace(/\s+/gu, " ")
    .trim();
  const isAll = start + READ_MAX >= text.length && !goesOn;
  if (isAll && head.length + read.length <= SNIPPET_MAX) return head + read;
  const end = wholeUntil(read, SNIPPET_MAX - head.length - ELLIPSIS.length);
  const space = end < read.length ? read.lastIndexOf(" ", end) : end;
  const cut = read.slice(0, space > end - WORD_MAX && space > 0 ? space : end).trimEnd();
  return head + cut + ELLIPSIS;
}

/** Where a word begins, not long before the place; the beginning of the text where that is near. */
function startBefore(text: string, at: number): number {
  const wanted = at - LEAD;
  if (wanted <= 0) return 0;
  const gap = /\s+/u.exec(text.slice(wanted, at));
  return gap ? wanted + gap.index + gap[0].length : wholeUntil(text, wanted);
}

/** The last place up to here that is not within one character as people see it. */
function wholeUntil(text: string, end: number): number {
  if (end >= text.length) return text.length;
  let place = end;
  while (place > 0 && end - place < CLUSTER_MAX && isWithin(text, place)) place--;
  return isWithinFlag(text, place) ? place - 2 : place;
}

const isWithin = (text: string, place: number): boolean =>
  CONTINUES.test(text.slice(place, place + 2)) || text.charAt(place - 1) === JOINER;

/** A flag is two letters, so it depends on how many stand before. */
function isWithinFlag(text: string, place: number): boolean {
  let first = place;
  while (first >= 2 && FLAG_HALF.test(text.slice(first - 2, first))) first -= 2;
  return FLAG_HALF.test(text.slice(place, place + 2)) && ((place - first) / 2) % 2 === 1;
}
