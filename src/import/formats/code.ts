/** The beginning of a block of code, also in a list or a quote; behind backticks there are no others. */
const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}(?=[^`]*$)|~{3,})/;
const FENCE_END = /^[\s>]*(`{3,}|~{3,})\s*$/;

/** The lines of Markdown that are in no block of code. A block ends with as many of the same characters, or more. */
export function* linesOutsideCode(text: string): Generator<string> {
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

/** A line without the code in it, which stands between two runs of as many backticks. */
export function withoutCode(line: string): string {
  // Every second part is a run.
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
