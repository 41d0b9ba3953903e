import { hasTooManyMarks } from "../combining-marks.js";

const QUOTED_MAX = 80;

/** The first code points of a text; the whole text if it is not longer. */
export function cut(text: string, codePointsMax: number): string {
  if (!isLonger(text, codePointsMax)) return text;
  return Array.from(text.slice(0, 2 * codePointsMax))
    .slice(0, codePointsMax)
    .join("");
}

export function isLonger(text: string, codePointsMax: number): boolean {
  // A code point is one or two UTF-16 units, so most texts need no counting.
  return text.length > codePointsMax && (text.length > 2 * codePointsMax || Array.from(text).length > codePointsMax);
}

/** Why the service cannot store a text; undefined if it can. */
export function textProblem(text: string): string | undefined {
  if (text.includes("\0")) return "it has the character NUL, which cannot be stored";
  if (!text.isWellFormed()) return "it has half of a character (a lone surrogate), which cannot be stored";
  if (hasTooManyMarks(text)) return "it has too many combining marks in a row";
  return undefined;
}

/** Converts a text to NFC, as the service stores it. One with too many marks, which it does not store, stays as it is. */
export const toNfc = (text: string): string => (hasTooManyMarks(text) ? text : text.normalize("NFC"));

/**
 * One line of a text for a terminal. Names, files and answers of other servers come from strangers, and could control
 * it. Joiners stay, as Persian names and many emoji have them.
 */
export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, " ");

/** The same for a text of several lines. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** A text of a file for messages: shortened, and on one line. */
export function quote(text: string): string {
  const shown = cut(text, QUOTED_MAX);
  const safe = printable(JSON.stringify(shown));
  return shown === text ? safe : `${safe.slice(0, -1)}…"`;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** How the names of Markdown files end. Cursor's rules are in `.mdc`. */
export const NOTE_END = /\.(?:md|markdown|mdx|mdc)$/i;

/** What a template fills in later, as in `title: {{title}}` and `created: <% tp.file.creation_date() %>`. */
export const PLACEHOLDER = /^\s*(?:\{\{|<%)/;

/** Whether a path is that of a Markdown file. */
export const isNote = (path: string): boolean => NOTE_END.test(path);

/** What to do with a file that is no text, by its first bytes; undefined for any other. */
export function adviceFor(chunk: Buffer): string | undefined {
  const begins = (bytes: string) => chunk.toString("latin1", 0, bytes.length) === bytes;
  if (begins("\x1f\x8b")) return "is compressed by gzip. Unpack it and import what is in it.";
  if (begins("PK\x03\x04")) return "is a zip archive. Unpack it and import what is in it.";
  if (chunk.toString("latin1", 257, 262) === "ustar") return "is a tar archive. Unpack it and import what is in it.";
  return begins("SQLite format 3\0") ? "is an SQLite database. Import what its program exports." : undefined;
}

/** The encoding by the byte order mark: PowerShell writes UTF-16 by default. */
export function encodingOf(chunk: Buffer): string {
  if (chunk[0] === 0xff && chunk[1] === 0xfe) return "utf-16le";
  return chunk[0] === 0xfe && chunk[1] === 0xff ? "utf-16be" : "utf-8";
}
