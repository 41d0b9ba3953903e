import { isUtf8 } from "node:buffer";
import type { Dirent } from "node:fs";
import { readFile, readdir, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { LIMITS } from "../limits.js";
import { type FinishOptions, GraphDraft } from "./draft.js";
import { journalTitles, pageTitle } from "./formats/logseq.js";
import { type MarkdownNote, readMarkdownNote } from "./formats/markdown-note.js";
import type { NoteLink } from "./formats/note-links.js";
import { NOTION_ID } from "./formats/notion.js";
import { timeOfName } from "./formats/note-time.js";
import type { ImportedGraph } from "./graph.js";
import { ImportStopped, showReasons } from "./import-stopped.js";
import { NoteNames } from "./note-names.js";
import { encodingOf, isNote, quote } from "./text.js";

type Bounds = { readonly [Name in keyof typeof LIMITS.importFolder]: number };

interface FolderOptions extends FinishOptions {
  readonly bounds?: Partial<Bounds>;
}

/** A note, and its path within the folder, with `/`. */
interface FoundNote extends MarkdownNote {
  readonly path: string;
}

/**
 * Reads the Markdown notes of a folder: each is a memory, its links are relationships.
 * @throws ImportStopped when there are too many files or bytes, or no note.
 */
export async function readNotesFolder(folder: string, options: FolderOptions = {}): Promise<ImportedGraph> {
  const place = resolve(folder);
  const reader = new FolderReader(place, { ...LIMITS.importFolder, ...options.bounds });
  const graph = (await reader.read()).finish(options);
  if (graph.notes.size > 0) return graph;
  const advice =
    "Give a folder with Markdown files (.md, .markdown, .mdx or .mdc), or a file of memories. Put several files of " +
    "JSON into one: cat *.json > memories.jsonl";
  throw new ImportStopped(`There are no notes in ${place}.${showReasons(graph)}\n${advice}`);
}

class FolderReader {
  readonly #draft = new GraphDraft();
  readonly #notes: FoundNote[] = [];
  /** Files that are no notes, by what their names end with. */
  readonly #others = new Map<string, number>();
  /** The titles of notes by their paths, if it is a graph of Logseq. */
  #logseqTitle: ((path: string) => string) | undefined;
  #isDendron = false;
  #files = 0;
  #bytes = 0;

  constructor(
    private readonly root: string,
    private readonly bounds: Bounds,
  ) {}

  async read(): Promise<GraphDraft> {
    // Reads level by level: if several notes have the same name, links lead to the one nearest to the top.
    let folders = [""];
    for (let depth = 0; folders.length > 0; depth++) {
      const deeper: string[] = [];
      for (const folder of folders) {
        if (depth > this.bounds.depth) this.#refuse(folder, `it is more than ${this.bounds.depth} folders deep`);
        else deeper.push(...(await this.#readFolder(folder)));
      }
      folders = deeper;
    }
    for (const [end, times] of this.#others)
      this.#draft.ignore(`${times} × ${end || "without an ending"}`, "files that are no notes");
    this.#addAll();
    return this.#draft;
  }

  /** Reads the notes of a folder; returns its folders. */
  async #readFolder(folder: string): Promise<string[]> {
    const entries = await this.#attempt(folder, () => readdir(join(this.root, folder), { withFileTypes: true }));
    const folders: string[] = [];
    for (const entry of (entries ?? []).sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (++this.#files > this.bounds.files) {
        throw new ImportStopped(
          `${this.root} has more than ${this.bounds.files} files. Import its folders one by one.`,
        );
      }
      if (path === LOGSEQ_CONFIG) await this.#readLogseqConfig(path);
      if (DENDRON_FILES.has(entry.name)) this.#isDendron = true;
      if (LOGSEQ_BACKUPS.has(path)) this.#draft.ignore(quote(path), "earlier versions that Logseq keeps");
      else if (entry.name === PACKAGES)
        this.#draft.ignore(quote(path), "packages of others: import their notes by a run of its own");
      else if (entry.isDirectory() && !entry.name.startsWith(".")) folders.push(path);
      else await this.#readEntry(path, entry);
    }
    return folders;
  }

  async #readEntry(path: string, entry: Dirent): Promise<void> {
    const end = extname(entry.name).toLowerCase();
    if (entry.isSymbolicLink()) this.#draft.ignore(quote(path), "a symbolic link, which is not followed");
    else if (entry.name.startsWith(".")) {
      this.#draft.ignore(
        quote(path),
        entry.isDirectory() ? "it is hidden: import its notes by a run of its own" : "it is hidden",
      );
    } else if (!entry.isFile()) this.#draft.ignore(quote(path), "neither a file nor a folder");
    else if (!isNote(entry.name)) {
      this.#others.set(end, (this.#others.get(end) ?? 0) + 1);
    } else await this.#readNote(path);
  }

  async #readNote(path: string): Promise<void> {
    const content = await this.#readFile(path);
    const text = content && decode(content);
    if (text !== undefined && isJoplinItem(path, text)) {
      this.#refuse(path, "a file of Joplin's own format: export it again from Joplin as MD - Markdown + Front Matter");
    } else if (text !== undefined) {
      const note = { path, ...readMarkdownNote(text, path) };
      this.#notes.push(note);
      if (note.isDrawing) this.#draft.ignore(quote(path), "the data of a drawing: its texts and links are imported");
    } else if (content) this.#refuse(path, problemOf(content));
  }

  async #readLogseqConfig(path: string): Promise<void> {
    const config = await this.#readFile(path);
    const titleOfJournal = journalTitles(config?.toString() ?? "");
    this.#logseqTitle = (place) => titleOfJournal(place) ?? pageTitle(nameOf(place));
  }

  /** Undefined for a file that is too large or cannot be read, which is reported. */
  async #readFile(path: string): Promise<Buffer | undefined> {
    const place = join(this.root, path);
    const { fileBytes, bytes } = this.bounds;
    const { size } = (await this.#attempt(path, () => stat(place))) ?? {};
    if (size === undefined) return undefined;
    if (size > fileBytes) {
      this.#refuse(path, `it has more than ${fileBytes} bytes: divide it`);
      return undefined;
    }
    this.#bytes += size;
    if (this.#bytes > bytes) {
      throw new ImportStopped(
        `The notes in ${this.root} have more than ${bytes} bytes. Import its folders one by one.`,
      );
    }
    return this.#attempt(path, () => readFile(place));
  }

  #addAll(): void {
    const titled = this.#notes.map((note) => {
      return { ...note, title: note.title ?? this.#logseqTitle?.(note.path) ?? usualTitle(note) };
    });
    const names = new NoteNames(titled, this.#isDendron);
    for (const { path, body, title, type = "note", ...note } of titled) {
      const name = title ?? nameOf(path);
      const { details, tags, summary, importance } = note;
      const kept = { ...note.kept, createdAt: note.kept.createdAt ?? timeOfName(nameOf(path)) };
      const texts = [body === "" ? name : body];
      this.#draft.addMemory({
        place: path,
        name,
        id: idOf(path),
        type,
        texts,
        details,
        tags,
        summary,
        importance,
        kept,
        grows: false,
      });
    }
    for (const { path, links, tags } of this.#notes) {
      // In Logseq, a tag is a link to the page of this name.
      const ofTags = this.#logseqTitle ? tags.map(linkTo) : [];
      for (const { to, isPath, type, context, isOptional = false } of [...links, ...ofTags]) {
        const found = isPath ? names.findPath(to, path) : names.find(to, path);
        // A link to the note itself leads to one of its headings or blocks.
        if (found === undefined || found.path === path || (isOptional && found.path === undefined)) continue;
        if (found.isFile) this.#draft.ignore(`${quote(path)}: ${quote(to)}`, "a link to a file that is no note");
        else {
          const end = found.path === undefined ? found.name : idOf(found.path);
          this.#draft.addRelationship({ place: path, from: idOf(path), to: end, type, context });
        }
      }
    }
  }

  #refuse(path: string, reason: string): void {
    this.#draft.refuse("other", quote(path), reason);
  }

  /** Reports what cannot be read, and continues. */
  async #attempt<Value>(path: string, read: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error;
      const code = String(error.code);
      const isForbidden = code === "EACCES" || code === "EPERM";
      // Node puts this character in place of what is not UTF-8, so it finds no file of that name.
      const isMisnamed = code === "ENOENT" && path.includes("\uFFFD");
      const reason = isMisnamed ? "its name is not in UTF-8: rename it" : `it cannot be read (${code})`;
      this.#refuse(path || ".", isForbidden ? "you have no permission to read it" : reason);
      return undefined;
    }
  }
}

