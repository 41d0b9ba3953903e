import { Lexer, Parser, parseDocument } from "yaml";
import { LIMITS } from "../../limits.js";
import { showValue } from "../fields.js";
import { type JsonObject, isObject } from "../text.js";
import { tomlAsYaml } from "./toml-lines.js";

/** The fields at the beginning of a note, between two lines of `---`, or of `+++` in TOML. */
export interface FrontMatter {
  readonly fields: ReadonlyMap<string, FrontValue>;
  /** Lines that are not YAML, unchanged. */
  readonly rest: readonly string[];
  /** The note without it. */
  readonly body: string;
}

export type FrontValue = string | readonly string[];

/** A longer one counts as text: the cost of parsing YAML grows faster than its length. */
const LENGTH_MAX = 20_000;
const FIELD = /^([^\s#:'"[{&*!|>%@`-][^:]{0,99}?)\s{0,10}:\s+([^\s"'[{|>&*!%@`].*)$/;

/**
 * Reads YAML, or TOML that has simple fields. If YAML is invalid as a whole, as with a colon in a title, reads each
 * field by itself, else as a plain line.
 */
export function readFrontMatter(text: string): FrontMatter {
  const lines = text.split("\n");
  if (/^\+\+\+\s*$/.test(lines[0] ?? "")) return readToml(text, lines);
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  const nothing = { fields: new Map<string, FrontValue>(), rest: [], body: text };
  if (!/^---\s*$/.test(lines[0] ?? "") || end === -1) return nothing;
  const inner = quoteTags(lines.slice(1, end));
  const source = inner.join("\n");
  // In YAML a comment, but people mean tags.
  const bare = inner.filter((line) => /^#[^\s#]/.test(line));
  if (source.length > LENGTH_MAX) return nothing;
  const body = lines.slice(end + 1).join("\n");
  const whole = parseFields(source);
  if (whole) return { fields: new Map(whole), rest: bare, body };
  const fields = new Map<string, FrontValue>();
  const rest = [...bare];
  for (const chunk of chunksOf(inner)) {
    const found = parseFields(chunk.join("\n").replaceAll(/^\t+/gm, "  ")) ?? readLine(chunk);
    if (!found || found.some(([key]) => fields.has(key))) rest.push(...chunk);
    else for (const [key, value] of found) fields.set(key, value);
  }
  // Without fields, the `---` is a horizontal line with text below it.
  return fields.size === 0 ? nothing : { fields, rest, body };
}

/** As Hugo writes it. What cannot be read stays in the text. */
function readToml(text: string, lines: readonly string[]): FrontMatter {
  const end = lines.findIndex((line, index) => index > 0 && /^\+\+\+\s*$/.test(line));
  const source = end === -1 ? undefined : tomlAsYaml(lines.slice(1, end));
  const fields = source === undefined || source.length > LENGTH_MAX ? undefined : parseFields(source);
  if (!fields) return { fields: new Map(), rest: [], body: text };
  return { fields: new Map(fields), rest: [], body: lines.slice(end + 1).join("\n") };
}

const TAGS_LINE = /^((?:tags?|keywords)[ \t]{0,10}:[ \t]+)(.*)$/i;
const ITEM_LINE = /^([ \t]*-[ \t]+)(#\S+)[ \t]*$/;

/** Quotes tags that begin with `#`, which would be comments in YAML. */
const quoteTags = (lines: readonly string[]): string[] =>
  lines.map((line) => {
    const [, item, tag] = ITEM_LINE.exec(line) ?? [];
    if (item !== undefined && tag !== undefined) return `${item}${JSON.stringify(tag)}`;
    const [, field, tags] = TAGS_LINE.exec(line) ?? [];
    if (field === undefined || tags === undefined) return line;
    if (/^#\S/.test(tags)) return `${field}${JSON.stringify(tags)}`;
    return tags.startsWith("[") ? `${field}${tags.replaceAll(/(?<=[[,\s])#[^\s,\]"']+/g, '"$&"')}` : line;
  });

/** Splits the lines into fields, each with its list or its further lines. */
function chunksOf(lines: readonly string[]): string[][] {
  const chunks: string[][] = [];
  for (const line of lines) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const current = chunks.at(-1);
    if (current && /^(?:\s|-\s)/.test(line)) current.push(line);
    else chunks.push([line]);
  }
  return chunks;
}

type Field = readonly [string, FrontValue];

/** Undefined if it is not YAML, nests too deeply, or has aliases, which could stand for any number of values. */
function parseFields(text: string): Field[] | undefined {
  if (isTooDeep(text)) return undefined;
  try {
    // All scalars are texts: a date, a number and `no` stay as they were written.
    const document = parseDocument(text, { schema: "failsafe", logLevel: "silent" });
    if (document.errors.length > 0) return undefined;
    const read: unknown = document.toJS({ maxAliasCount: 0 });
    if (read === null || read === "") return [];
    return isObject(read) ? withMetadata(read).map(([key, value]) => [key, valueOf(value)] as const) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether YAML nests deeper than other files may. The package calls itself for each level: where the stack ends, V8 may
 * end the process, which nobody can catch.
 */
function isTooDeep(text: string): boolean {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    Array.from(parser.next(lexeme));
    if (parser.stack.length > LIMITS.importFile.depth) return true;
  }
  return false;
}

/** The fields with those of `metadata` among them, where Claude Code writes the type and the time of a memory. */
function withMetadata({ metadata, ...fields }: JsonObject): [string, unknown][] {
  if (!isObject(metadata)) return Object.entries(metadata === undefined ? fields : { ...fields, metadata });
  const inner = Object.entries(metadata).map(([key, value]): [string, unknown] => [
    Object.hasOwn(fields, key) ? `metadata.${key}` : key,
    value,
  ]);
  return [...Object.entries(fields), ...inner];
}

const LINKS_LINE = /^([^\s#:'"[{&*!|>%@`-][^:]{0,99}?)\s{0,10}:\s+(\[\[[^[\]]+\]\](?:,?\s{0,10}\[\[[^[\]]+\]\])+)\s*$/;

/** Reads a field that is not valid YAML, such as `title: One: two` or `see: [[One]], [[Two]]`. */
function readLine([line = "", ...others]: readonly string[]): Field[] | undefined {
  const [, name, links] = (others.length === 0 && LINKS_LINE.exec(line)) || [];
  if (name !== undefined && links !== undefined) return [[name, links.match(/\[\[[^[\]]+\]\]/g) ?? []]];
  const [, key, value] = (others.length === 0 && FIELD.exec(line)) || [];
  return key === undefined || value === undefined ? undefined : [[key, value.replace(/\s#.*$/, "").trim()]];
}

const valueOf = (value: unknown): FrontValue =>
  linkOf(value) ?? (Array.isArray(value) ? value.map((item) => linkOf(item) ?? scalarOf(item)) : scalarOf(value));

/** `[[Target]]` without quotes is a list in a list. */
function linkOf(value: unknown): string | undefined {
  const inner: unknown = Array.isArray(value) && value.length === 1 ? value[0] : undefined;
  const isName = Array.isArray(inner) && inner.length > 0 && inner.every((part) => typeof part === "string");
  return isName ? `[[${inner.join(", ")}]]` : undefined;
}

const scalarOf = (value: unknown): string =>
  isObject(value)
    ? showObject(value)
    : showValue(value)
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "")
        .join("\n");

/** Keys without values count, too: `{{title}}`, a placeholder of a template, is YAML. */
const showObject = (value: JsonObject): string => showValue(value).slice(1, -1) || `{${Object.keys(value).join(", ")}}`;
