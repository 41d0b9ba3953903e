import { LIMITS } from "../limits.js";
import { type Brackets, NO_BRACKETS, countBrackets, parseJson, splitValues } from "./json-text.js";
import type { JsonObject } from "./text.js";

/** A JSON value of a file, and its place, such as "line 3". */
export interface FileRecord {
  readonly place: string;
  readonly value: unknown;
}

export interface ObjectRecord extends FileRecord {
  readonly value: JsonObject;
}

/** A part of a file that is not JSON. */
export interface Unread {
  readonly place: string;
  readonly text: string;
  readonly reason: string;
}

type Bounds = { readonly [Name in "valueLength" | "depth"]: number };

export interface ReaderOptions {
  readonly onRecord: (record: FileRecord) => void;
  readonly onUnread: (unread: Unread) => void;
  /** Called for a comment. */
  readonly onComment: (unread: Unread) => void;
  readonly bounds?: Bounds;
}

/**
 * Splits the text of a file into JSON values while it is read: one per line, with or without a trailing comma, or one
 * over several lines, or several in a line. A broken value affects no other, and every line is read a few times at most.
 */
export class RecordReader {
  readonly #bounds: Bounds;
  /** The beginning of a line that is not yet complete. */
  #line: string[] = [];
  #lineLength = 0;
  #lineNumber = 0;
  /** The lines of a value whose brackets are still open. */
  #held: string[] = [];
  #heldFrom = 0;
  #heldLength = 0;
  #brackets: Brackets = NO_BRACKETS;

  constructor(private readonly options: ReaderOptions) {
    this.#bounds = options.bounds ?? LIMITS.importFile;
  }

  push(text: string): void {
    const [first = "", ...others] = text.split("\n");
    this.#addToLine(first);
    for (const part of others) {
      this.#endLine();
      this.#addToLine(part);
    }
  }

  end(): void {
    this.#endLine();
    this.#release("its brackets are never closed: is the file whole?");
  }

  /** Of a line that is too long, only the beginning is kept. */
  #addToLine(part: string): void {
    this.#lineLength += part.length;
    if (part !== "") this.#line.push(part.slice(0, this.#bounds.valueLength + 1));
    if (this.#lineLength > this.#bounds.valueLength) this.#line = [this.#line.join("").slice(0, KEPT_OF_LONG_LINE)];
  }

  #endLine(): void {
    const text = this.#line
      .join("")
      .replace(/^\uFEFF/, "")
      .trim();
    const isTooLong = this.#lineLength > this.#bounds.valueLength;
    [this.#line, this.#lineLength] = [[], 0];
    this.#lineNumber++;
    if (isTooLong) {
      this.#release("its brackets are never closed");
      const reason = `the line has more than ${this.#bounds.valueLength.toLocaleString("en")} characters: split it`;
      this.options.onUnread({ place: `line ${this.#lineNumber}`, text, reason });
    } else if (this.#held.length > 0) this.#hold(text);
    else this.#readLine(text);
  }

  #readLine(text: string): void {
    if (text === "" || text === ",") return;
    const place = `line ${this.#lineNumber}`;
    if (/^(\/\/|#)/.test(text)) return this.options.onComment({ place, text, reason: "a comment" });
    const brackets = countBrackets(text);
    // A line that ends inside a string is broken, and not the beginning of a value over several lines.
    if (/^[[{]/.test(text) && brackets.open > 0 && !brackets.inString) this.#hold(text);
    else if (!this.#readText(text, place)) this.options.onUnread({ place, text, reason: NOT_JSON });
  }

  #hold(text: string): void {
    if (this.#held.length === 0) this.#heldFrom = this.#lineNumber;
    else this.#heldLength++;
    this.#held.push(text);
    this.#heldLength += text.length;
    this.#brackets = countBrackets(text, this.#brackets);
    if (this.#heldLength > this.#bounds.valueLength) {
      return this.#release(`it goes on for more than ${this.#bounds.valueLength.toLocaleString("en")} characters`);
    }
    if (this.#brackets.open > 0) return;
    const whole = this.#held.join("\n");
    const isRead = this.#readText(whole, `lines ${this.#heldFrom} to ${this.#lineNumber}`);
    if (isRead) this.#forget();
    else this.#release(NOT_JSON);
  }

  /** Reads one value, or several of which the first is whole; returns whether it did. */
  #readText(text: string, place: string): boolean {
    const whole = parseJson(withoutComma(text));
    const parts = whole === undefined ? splitValues(text) : [text];
    const values = whole === undefined ? parts.map((part) => parseJson(part)) : [whole];
    if (values[0] === undefined) return false;
    for (const [at, part] of parts.entries()) {
      this.#readValue({ text: part, place, value: values[at], deepest: countBrackets(part).deepest });
    }
    return true;
  }

  /** The held lines are not one value, but each line may be one. */
  #release(reason: string): void {
    const [lines, from] = [this.#held, this.#heldFrom];
    this.#forget();
    let broken: { first: number; last: number; texts: string[] } | undefined;
    const endBroken = () => {
      if (!broken) return;
      const { first, last, texts } = broken;
      const place = first === last ? `line ${first}` : `lines ${first} to ${last}`;
      this.options.onUnread({ place, text: texts.join(" "), reason });
      broken = undefined;
    };
    for (const [index, text] of lines.entries()) {
      if (text === "") continue;
      const last = from + index;
      const { open, deepest } = countBrackets(text);
      const value = open === 0 && /^[[{]/.test(text) ? parseJson(withoutComma(text)) : undefined;
      if (value === undefined) {
        broken ??= { first: last, last, texts: [] };
        broken.last = last;
        if (broken.texts.length < LINES_SHOWN) broken.texts.push(text);
      } else {
        endBroken();
        this.#readValue({ text, place: `line ${last}`, value, deepest });
      }
    }
    endBroken();
  }

  #readValue({ text, place, value, deepest }: FileRecord & { text: string; deepest: number }): void {
    const { depth } = this.#bounds;
    const reason =
      deepest > depth ? `it is nested deeper than ${depth} levels: flatten it` : value === undefined && NOT_JSON;
    if (reason) this.options.onUnread({ place, text, reason });
    else this.options.onRecord({ place, value });
  }

  #forget(): void {
    [this.#held, this.#heldLength, this.#brackets] = [[], 0, NO_BRACKETS];
  }
}

const NOT_JSON = "it is not JSON";
const KEPT_OF_LONG_LINE = 200;
/** How many of several broken lines in a row are shown. */
const LINES_SHOWN = 3;

const withoutComma = (text: string): string => (text.endsWith(",") ? text.slice(0, -1) : text);
