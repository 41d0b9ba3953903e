/** The brackets of a text so far: how many are open, the largest depth, and whether a string is open. */
export interface Brackets {
  readonly open: number;
  readonly deepest: number;
  readonly inString: boolean;
}

export const NO_BRACKETS: Brackets = { open: 0, deepest: 0, inString: false };

/** Counts the brackets of one more line of JSON. A JSON string never continues on the next line. */
export function countBrackets(line: string, { open, deepest }: Brackets = NO_BRACKETS): Brackets {
  const inString = scanBrackets(line, (step) => {
    open += step;
    deepest = Math.max(deepest, open);
  });
  return { open, deepest, inString };
}

/** Splits a text after each value in brackets, as where two files were joined without a new line between them. */
export function splitValues(text: string): string[] {
  const values: string[] = [];
  let [from, open] = [0, 0];
  scanBrackets(text, (step, at) => {
    open += step;
    if (step > 0 || open !== 0) return;
    values.push(text.slice(from, at + 1));
    from = at + 1;
  });
  return [...values, text.slice(from)].map((value) => value.replace(/^[\s,]+/, "")).filter(Boolean);
}

const [QUOTE, BACKSLASH, BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Calls `found` for each bracket outside of strings: with 1 where one opens, with -1 where one closes.
 * @returns whether the text ends within a string
 */
function scanBrackets(text: string, found: (step: 1 | -1, at: number) => void): boolean {
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (inString) {
      if (unit === BACKSLASH) at++;
      else if (unit === QUOTE) inString = false;
    } else if (unit === QUOTE) inString = true;
    else if (unit === BRACE || unit === BRACKET) found(1, at);
    else if (unit === BRACE_END || unit === BRACKET_END) found(-1, at);
  }
  return inString;
}

/** Finds numbers with so many digits that they would lose precision. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;
/** Numbers and words, also those that JSON does not allow: very long integers, and Python's NaN and Infinity. */
const TOKEN = /[-+.\w]+/y;
const NO_NUMBER = /^-?(?:\d{16,}|NaN|Infinity)$/;

/**
 * Parses JSON; undefined if it is invalid. Accepts comments, trailing commas and Python's NaN. Integers that are too
 * long for a number become strings.
 */
export function parseJson(text: string): unknown {
  const value = LONG_NUMBER.test(text) ? undefined : parseStrictly(text);
  return value === undefined ? parseStrictly(tidyJson(text)) : value;
}

/** Parses JSON; undefined if it is invalid. */
export function parseStrictly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One pass, with no regular expression over strings: they may have millions of characters. */
function tidyJson(text: string): string {
  const parts: string[] = [];
  // A comma is held back until it is clear that no closing bracket follows.
  let comma = "";
  const write = (part: string) => {
    parts.push(comma, part);
    comma = "";
  };
  for (let at = 0; at < text.length;) {
    const from = at;
    const start = text.charAt(at);
    if (start === '"') {
      at = endOfString(text, at);
      write(text.slice(from, at));
    } else if (text.startsWith("//", at)) at = endOf(text, "\n", at);
    else if (text.startsWith("/*", at)) at = endOf(text, "*/", at);
    else if (/[-+.\w]/.test(start)) {
      TOKEN.lastIndex = at;
      const token = TOKEN.exec(text)?.[0] ?? start;
      at += token.length;
      write(NO_NUMBER.test(token) ? `"${token}"` : token);
    } else {
      at++;
      if (start === "]" || start === "}") comma = "";
      if (start === "," && comma === "") comma = ",";
      else if (start.trim() !== "") write(start);
    }
  }
  return parts.join("");
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? text.length : at + mark.length;
}
