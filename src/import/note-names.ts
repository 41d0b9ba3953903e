import { asText } from "./fields.js";

interface NamedNote {
  readonly path: string;
  readonly title: string | undefined;
  readonly otherNames: readonly string[];
}

/** What a link leads to: a note, by its path, or a name that no note has. */
export interface Target {
  readonly path: string | undefined;
  readonly name: string;
  /** Whether it names a file of another kind, such as an image. */
  readonly isFile: boolean;
}

const NOTE_END = /\.(?:md|markdown)$/i;
const FILE_END =
  /\.(?:png|jpe?g|gif|svg|webp|bmp|avif|pdf|mp[34]|wav|m4a|ogg|flac|webm|mov|mkv|canvas|base|csv|json|txt|zip|docx|xlsx|pptx)$/i;

/**
 * Finds notes by the names that links use: path, end of the path, title, permalink, alias, in any case. Where several
 * notes have a name, it is that of the one whose path is the shortest.
 */
export class NoteNames {
  readonly #paths = new Map<string, string>();
  /** Names that no note has, as they were first written. */
  readonly #missing = new Map<string, string>();

  constructor(notes: readonly NamedNote[]) {
    const add = (name: string, path: string) => {
      const key = normal(name);
      if (!this.#paths.has(key)) this.#paths.set(key, path);
    };
    for (const { path } of notes) add(path, path);
    for (const { path, title } of notes) {
      const parts = path.split("/");
      for (const start of parts.keys()) add(parts.slice(start).join("/"), path);
      if (title !== undefined) add(title, path);
    }
    for (const { path, otherNames } of notes) for (const name of otherNames) add(name, path);
  }

  /** @param link what is between the brackets: `Target`, `Target|shown` or `Target#Heading`. Undefined for a heading of the same note. */
  find(link: string): Target | undefined {
    const name = asText(link.split(/\\?\|/)[0]?.split("#")[0]?.trim());
    if (name === undefined) return undefined;
    const key = normal(name);
    const path = this.#paths.get(key);
    if (path === undefined && !this.#missing.has(key)) this.#missing.set(key, name);
    return { path, name: this.#missing.get(key) ?? name, isFile: path === undefined && FILE_END.test(name) };
  }
}

const normal = (name: string): string =>
  name
    .trim()
    .replace(/^(?:\.?\/)+/, "")
    .replace(NOTE_END, "")
    .normalize("NFC")
    .toLowerCase();
