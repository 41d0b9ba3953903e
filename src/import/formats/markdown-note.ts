import { asShare, asText } from "../fields.js";
import { SUMMARY_MAX, isLonger } from "../text.js";
import { type FrontValue, readFrontMatter } from "./front-matter.js";

/** A link of a note, such as `[[Target]]`. */
export interface NoteLink {
  readonly to: string;
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
  /** The other fields of its front matter, as lines. */
  readonly details: readonly string[];
  readonly links: readonly NoteLink[];
  /** Lines of its front matter that are not read. */
  readonly unread: ReadonlyArray<{ readonly line: number; readonly text: string }>;
}

const FENCE = /^\s{0,3}(?:```|~~~)/;
const CODE = /`[^`]*`/g;
const LINK = /(!?)\[\[([^[\]]{1,1000})\]\]/g;
const WHOLE_LINK = /^\[\[([^[\]]{1,1000})\]\]$/;
const TAG = /(?<=^|\s)#([\p{L}\p{N}_/-]{1,100})/gu;
/** `- relation_type [[Target]] (context)`: the form in which Basic Memory writes relations. */
const RELATION =
  /^\s*[-*+][ \t]{1,10}(?:"([^"]{1,50})"|([\p{L}\p{N}][\p{L}\p{N} _-]{0,49}))?[ \t]{0,10}\[\[([^[\]]+)\]\][ \t]{0,10}(?:\((.*)\))?$/u;
/** Longer lines are prose. It also bounds what matching costs. */
const RELATION_LENGTH_MAX = 2_000;

export function readMarkdownNote(text: string): MarkdownNote {
  const { fields, unread, body } = readFrontMatter(text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"));
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
  const tags = [...listOf(take("tags")), ...listOf(take("tag"))].map((tag) => tag.replace(/^#/, ""));
  const known = { title: takeIf("title", asText), type: takeIf("type", asText), summary: takeIf("summary", asSummary) };
  const importance = takeIf("importance", (value) =>
    asText(value) === undefined ? undefined : asShare(Number(value)),
  );
  const links: NoteLink[] = [];
  const details: string[] = [];
  for (const [name, value] of left) {
    const values = typeof value === "string" ? [value] : value;
    const targets = values.map((one) => WHOLE_LINK.exec(one)?.[1]);
    links.push(...targets.flatMap((to) => (to === undefined ? [] : [{ to, type: name, context: [] }])));
    const rest = values.filter((one, index) => one !== "" && targets[index] === undefined);
    if (rest.length > 0) details.push(`${name}: ${rest.join(", ")}`.normalize("NFC"));
  }
  return {
    ...known,
    ...{ importance, details, unread, tags: [...tags, ...scanned.tags], links: [...links, ...scanned.links] },
    body: body.replace(/^(?:[ \t]*\n)+/, "").trimEnd(),
    otherNames: ["permalink", "aliases", "alias"].flatMap((name) => listOf(fields.get(name))),
  };
}

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
  let isCode = false;
  for (const line of body.split("\n")) {
    if (FENCE.test(line)) isCode = !isCode;
    if (isCode || !/[#[]/.test(line)) continue;
    const text = line.replaceAll(CODE, "").trimEnd();
    for (const [, tag = ""] of text.matchAll(TAG)) if (/\D/.test(tag)) tags.add(tag);
    const relation = text.length <= RELATION_LENGTH_MAX ? RELATION.exec(text) : null;
    if (relation) {
      const [, quoted, plain, to = "", context = ""] = relation;
      const type = (quoted ?? plain ?? "").trim() || "relates to";
      links.push({ to, type, context: context.trim() === "" ? [] : [context.trim().normalize("NFC")] });
    } else {
      for (const [, isEmbedded, to = ""] of text.matchAll(LINK)) {
        links.push({ to, type: isEmbedded ? "embeds" : "links to", context: [] });
      }
    }
  }
  return { tags: [...tags], links };
}
