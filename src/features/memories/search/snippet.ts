import type { Finder, Occurrence } from "./occurrences.js";

/** UTF-16 units of a snippet, its ellipses among them. */
export const SNIPPET_MAX = 300;
/** How much of what stands before the first match is shown. */
const LEAD = 60;
/** How far a cut may move to reach the end of a word. In scripts without spaces it does not move. */
const WORD_MAX = 40;
const ELLIPSIS = "…";
/** Units of a text that are read for a snippet: more than its length, since runs of spaces are shown as one. */
const READ_MAX = 4 * SNIPPET_MAX;
/** What continues a visible character: marks, second halves of surrogate pairs, joiners, skin tones. */
const CONTINUES = /^(?:[\p{M}\p{Cs}\p{Emoji_Modifier}]|\u200d)/u;
const FLAG_HALF = /^[\u{1f1e6}-\u{1f1ff}]/u;
const JOINER = "\u200d";
/** Units of the longest visible character that is kept whole; only one made to be long is longer. */
const CLUSTER_MAX = 200;

/** The texts of a hit, as far as they were read. */
export interface HitText {
  readonly text: string;
  /** Whether the content goes on after the text. */
  readonly goesOn: boolean;
  readonly summary: string | null;
  /** Where the part begins that is near to the query in meaning, up to the end; 0 by default. */
  readonly from?: number | undefined;
}

/**
 * Cuts a snippet: the part of a hit's content, else of its summary, that has the most of the query; else the beginning
 * of what is near in meaning, or of the content. One line of at most `SNIPPET_MAX` units, cut between words.
 */
export function snippetOf({ text, goesOn, summary, from = 0 }: HitText, find: Finder): string {
  const inText = bestOf(find(text.slice(from)));
  if (inText !== undefined) return cutAround(text, from + inText, goesOn);
  const inSummary = summary === null || from > 0 ? undefined : bestOf(find(summary));
  if (summary !== null && inSummary !== undefined) return cutAround(summary, inSummary, false);
  return cutAround(text, from, goesOn);
}

/**
 * The first match of the best snippet: the one whose concepts weigh most together; of equals the one that has them
 * closest together, then the first.
 */
function bestOf(found: readonly Occurrence[]): number | undefined {
  let [best, most, closest] = [found[0]?.at, 0, Infinity];
  for (const [index, { at }] of found.entries()) {
    const within = new Set<Occurrence["concept"]>();
    let last = at;
    for (let next = index; next < found.length; next++) {
      const other = found[next];
      if (!other || other.at > at + SNIPPET_MAX - LEAD - WORD_MAX) break;
      if (!within.has(other.concept)) last = other.at;
      within.add(other.concept);
    }
    const told = [...within].reduce((sum, { weight }) => sum + weight, 0);
    if (told > most || (told === most && last - at < closest)) [best, most, closest] = [at, told, last - at];
  }
  return best;
}

/** Cuts the text around a place. `goesOn` says that there is more after its end. */
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

/** The beginning of a word shortly before the place, or of the text if that is near. */
function startBefore(text: string, at: number): number {
  const wanted = at - LEAD;
  if (wanted <= 0) return 0;
  const gap = /\s+/u.exec(text.slice(wanted, at));
  return gap ? wanted + gap.index + gap[0].length : wholeUntil(text, wanted);
}

/** The last place up to `end` that does not split a visible character. */
function wholeUntil(text: string, end: number): number {
  if (end >= text.length) return text.length;
  let place = end;
  while (place > 0 && end - place < CLUSTER_MAX && isWithin(text, place)) place--;
  return isWithinFlag(text, place) ? place - 2 : place;
}

const isWithin = (text: string, place: number): boolean =>
  CONTINUES.test(text.slice(place, place + 2)) || text.charAt(place - 1) === JOINER;

/** Whether a place splits a flag. A flag is a pair of letters, so the number of such letters before decides. */
function isWithinFlag(text: string, place: number): boolean {
  let first = place;
  while (first >= 2 && FLAG_HALF.test(text.slice(first - 2, first))) first -= 2;
  return FLAG_HALF.test(text.slice(place, place + 2)) && ((place - first) / 2) % 2 === 1;
}
