import { CONTENT_MAX, CONTEXT_MAX, SUMMARY_MAX, TAGS_MAX, TAG_MAX, cut, isLonger, quote, textProblem } from "./text.js";

/** A memory to store, whatever the file it comes from. */
export interface Note {
  /** What the file's relationships call it by. */
  readonly key: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly summary?: string | undefined;
  readonly tags: readonly string[];
  readonly importance?: number | undefined;
  /** What the content is made of, where it may grow from one import to the next. */
  readonly lines?: readonly string[];
}

/** A relationship to store, between two notes of the same file. */
export interface Link {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly context?: string | undefined;
  readonly strength?: number | undefined;
  readonly confidence?: number | undefined;
  /** What reports call it. */
  readonly label: string;
}

/** Something of the file that is not in the graph afterwards, and why. */
export interface NotTaken {
  readonly what: string;
  readonly reason: string;
}

export interface ImportedGraph {
  /** Set where the notes of an import are found again by a tag of their own. */
  readonly tag: string | undefined;
  readonly notes: ReadonlyMap<string, Note>;
  readonly links: ReadonlyMap<string, Link>;
  readonly merged: { readonly memories: number; readonly relationships: number };
  readonly notTaken: readonly NotTaken[];
}

export const labelOf = ({ title }: Pick<Note, "title">): string => `memory ${quote(title)}`;

/** The graph of a file while it is read: what fits goes in, the rest is reported. */
export class GraphDraft implements ImportedGraph {
  readonly notes = new Map<string, Note>();
  readonly links = new Map<string, Link>();
  readonly merged = { memories: 0, relationships: 0 };
  readonly notTaken: NotTaken[] = [];
  readonly #refused = new Set<string>();

  /** @param keyName what the file's relationships call a memory by, such as "name". */
  constructor(
    private readonly keyName: string,
    readonly tag: string | undefined,
  ) {}

  refuse(what: string, reason: string): void {
    this.notTaken.push({ what, reason });
  }

  addNote(note: Note): void {
    const problem = noteProblem(note);
    if (problem === undefined) {
      this.notes.set(note.key, note);
    } else {
      this.#refused.add(note.key);
      this.refuse(labelOf(note), problem);
    }
  }

  /** Two relationships of one type between the same two notes are one, whose context says what each of them said. */
  addLink(link: Link): void {
    const problem = this.#linkProblem(link);
    if (problem !== undefined) {
      this.refuse(link.label, problem);
      return;
    }
    const place = JSON.stringify([link.from, link.type, link.to]);
    const same = this.links.get(place);
    if (same) this.merged.relationships++;
    const context = joined(same?.context, link.context);
    if (context !== undefined && isLonger(context, CONTEXT_MAX)) {
      this.refuse(`the end of the context of ${link.label}`, `a context has at most ${CONTEXT_MAX} characters`);
    }
    this.links.set(place, { ...(same ?? link), context: context && cut(context, CONTEXT_MAX) });
  }

  #linkProblem({ from, to, context = "" }: Link): string | undefined {
    const missing = [from, to].find((key) => !this.notes.has(key));
    if (missing !== undefined && this.#refused.has(missing)) return `the memory ${quote(missing)} was not taken`;
    if (missing !== undefined) return `the file has no memory with the ${this.keyName} ${quote(missing)}`;
    if (from === to) return "it leads from a memory to itself";
    return textProblem(context);
  }
}

/** Both texts, or the first alone where it says the second already. */
function joined(first: string | undefined, second: string | undefined): string | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return `; ${first}; `.includes(`; ${second}; `) ? first : `${first}; ${second}`;
}

/** Why the service would not take a note, as far as that can be told without asking it. */
function noteProblem({ title, content, summary = "", tags, importance = 0 }: Note): string | undefined {
  const badText = [title, content, summary, ...tags].map(textProblem).find((problem) => problem !== undefined);
  if (badText !== undefined) return badText;
  if (title.trim() === "") return "its title is blank";
  if (content === "") return "its content is empty";
  // Cut into several memories, it would no longer be one that relationships can lead to.
  if (isLonger(content, CONTENT_MAX)) return `its content has more than ${CONTENT_MAX} characters`;
  if (isLonger(summary, SUMMARY_MAX)) return `its summary has more than ${SUMMARY_MAX} characters`;
  if (tags.length > TAGS_MAX) return `it has more than ${TAGS_MAX} tags`;
  if (tags.some((tag) => isLonger(tag, TAG_MAX))) return `it has a tag of more than ${TAG_MAX} characters`;
  if (!(importance >= 0 && importance <= 1)) return "its importance is not from 0 to 1";
  return undefined;
}
