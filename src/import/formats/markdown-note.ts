import { asPast, asShare, asText } from "../fields.js";
import { type Kept, timesOf } from "../graph.js";
import { SUMMARY_MAX, UUID, isLonger } from "../text.js";
import { linesOutsideCode, withoutCode } from "./code.js";
import { type FrontValue, readFrontMatter } from "./front-matter.js";

/** A link of a note, such as `[[Target]]` or `[shown](folder/Target.md)`. */
export interface NoteLink {
  readonly to: string;
  /** Whether `to` is a path or an id, from the parentheses of a link of Markdown. */
  readonly isPath: boolean;
  readonly type: string;
  readonly context: readonly string[];
}

/** A note of Basic Memory, Obsidian or any other tool that keeps Markdown files. */
export interface MarkdownNote {
  readonly title: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
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

const LINK = /(!?)\[\[([^[\]]{1,1000})\]\]/g;
const WHOLE_LINK = /^\[\[([^[\]]{1,1000})\]\]$/;
/** Includes marks and joining characters, which letters of many scripts need. */
const TAG = /(?<=^|\s)#([\p{L}\p{M}\p{N}\p{Join_Control}_/-]{1,100})/gu;
/** `#[[two words]]`, as Logseq writes it. */
const LONG_TAG = /#\[\[([^[\]]{1,100})\]\]/g;
/** A link of Markdown: its target is between the parentheses, before a title. */
const PATH_LINK = /(!?)\[[^[\]]{0,1000}\]\(\s{0,10}(?:<([^<>]{1,1000})>|([^\s()<>]{1,1000}))(?:\s[^()]{0,200})?\)/g;
/** A property at the beginning of a note, as Logseq writes it: `title:: Target`. */
const PROPERTY = /^(?:- )?([\p{L}\p{M}\p{N}_-]{1,50}):: (.*)$/u;
/** `- relation_type [[Target]] (context)`: the form in which Basic Memory writes relations. */
const RELATION =
  /^\s*[-*+][ \t]{1,10}(?:"([^"]{1,50})"|'([^']{1,50})'|([\p{L}\p{N}][\p{L}\p{M}\p{N}\p{Join_Control} _-]{0,49}))?[ \t]{0,10}\[\[([^[\]]+)\]\][ \t]{0,10}(?:\((.*)\))?$/u;
/** Longer lines are prose. The limit also bounds the cost of matching. */
const RELATION_LENGTH_MAX = 2_000;

/** Reads a note; all texts are in NFC, as the service stores them. */
export function readMarkdownNote(text: string): MarkdownNote {
  const whole = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const { fields, rest, body } = readFrontMatter(whole.normalize("NFC"));
  const properties = propertiesOf(body);
  const left = new Map(fields);
  const take = (name: string): FrontValue | undefined => {
    const value = left.get(name);
    left.delete(name);
    return value;
  };
  const takeIf = <Value>(name: string, read: (value: unknown) => Value | undefined): Value | undefined => {
    const value = read(left.get(name));
    if (value !== undefined) left.delete(name);
    return value;
  };
  const scanned = scanBody(body);
  const tags = ["tags", "tag", "keywords"].flatMap((name) => listOf(take(name)));
  const title = takeIf("title", asText) ?? asText(properties.get("title"));
  const known = { title, type: takeIf("type", asText), summary: takeIf("summary", asSummary) };
  const importance = takeIf("importance", asShareText);
  const kept: Kept = {
    clientId: takeIf("id", asUuid),
    confidence: takeIf("confidence", asShareText),
    ...timesOf(
      takeFirst(CREATED, (name) => takeIf(name, asPast)),
      takeFirst(UPDATED, (name) => takeIf(name, asPast)),
    ),
  };
  const links: NoteLink[] = [];
  const details: string[] = [];
  for (const [name, value] of left) {
    const values = typeof value === "string" ? [value] : value;
    const targets = values.map((one) => WHOLE_LINK.exec(one)?.[1]);
    links.push(...targets.flatMap((to) => (to === undefined ? [] : [{ to, isPath: false, type: name, context: [] }])));
    const others = values.filter((one, index) => one !== "" && targets[index] === undefined);
    if (others.length > 0) details.push(`${name}: ${others.join(", ")}`);
  }
  return {
    ...known,
    ...{ importance, kept, details: [...details, ...rest] },
    ...{
      tags: [...tags, ...listOf(properties.get("tags"))].map(asTag).concat(scanned.tags),
      links: [...links, ...scanned.links],
    },
    body: body.replace(/^(?:[ \t]*\n)+/, "").trimEnd(),
    otherNames: [
      ...["permalink", "aliases", "alias", "id"].flatMap((name) => listOf(fields.get(name))),
      ...listOf(properties.get("alias")).map(asTag),
    ],
  };
}

