import { NOTE_END } from "../text.js";
import { type NoteLink, pathIn } from "./note-links.js";

/** A page that Notion exported: its properties are the lines below its title. */
export interface NotionPage {
  readonly title: string | undefined;
  /** By their names in lower case. */
  readonly properties: ReadonlyMap<string, string>;
  /** The pages in its properties. */
  readonly links: readonly NoteLink[];
}

/** The id of a page, which Notion adds to the names of files. */
export const NOTION_ID = / [0-9a-f]{32}$/;

const PROPERTY = /^([^\s#:>*|`-][^:]{0,99}): (\S.*)$/;
/** `Plan (Work/Plan%200123….md)`, one of several with commas between them. */
const PAGE = /\(([^()\s]{1,1000}\.md)\)/g;

/** Undefined for a file that another program named. */
export function readNotionPage(path: string, body: string): NotionPage | undefined {
  if (!NOTION_ID.test(path.replace(NOTE_END, ""))) return undefined;
  const [, heading = "", below = ""] = /^\s*# (.*)\n\n([^]*)$/.exec(`${body}\n\n`) ?? [];
  const properties = new Map<string, string>();
  const links: NoteLink[] = [];
  for (const line of below.split("\n")) {
    const [, name, value] = PROPERTY.exec(line) ?? [];
    if (name === undefined || value === undefined) break;
    properties.set(name.toLowerCase(), value.trim());
    for (const to of Array.from(value.matchAll(PAGE), ([, path = ""]) => pathIn(path))) {
      if (to !== undefined) links.push({ to, isPath: true, type: name, context: [] });
    }
  }
  return { title: heading.trim() || undefined, properties, links };
}
