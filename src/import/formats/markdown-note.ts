import { asShare, asSummary, asText, plainName } from "../fields.js";
import { type Kept, timesOf } from "../graph.js";
import { CREATED, UPDATED } from "../names.js";
import { type JsonObject, PLACEHOLDER, UUID, toNfc } from "../text.js";
import { type FrontValue, readFrontMatter } from "./front-matter.js";
import { partsOf, plainTitleOf } from "./memory-graph-note.js";
import { type NoteLink, scanBody } from "./note-links.js";
import { type NotionPage, readNotionPage } from "./notion.js";
import { asNoteTime } from "./note-time.js";

/** A note of Basic Memory, Obsidian or any other tool that keeps Markdown files. */
export interface MarkdownNote {
  readonly title: string | undefined;
  /** What it calls itself besides, as skills of agents do. */
  readonly name: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
  /** Whether the data of a drawing was left out of the body. */
  readonly isDrawing: boolean;
  readonly tags: readonly string[];
  readonly summary: string | undefined;
  readonly importance: number | undefined;
  /** Other names by which links may call it. */
  readonly otherNames: readonly string[];
  /** The other fields of its front matter as lines, and the lines of it that cannot be read. */
  readonly details: readonly string[];
  readonly links: readonly NoteLink[];
  readonly kept: Kept;
}