/** Where npm keeps the packages of a project, each with notes of its own. */
const PACKAGES = "node_modules";

const LOGSEQ_CONFIG = "logseq/config.edn";
const LOGSEQ_BACKUPS = new Set(["logseq/bak", "logseq/version-files"]);

/** What the folders of Dendron have besides notes. */
const DENDRON_FILES = new Set(["dendron.yml", "root.schema.yml"]);

/** Whether a file is one of Joplin's RAW format, where notes, tags and attachments are files that look alike. */
const isJoplinItem = (path: string, text: string): boolean =>
  /(?:^|\/)[0-9a-f]{32}\.md$/.test(path) && /\ntype_: \d+\s*$/.test(text);

/** Names that many folders have, so that they say little without the folder's name. */
const USUAL_NAME = /^(?:_?index|readme|skill|agents?|claude|gemini|copilot-instructions|changelog)$/i;

/** The title of a note whose file's name says little; undefined for any other. */
function usualTitle({ path, name }: FoundNote): string | undefined {
  const own = nameOf(path);
  if (!USUAL_NAME.test(own)) return undefined;
  const folder = path.split("/").at(-2);
  return name ?? (folder === undefined ? own : `${folder.normalize("NFC")}/${own}`);
}

const linkTo = (to: string): NoteLink => ({ to, isPath: false, type: "links to", context: [], isOptional: true });

/** An id that is the name of no note. */
const idOf = (path: string): string => `./${path}`;

/** The name of a file without its ending, and without the id that Notion adds. */
const nameOf = (path: string): string =>
  path
    .slice(path.lastIndexOf("/") + 1, -extname(path).length)
    .replace(NOTION_ID, "")
    .normalize("NFC");

/** Undefined for what is not text, or contains the character NUL, which the service cannot store. */
function decode(content: Buffer): string | undefined {
  try {
    const text = new TextDecoder(encodingOf(content), { fatal: true }).decode(content);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Why a note was not decoded. */
function problemOf(content: Buffer): string {
  const [before = "", ...others] = content.toString("latin1").split("\0");
  // UTF-16 without a byte order mark looks like UTF-8 with this character in every second place.
  const isText = isUtf8(content) && others.length > 0 && others.length < content.length / 4;
  if (!isText) return "it is not text in UTF-8: save it as UTF-8 and try again";
  return `line ${before.split("\n").length} has the character NUL: remove it and try again`;
}
