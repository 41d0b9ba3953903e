import { linesShown } from "./code.js";

/** A link of a note, such as `[[Target]]` or `[shown](folder/Target.md)`. */
export interface NoteLink {
  readonly to: string;
  /** Whether `to` is a path or an id, from the parentheses of a link of Markdown. */
  readonly isPath: boolean;
  readonly type: string;
  readonly context: readonly string[];
  /** Set if the note keeps what the link says, such as a day, also without the note that it leads to. */
  readonly isOptional?: true;
}

/** After the target, brackets may be shown: `[[Target|the list[0]]]`. */
const LINK = /(!|\{\{embed\s)?\[\[([^[\]|]{1,1000}(?:\|(?:[^[\]]|\[(?!\[)){0,1000})?)\]\]/g;
/** A block of another note in Logseq, by the id that it has there. */
const BLOCK_LINK = /(\{\{embed\s)?\(\(([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\)\)/gi;
const BLOCK_ID = /^\s*(?:- )?id:: ([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\s*$/i;
/** Includes marks, joining characters and signs, which letters of many scripts and emoji need. */
const TAG =
  /(?<=^|\s)#([\p{L}\p{M}\p{N}\p{Join_Control}\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}_/-]{1,100})/gu;
/** `#[[two words]]`, as Logseq writes it. */
const LONG_TAG = /#\[\[([^[\]]{1,100})\]\]/g;
/**
 * A link of Markdown: its target is between the parentheses, before a title. Its text may have brackets, as in
 * `[[Draft] Plan](Plan.md)`, but no link; `[[Plan]](a comment)` is a link of the other kind.
 */
const PATH_LINK =
  /(!?)\[(?!\[[^[\]]{0,1000}\]\])(?:[^[\]]|\[[^[\]]{0,200}\](?!\()){0,1000}\]\(\s{0,10}(?:<([^<>]{1,1000})>|([^\s()<>]{1,1000}))(?:\s[^()]{0,200})?\)/g;
/** `[label]: path`, the target of links such as `[shown][label]`. */
const DEFINITION = /^ {0,3}\[(?!\^)[^[\]]{1,1000}\]:[ \t]{1,10}(?:<([^<>]{1,1000})>|(\S{1,1000}))/;

/** A sign or an emoji in front of a label with a colon, as in `↑ Parent: [[Target]]`. */
const SIGN = "(?:[^\\p{L}\\p{N}\\s[\\]\"'*|>#-]{1,4}[ \\t]{1,3}(?=[^[\\]]{1,60}:))?";
const WORDS = "[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}\\p{Join_Control} _-]{0,49}";
/** There is only one way to match the spaces between two links: otherwise a line of 20 links would take hours. */
const LINKS = "\\[\\[[^[\\]]{1,1000}\\]\\](?:[ \\t]{0,10}(?:,[ \\t]{0,10})?\\[\\[[^[\\]]{1,1000}\\]\\]){0,99}";
/**
 * A line with nothing but links and what they mean: `- depends_on [[Target]] (context)` of Basic Memory, also with
 * `— context`, `- **Depends on**: [[Target]]`, `up:: [[Target]]` of Dataview.
 */
const RELATION = new RegExp(
  `^[ \\t]*([-*+][ \\t]{1,10})?${SIGN}(?:"([^"]{1,50})"|'([^']{1,50})'|\\*{0,2}(${WORDS})(:{0,2}\\*{0,2}:{0,2}))?` +
    `[ \\t]{0,10}(${LINKS})[ \\t]{0,10}(?:\\((.*)\\)|(?:[—–]|--?)[ \\t]{1,10}(\\S.*)|[.;,])?$`,
  "u",
);
/** The same with links of Markdown; an arrow, as MemoryGraph writes it (or `->`), counts like a colon. */
const PATH_RELATION = new RegExp(
  `^[ \\t]*(?:[-*+][ \\t]{1,10})?\\*{0,2}(${WORDS})(?::\\*{0,2}:?|\\*{0,2}:{1,2}|\\*{0,2}[ \\t]{1,10}(?:→|->))`,
  "u",
);
/** What records of decisions say right before a link to another one. Other verbs are prose more often. */
const REPLACEMENT = /(?<![\p{L}\p{N}])(?:(super[sc]edes)|(super[sc]eded by|deprecated by))[\s:*_]{1,5}$/iu;
/** `(author:: [[Target]])` within a line, as Dataview reads it. */
const INLINE_RELATION = new RegExp(`[[(](${WORDS})::[ \\t]{0,10}(${LINKS})[ \\t]{0,10}[\\])]`, "gu");
/** What Logseq and Org write before a task: the state that it is in. */
const TASK = /^(?:TODO|DOING|DONE|LATER|NOW|WAITING|WAIT|IN-PROGRESS|CANCELL?ED)(?![\p{L}\p{N}_-])/u;
/** Between the links of a line for navigation: `Parent: [[One]] · Next: [[Two]]`, but not between a link and its label. */
const BETWEEN = /[ \t][·•|][ \t](?![^[\]]*\]\])/;
/** Longer lines are prose. The limit also bounds the cost of matching. */
const RELATION_LENGTH_MAX = 2_000;

interface Scanned {
  readonly tags: readonly string[];
  readonly links: readonly NoteLink[];
  /** The ids of its blocks, as Logseq writes them. */
  readonly blocks: readonly string[];
}

/** The tags, links and blocks of a text, without those in code and comments. */
export function scanBody(body: string): Scanned {
  const tags = new Set<string>();
  const links: NoteLink[] = [];
  const blocks: string[] = [];
  for (const line of linesShown(body)) {
    const block = BLOCK_ID.exec(line)?.[1];
    if (block !== undefined) blocks.push(block);
    if (!/[#[(]/.test(line)) continue;
    const text = line
      .replaceAll(LONG_TAG, (_all, tag: string) => {
        tags.add(tag.trim());
        return "";
      })
      .trimEnd();
    for (const [, tag = ""] of text.matchAll(TAG)) if (/\D/.test(tag)) tags.add(tag);
    const found = [pathLinks(text), definedLinks(text), linksOfLine(text), blockLinks(text)].flat();
    for (const link of found) links.push(link);
  }
  return { tags: [...tags], links, blocks };
}

/** The links of Markdown in a line that lead to notes. */
function pathLinks(text: string): NoteLink[] {
  const label = labelOfPaths(text);
  return Array.from(text.matchAll(PATH_LINK)).flatMap(({ 1: isEmbedded, 2: bracketed, 3: plain = "", index }) => {
    const to = pathIn(bracketed ?? plain);
    const type = replacementIn(text, index) ?? label ?? (isEmbedded ? "embeds" : "links to");
    return to === undefined ? [] : [{ to, isPath: true, type, context: [] }];
  });
}

function definedLinks(text: string): NoteLink[] {
  const [, bracketed, plain] = DEFINITION.exec(text) ?? [];
  const to = pathIn(bracketed ?? plain ?? "#");
  return to === undefined ? [] : [{ to, isPath: true, type: "links to", context: [] }];
}

const blockLinks = (text: string): NoteLink[] =>
  Array.from(text.matchAll(BLOCK_LINK), ([, isEmbedded, to = ""]) => {
    return { to, isPath: false, type: isEmbedded ? "embeds" : "links to", context: [], isOptional: true };
  });

/** The links of a line in double brackets. */
function linksOfLine(text: string): NoteLink[] {
  if (text.length > RELATION_LENGTH_MAX) return plainLinks(text);
  const relation = relationsOf(text);
  if (relation) return relation;
  const parts = text.split(BETWEEN);
  if (parts.length > 1) return parts.flatMap((part) => relationsOf(part) ?? linksInside(part));
  return linksInside(text);
}

/** The links of a line, or a part of one, that also has other text. */
function linksInside(text: string): NoteLink[] {
  const typed: NoteLink[] = [];
  const rest = text.replaceAll(INLINE_RELATION, (_all, type: string, targets: string) => {
    typed.push(...linksTo(targets, type.trim()));
    return "";
  });
  return [...typed, ...plainLinks(rest)];
}

/** The links of a line that says what they mean; undefined for any other line. */
function relationsOf(text: string): NoteLink[] | undefined {
  const [all, item, quoted, quotedOnce, plain, colons, targets = "", inBrackets, afterDash] = RELATION.exec(text) ?? [];
  if (all === undefined) return undefined;
  const type = (quoted ?? quotedOnce ?? plain ?? "").trim();
  // Outside a list, only a colon distinguishes a label from prose.
  if ((item === undefined || TASK.test(type)) && !colons?.includes(":")) return undefined;
  const context = (inBrackets ?? afterDash ?? "").trim();
  const links = linksTo(targets, type || "relates to", context);
  if (type === "" && (links.length > 1 || afterDash !== undefined)) return undefined;
  return [...links, ...plainLinks(context)];
}

const linksTo = (targets: string, type: string, context = ""): NoteLink[] =>
  Array.from(targets.matchAll(LINK), ([, , to = ""]) => {
    return { to, isPath: false, type, context: context === "" ? [] : [context] };
  });

const plainLinks = (text: string): NoteLink[] =>
  Array.from(text.matchAll(LINK), ({ 1: isEmbedded, 2: to = "", index }) => {
    const type = replacementIn(text, index) ?? (isEmbedded ? "embeds" : "links to");
    return { to, isPath: false, type, context: [] };
  });

/** What the links of Markdown in a line mean, if there is nothing else in it; undefined for any other line. */
function labelOfPaths(text: string): string | undefined {
  const [all = "", label] = (text.length <= RELATION_LENGTH_MAX && PATH_RELATION.exec(text)) || [];
  const isOnly = label !== undefined && /^[\s,;.]*$/.test(text.slice(all.length).replaceAll(PATH_LINK, ""));
  return isOnly ? (replacementIn(`${label}:`, label.length + 1) ?? label.trim()) : undefined;
}

/**
 * The type that tells readers of the older record which one to read instead, if the text says so right before a link.
 */
function replacementIn(text: string, end: number): string | undefined {
  const [, newer, older] = REPLACEMENT.exec(text.slice(Math.max(end - 30, 0), end)) ?? [];
  return newer === undefined ? older && "deprecated by" : "replaces";
}

/**
 * The path of a note that a link of Markdown leads to; undefined for other addresses and for a heading of the same
 * note.
 */
export function pathIn(address: string): string | undefined {
  if (/^(?:[a-z][a-z\d+.-]*:|#|\/\/|:)/i.test(address)) return undefined;
  return decoded(address.split("#")[0] ?? "");
}

/** A part of an address or of a file's name without its `%20`; unchanged if it has others than UTF-8. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part).normalize("NFC");
  } catch {
    return part;
  }
}