/** Around the data of a drawing of Excalidraw: numbers and colours, or compressed. Its texts and links are before it. */
const DRAWING = /^(?:%%\n)?#{1,2} Drawing\n```(?:compressed-)?json\n/m;
const DRAWING_END = /\n```(?:\n%%)?$/m;

/** One link or several, with nothing but commas or other signs between them. */
const ONLY_LINKS = /^(?:[^\p{L}\p{N}[\]!]{0,5}\[\[[^[\]]{1,1000}\]\]){1,100}[^\p{L}\p{N}[\]!]{0,5}$/u;
const LINK = /\[\[([^[\]]{1,1000})\]\]/g;
/** A property at the beginning of a note, as Logseq writes it: `title:: Target`. */
const PROPERTY = /^(?:- )?([\p{L}\p{M}\p{N}_-]{1,50}):: (.*)$/u;

/** Reads a note; all texts are in NFC, as the service stores them. @param path tells by which program it was written. */
export function readMarkdownNote(file: string, path = ""): MarkdownNote {
  const whole = file.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const { fields, rest, body: text } = readFrontMatter(toNfc(whole));
  const plainTitle = plainTitleOf(toNfc(whole));
  const body = fields.has("excalidraw-plugin") ? withoutDrawing(text) : text;
  const page = readNotionPage(path, body);
  const properties = page?.properties ?? propertiesOf(body);
  const parts = partsOf(fields, body);
  const left = new FrontFields(fields);
  const otherNames = left.all(OTHER_NAMES).flatMap(listOf);
  const tags = left.takeAll(TAGS).flatMap(tagsOf);
  const scanned = scanBody(body);
  const front = left.take(["title"], asName);
  const title = plainTitle ?? front ?? page?.title ?? asText(properties.get("title"));
  const known = {
    title,
    name: asName(left.all(["name"])[0]),
    type: left.take(["type", "memorytype", "entitytype", "notetype"], asName),
    summary: left.take(["summary"], asSummary) ?? parts?.summary,
  };
  const importance = left.take(["importance"], asShareText);
  // The date of a note may also be that of an event, so it stays in the text.
  const date = left.all(["date"]).map(asNoteTime)[0] ?? dateAbove(body);
  const kept: Kept = {
    clientId: left.take(["id"], asUuid),
    confidence: left.take(["confidence"], asShareText),
    context: parts && takeContext(left),
    ...timesOf(
      takeTime(left, CREATED) ?? timeOfPage(page, CREATED) ?? date,
      takeTime(left, UPDATED) ?? timeOfPage(page, UPDATED),
    ),
  };
  const { links, details } = linksAndDetails(left.rest());
  return {
    ...known,
    importance,
    kept,
    details: [...details, ...rest.filter((line) => line !== `title: ${plainTitle}`)],
    tags: [...tags, ...tagsOf(properties.get("tags"))].map(asTag).concat(scanned.tags),
    links: [...links, ...(page?.links ?? []), ...scanned.links],
    body: withoutBlankStart(parts?.content ?? body).trimEnd(),
    isDrawing: body !== text,
    otherNames: [...otherNames, ...listOf(properties.get("alias")).map(asTag), ...scanned.blocks],
  };
}

/** One regular expression for all of the drawing would look for its end once for each beginning. */
function withoutDrawing(text: string): string {
  const begin = DRAWING.exec(text);
  const after = begin && text.slice(begin.index + begin[0].length);
  const end = after && DRAWING_END.exec(after);
  return end ? text.slice(0, begin.index) + after.slice(end.index + end[0].length) : text;
}

/** A text without its first lines if these are blank. A regular expression for them may use up the stack. */
const withoutBlankStart = (text: string): string => text.slice(text.lastIndexOf("\n", text.search(/[^ \t\n]/)) + 1);

const OTHER_NAMES = ["permalink", "aliases", "alias", "id", "name"];
const TAGS = ["tags", "tag", "keywords"];

/** The fields of a front matter that are not read yet. Case, spaces and signs do not matter in their names. */
class FrontFields {
  readonly #left: Map<string, FrontValue>;

  constructor(fields: ReadonlyMap<string, FrontValue>) {
    this.#left = new Map(fields);
  }

  all(names: readonly string[]): FrontValue[] {
    return names.flatMap((name) => this.#named(name).map(([, value]) => value));
  }

  takeAll(names: readonly string[]): FrontValue[] {
    const values = this.all(names);
    for (const name of names) for (const [label] of this.#named(name)) this.#left.delete(label);
    return values;
  }

  /** Takes the first field that `read` accepts, also as the only value of a list. */
  take<Value>(names: readonly string[], read: (value: unknown) => Value | undefined): Value | undefined {
    for (const [label, value] of names.flatMap((name) => this.#named(name))) {
      const found = read(typeof value !== "string" && value.length === 1 ? value[0] : value);
      if (found === undefined) continue;
      this.#left.delete(label);
      return found;
    }
    return undefined;
  }

  rest(): Iterable<[string, FrontValue]> {
    return this.#left;
  }

  #named(name: string): [string, FrontValue][] {
    return [...this.#left].filter(([label, value]) => plainName(label) === name && !isPlaceholder(value));
  }
}

/** The time of a field. A link to a day stays, since it is a relationship, too. */
const takeTime = (left: FrontFields, names: readonly string[]): Date | undefined =>
  left.take(names, asNoteTime) ?? left.all(names).map(asDay)[0];

const timeOfPage = (page: NotionPage | undefined, names: readonly string[]): Date | undefined =>
  [...(page?.properties ?? [])].flatMap(([name, value]) =>
    names.includes(plainName(name)) ? (asNoteTime(value) ?? []) : [],
  )[0];

/** Fields that consist of links are relationships; all others are lines. */
function linksAndDetails(fields: Iterable<[string, FrontValue]>) {
  const links: NoteLink[] = [];
  const details: string[] = [];
  for (const [name, value] of fields) {
    const values = (typeof value === "string" ? [value] : value).filter((one) => one !== "");
    const isKept = [...CREATED, ...UPDATED].includes(plainName(name)) && asDay(value) !== undefined;
    for (const to of values.flatMap(targetsOf)) {
      links.push({ to, isPath: false, type: name, context: [], ...(isKept && { isOptional: true }) });
    }
    const others = values.filter((one) => targetsOf(one).length === 0);
    if (others.length > 0) details.push(`${name}: ${others.join(", ")}`);
  }
  return { links, details };
}

/** Takes the fields that MemoryGraph's notes have of the context of a memory. */
function takeContext(left: FrontFields): JsonObject | undefined {
  const project_path = left.take(["project"], asText);
  const lists = ["languages", "technologies"].map((name) => [name, left.takeAll([name]).flatMap(listOf)] as const);
  const context = { ...(project_path && { project_path }), ...Object.fromEntries(lists.filter(([, list]) => list[0])) };
  return Object.keys(context).length > 0 ? context : undefined;
}

const isPlaceholder = (value: FrontValue): boolean => typeof value === "string" && PLACEHOLDER.test(value);

/** The targets of a text that consists of links; none for any other text. */
const targetsOf = (text: string): string[] =>
  ONLY_LINKS.test(text) ? Array.from(text.matchAll(LINK), ([, to = ""]) => to) : [];

const asName = (value: unknown) => {
  const text = asText(value);
  return text === undefined || targetsOf(text).length > 0 ? undefined : text;
};

/** The day of a link to a daily note, such as `[[Daily/2024-03-05|Tuesday]]`. */
function asDay(value: FrontValue): Date | undefined {
  const [target = "", ...others] = typeof value === "string" ? targetsOf(value) : value.flatMap(targetsOf);
  return others.length > 0 ? undefined : asNoteTime(target.replace(/\|.*$/, "").replace(/^.*\//, ""));
}

const asUuid = (value: unknown) => (typeof value === "string" && UUID.test(value) ? value : undefined);
const asShareText = (value: unknown) => (asText(value) === undefined ? undefined : asShare(Number(value)));

/** The lines `key:: value` at the beginning of a text; they stay in it. */
function propertiesOf(body: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of body.trimStart().split("\n")) {
    const [, key, value] = PROPERTY.exec(line) ?? [];
    if (key === undefined || value === undefined) break;
    found.set(key.toLowerCase(), value.trim());
  }
  return found;
}

/** In records of decisions, a line above the first section: `Date: 2020-02-03`, also `* **Date:** …` in a list. */
const DATE_LINE = /^(?:[*-] )?\*{0,2}Date(?::\*{0,2}|\*{0,2}:) {1,10}([^<\n]{1,50})[<\n]/im;

/** The longest such beginning of a note that is read. */
const ABOVE_MAX = 2_000;

function dateAbove(body: string): Date | undefined {
  const [above = ""] = `${body}\n`.slice(0, ABOVE_MAX).split(/^##/m);
  return asNoteTime(DATE_LINE.exec(above)?.[1]);
}

/** `#tag`, `[[tag]]`, `#[[tag]]` and `[[Note|tag]]` are the tag itself. */
const asTag = (text: string): string => text.replace(/^#/, "").replace(/^\[\[(?:[^|]*\|)?(.*)\]\]$/, "$1");

/** A list, or a text with commas. */
const listOf = (value: FrontValue = []): string[] =>
  (typeof value === "string" ? value.split(",") : value).map((item) => item.trim()).filter((item) => item !== "");

/** Tags may also stand behind each other, as in `#one #two`, or several in an item of a list. */
const tagsOf = (value: FrontValue = []): string[] =>
  (typeof value === "string" ? [value] : value).flatMap((item) => listOf(item.replaceAll(/\s#/g, ",#")));
