import { asText } from "./fields.js";
import { NOTE_END, PLACEHOLDER } from "./text.js";

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

const FILE_END =
  /\.(?:png|jpe?g|gif|svg|webp|bmp|avif|pdf|mp[34]|wav|m4a|ogg|flac|webm|mov|mkv|canvas|base|csv|json|txt|zip|docx|xlsx|pptx)$/i;
/** A block at the end of a link, as in `[[Note^37066d]]`. */
const BLOCK = /\^[a-z\d-]{1,100}$/i;
/** Before the names of notes in other vaults of Dendron. */
const VAULT = /^\s*dendron:\/\/[^/]+\//;
/** The time at the beginning of a file's name that identifies a note in a Zettelkasten. */
const TIME_ID = /^\d{8,17}(?=[ _-])/;

/**
 * Finds notes by the names that links use: their path from the top or from the folder of the linking note, the end of
 * their path, title, name, permalink, alias or id. Case does not matter. If several notes have a name, it belongs to the one
 * with the shortest path.
 */
export class NoteNames {
  readonly #paths = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** Names that no note has, as they were first written. */
  readonly #missing = new Map<string, string>();

  /** @param isShownFirst whether links are `shown|Target`, as in Dendron. */
  constructor(
    notes: readonly NamedNote[],
    private readonly isShownFirst = false,
  ) {
    const add = (name: string, path: string) => {
      const key = normal(name);
      if (!this.#names.has(key)) this.#names.set(key, path);
    };
    for (const { path } of notes) this.#paths.set(normal(path), path);
    for (const { path, title } of notes) {
      const parts = path.split("/");
      for (const start of parts.keys()) add(parts.slice(start).join("/"), path);
      if (title !== undefined) add(title, path);
    }
    for (const { path, otherNames } of notes) {
      for (const name of otherNames) add(name, path);
      const id = TIME_ID.exec(path.slice(path.lastIndexOf("/") + 1))?.[0];
      if (id !== undefined) add(id, path);
    }
  }

  /**
   * @param link what is between the brackets: `Target`, `Target|shown` or `Target#Heading`.
   * @param from the path of the note that has it.
   * @returns undefined for a heading of the same note, and for what a template fills in later.
   */
  find(link: string, from: string): Target | undefined {
    const whole = (link.split(/\\?\|/).at(this.isShownFirst ? -1 : 0) ?? "").replace(VAULT, "");
    if (PLACEHOLDER.test(whole)) return undefined;
    // The name is tried whole first, since a title may contain a `#`.
    const names = [whole, whole.replace(/#[^#]*$/, ""), whole.replace(/#.*$/s, "")].map((name) => asText(name.trim()));
    const ofBlock = asText(names.at(-1)?.replace(BLOCK, ""));
    for (const name of [...names, ofBlock]) {
      const path = name && this.#pathOf(name, from, ["top", "beside"]);
      if (path) return { path, name, isFile: false };
    }
    const name = names.at(-1);
    return name === undefined
      ? undefined
      : { path: undefined, name: this.#missingName(name), isFile: FILE_END.test(name) };
  }

  /** @param path of a link of Markdown. Undefined if it leads to no note, nor to a missing Markdown file. */
  findPath(link: string, from: string): Target | undefined {
    const path = NOTE_END.test(link) ? withSlashes(link) : link;
    const found = this.#pathOf(path, from, ["beside", "top"]);
    if (found !== undefined) return { path: found, name: path, isFile: false };
    const name = path.slice(path.lastIndexOf("/") + 1).replace(NOTE_END, "");
    if (!NOTE_END.test(path) || name === "") return undefined;
    // If a note elsewhere has the name, the link means another one.
    const missing = this.#names.has(normal(name)) ? withoutDots(besideOf(from, path)).replace(NOTE_END, "") : name;
    return { path: undefined, name: this.#missingName(missing), isFile: false };
  }

  /** The first spelling of a missing name, so that all spellings of it lead to the same name. */
  #missingName(name: string): string {
    const key = normal(name);
    const first = this.#missing.get(key) ?? name;
    this.#missing.set(key, first);
    return first;
  }

  /** @param places where to look first for a note with this path; the name of any note comes last. */
  #pathOf(name: string, from: string, places: readonly ("top" | "beside")[]): string | undefined {
    const isRelative = /^\.\.?\//.test(name);
    const found = {
      top: isRelative ? undefined : this.#paths.get(normal(name)),
      beside: this.#paths.get(normal(withoutDots(besideOf(from, name)))),
    };
    const place = places.find((one) => found[one] !== undefined);
    const path = place === undefined ? this.#names.get(normal(name)) : found[place];
    return path === undefined && name.includes("\\") ? this.#pathOf(withSlashes(name), from, places) : path;
  }
}

/** The path that a link means beside the note that has it; one from the top begins with `/`. */
const besideOf = (from: string, path: string): string =>
  path.startsWith("/") ? path.slice(1) : `${from.slice(0, from.lastIndexOf("/") + 1)}${path}`;

/** A path as programs on Windows write it. */
const withSlashes = (path: string): string => path.replaceAll("\\", "/");

/** `a/../b/./c` is `b/c`. */
function withoutDots(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

const normal = (name: string): string =>
  name
    .trim()
    .replace(/^memory:\/\//, "")
    .replace(/^(?:\.{0,2}\/)+/, "")
    .replace(NOTE_END, "")
    .normalize("NFC")
    .toLowerCase();
