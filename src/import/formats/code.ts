/**
 * The beginning of a block of code, also in a list or a quote. After a fence of backticks, the line has no further
 * ones.
 */
const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}(?=[^`]*$)|~{3,})/;
const FENCE_END = /^[\s>]*(`{3,}|~{3,})\s*$/;

/**
 * The lines of Markdown outside blocks of code. A block ends with a fence of the same characters, as long or longer.
 */
function* linesOutsideCode(text: string): Generator<string> {
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    if (fence !== undefined) {
      if (FENCE_END.exec(line)?.[1]?.startsWith(fence)) fence = undefined;
    } else {
      fence = FENCE.exec(line)?.[1];
      if (fence === undefined) yield line;
    }
  }
}

/** The lines of Markdown that are shown: without code, and without comments of HTML and of Obsidian (`%% … %%`). */
export function linesShown(text: string): string[] {
  const lines = Array.from(linesOutsideCode(text), (line) => (line.includes("`") ? withoutCode(line) : line));
  return withoutComments(lines.join("\n")).split("\n");
}

/** What begins like a comment and does not end is none. */
function withoutComments(text: string): string {
  const kept: string[] = [];
  const endless = new Set<string>();
  const beginnings = /%%|<!--/g;
  let from = 0;
  for (let found; (found = beginnings.exec(text));) {
    const end = found[0] === "%%" ? "%%" : "-->";
    const at = endless.has(end) ? -1 : text.indexOf(end, beginnings.lastIndex);
    if (at === -1) endless.add(end);
    else {
      kept.push(text.slice(from, found.index));
      from = at + end.length;
      beginnings.lastIndex = from;
    }
  }
  return kept.join("") + text.slice(from);
}

/** A line without inline code, which stands between two equally long runs of backticks. */
function withoutCode(line: string): string {
  // Every second part is a run of backticks.
  const parts = line.split(/(`+)/);
  const last = new Map(parts.map((part, at) => [part, at]));
  const kept: string[] = [];
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at] ?? "";
    if (at % 2 === 1 && (last.get(part) ?? 0) > at) at = parts.indexOf(part, at + 1);
    else kept.push(part);
  }
  return kept.join("");
}
