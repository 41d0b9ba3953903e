/** The brackets of a text so far: how many are open, how many were at most, and whether a string is. */
export interface Brackets {
  readonly open: number;
  readonly deepest: number;
  readonly inString: boolean;
}

export const NO_BRACKETS: Brackets = { open: 0, deepest: 0, inString: false };

/** Goes on counting the brackets of JSON over one more line. No JSON string goes over the end of a line. */
export function countBrackets(line: string, { open, deepest }: Brackets = NO_BRACKETS): Brackets {
  let inString = false;
  for (let at = 0; at < line.length; at++) {
    const unit = line.charCodeAt(at);
    if (inString) {
      if (unit === BACKSLASH) at++;
      else if (unit === QUOTE) inString = false;
    } else if (unit === QUOTE) inString = true;
    else if (unit === BRACE || unit === BRACKET) deepest = Math.max(deepest, ++open);
    else if (unit === BRACE_END || unit === BRACKET_END) open--;
  }
  return { open, deepest, inString };
}

const [QUOTE, BACKSLASH, BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];

/** Numbers of so many digits lose the last ones when they are read as numbers. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;
/** Numbers, words, and what JSON does not have and files do: integers too long, and Python's words for no number. */
const TOKEN = /[-+.\w]+/y;
const NO_NUMBER = /^-?(?:\d{16,}|NaN|Infinity)$/;

/**
 * The value of a JSON text; undefined where it is none. Comments, commas before a closing bracket and Python's NaN are
 * forgiven, and integers too long for a number are texts.
 */
export function parseJson(text: string): unknown {
  const value = LONG_NUMBER.test(text) ? undefined : parseStrictly(text);
  return value === undefined ? parseStrictly(tidyJson(text)) : value;
}

function parseStrictly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One pass and no regular expression over strings: they may be of millions of characters. */
function tidyJson(text: string): string {
  const parts: string[] = [];
  // A comma is written when it is known that no bracket closes behind it.
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