const CREATED = ["created", "created_at", "created-at", "date created"];
const UPDATED = ["updated", "updated_at", "updated-at", "modified", "last_modified", "date modified"];

function takeFirst<Value>(names: readonly string[], take: (name: string) => Value | undefined): Value | undefined {
  for (const name of names) {
    const value = take(name);
    if (value !== undefined) return value;
  }
  return undefined;
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

/** `#tag`, `[[tag]]` and `#[[tag]]` are the tag itself. */
const asTag = (text: string): string => text.replace(/^#/, "").replace(/^\[\[(.*)\]\]$/, "$1");

const asSummary = (value: unknown) => {
  const text = asText(value);
  return text === undefined || isLonger(text, SUMMARY_MAX) ? undefined : text;
};

/** A list, or a text with commas. */
const listOf = (value: FrontValue = []): string[] =>
  (typeof value === "string" ? value.split(",") : value).map((item) => item.trim()).filter((item) => item !== "");

/** The tags and links of a text, without those in code. */
function scanBody(body: string): { readonly tags: readonly string[]; readonly links: readonly NoteLink[] } {
  const tags = new Set<string>();
  const links: NoteLink[] = [];
  for (const line of linesOutsideCode(body)) {
    if (!/[#[]/.test(line)) continue;
    const text = withoutCode(line)
      .replaceAll(LONG_TAG, (_all, tag: string) => {
        tags.add(tag.trim());
        return "";
      })
      .trimEnd();
    for (const [, isEmbedded, bracketed, plain = ""] of text.matchAll(PATH_LINK)) {
      const to = pathIn(bracketed ?? plain);
      if (to !== undefined) links.push({ to, isPath: true, type: isEmbedded ? "embeds" : "links to", context: [] });
    }
    for (const [, tag = ""] of text.matchAll(TAG)) if (/\D/.test(tag)) tags.add(tag);
    const relation = text.length <= RELATION_LENGTH_MAX ? RELATION.exec(text) : null;
    if (relation) {
      const [, quoted, quotedOnce, plain, to = "", context = ""] = relation;
      const type = (quoted ?? quotedOnce ?? plain ?? "").trim() || "relates to";
      links.push({ to, isPath: false, type, context: context.trim() === "" ? [] : [context.trim()] });
    } else {
      for (const [, isEmbedded, to = ""] of text.matchAll(LINK)) {
        links.push({ to, isPath: false, type: isEmbedded ? "embeds" : "links to", context: [] });
      }
    }
  }
  return { tags: [...tags], links };
}

/**
 * The path of a note that a link of Markdown leads to; undefined for other addresses and for a heading of the same
 * note.
 */
function pathIn(address: string): string | undefined {
  if (/^(?:[a-z][a-z\d+.-]*:|#|\/\/|:)/i.test(address)) return undefined;
  const path = address.split("#")[0] ?? "";
  try {
    return decodeURIComponent(path).normalize("NFC");
  } catch {
    return path;
  }
}
