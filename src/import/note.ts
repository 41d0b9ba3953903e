import { LIMITS } from "../limits.js";
import type { Kept, Note } from "./graph.js";
import { countBrackets } from "./json-text.js";
import { type JsonObject, cut, isLonger, quote, textProblem } from "./text.js";
import { lostInType, memoryType } from "./type-names.js";

const { title: TITLE_MAX, content: CONTENT_MAX, summary: SUMMARY_MAX, tags: TAGS_MAX, tag: TAG_MAX } = LIMITS.memory;

/** The tag by which a later import finds the memories of an earlier one. */
export const TAG = "mcp-memory";

/** A memory while its file is read. */
export interface Entry {
  name: string;
  /** @see FoundMemory.ownId; only of one that grows. */
  ownId?: string | undefined;
  type: string;
  /** In the order of their first occurrence. */
  readonly texts: Set<string>;
  readonly details: Set<string>;
  readonly tags: Set<string>;
  summary?: string | undefined;
  importance?: number | undefined;
  kept: Kept;
  /** Whether further texts with the same name are added to it. */
  readonly grows: boolean;
}

type Refuse = (what: string, reason: string) => void;

/** The memory to store. Values that do not fit their field go into the content; what fits nowhere is reported. */
export function makeNote(key: string, entry: Entry, refuse: Refuse): Note {
  const { name, grows } = entry;
  const title = cut(name, TITLE_MAX);
  const type = memoryType(entry.type) ?? "general";
  const { tags, details } = tagsOf(entry, type);
  const whole = title === name ? [] : [name];
  const label = (kind: string) => (text: string) => `${kind} of ${quote(name)}: ${quote(text)}`;
  const texts = storable([...entry.texts], label("an observation"), refuse);
  const more = storable([...details, ...entry.details], label("a field"), refuse);
  const rest = { key, type, title, summary: entry.summary, tags, importance: entry.importance, kept: entry.kept };
  if (!grows) {
    const [text, fields] = [[...whole, ...texts].join("\n"), more.join("\n")];
    const after = text === "" || fields === "" ? fields : `\n\n${fields}`;
    // Of a text that is too long, the end is cut off, and not its few fields.
    const [body, end] = after.length <= FIELDS_KEPT ? [text, after] : [text + after, ""];
    const kept = fitLines([body], name, refuse, CONTENT_MAX - end.length).join("\n");
    return { ...rest, content: kept + end || name };
  }
  const lines = fitLines([...whole, ...texts, ...more], name, refuse);
  return { ...rest, content: lines.join("\n") || title, lines };
}

/**
 * If the type cannot express the original one, for example in another script, the original becomes a tag for searches.
 */
function tagsOf(entry: Entry, type: string): { tags: string[]; details: string[] } {
  const lost = lostInType(entry.type, type);
  const all = [...(entry.grows ? [TAG] : []), ...(lost === undefined ? [] : [lost]), ...entry.tags];
  const said = [...new Set(all.map((tag) => tag.trim()).filter((tag) => tag !== ""))];
  const fit = said.filter((tag) => !isLonger(tag, TAG_MAX) && textProblem(tag) === undefined).slice(0, TAGS_MAX);
  const others = said.filter((tag) => !fit.includes(tag));
  return { tags: fit, details: others.map((tag) => (tag === lost ? `type: ${tag}` : `tag: ${tag}`)) };
}

/** Leaves out texts that cannot be stored, and reports them. */
function storable(texts: readonly string[], labelOf: (text: string) => string, refuse: Refuse): string[] {
  return texts.filter((text) => {
    const problem = textProblem(text);
    if (problem !== undefined) refuse(labelOf(text), problem);
    return problem === undefined;
  });
}

/** Longer fields are cut like the text. */
const FIELDS_KEPT = 10_000;

/** The lines that fit into a content; the last one may be cut. */
function fitLines(lines: readonly string[], name: string, refuse: Refuse, most: number = CONTENT_MAX): string[] {
  const content = lines.join("\n");
  if (!isLonger(content, most)) return [...lines];
  const taken = cut(content, most);
  const end = content.slice(taken.length);
  refuse(
    `the last ${end.length} characters of the content of memory ${quote(name)}: ${quote(end)}`,
    `a content has at most ${CONTENT_MAX.toLocaleString("en")} characters: divide the memory`,
  );
  const kept: string[] = [];
  let room = taken.length;
  for (const line of lines) {
    if (room <= 0) break;
    kept.push(line.slice(0, room));
    room -= line.length + 1;
  }
  return kept;
}

/** Why the service would refuse a note, as far as it can be checked here. */
export function noteProblem({ title, content, summary = "" }: Note): string | undefined {
  const badText = [title, content, summary].map(textProblem).find((problem) => problem !== undefined);
  if (badText !== undefined) return badText;
  if (title.trim() === "") return "its title is blank";
  if (isLonger(summary, SUMMARY_MAX)) return `its summary has more than ${SUMMARY_MAX} characters`;
  return undefined;
}

/** Whether the service takes an object as the context of a memory. */
export function fitsContext(context: JsonObject): boolean {
  const text = JSON.stringify(context);
  const { contextBytes, contextDepth } = LIMITS.memory;
  return Buffer.byteLength(text) <= contextBytes && countBrackets(text).deepest <= contextDepth;
}
