import { type ImportedGraph, type Kind, type NotTaken, type Note, labelOf } from "./graph.js";
import { type Change, type GraphStore, Refused, type StoredMemory } from "./graph-store.js";
import { CONTENT_MAX, isLonger, quote } from "./text.js";

/** The result for what was read: at the end, the other numbers add up to `read`. */
interface Outcome {
  readonly read: number;
  created: number;
  existing: number;
  readonly merged: number;
}

export interface ImportReport {
  readonly memories: Outcome & { updated: number };
  readonly relationships: Outcome;
  readonly others: { readonly read: number };
  readonly notTaken: NotTaken[];
  readonly ignored: readonly NotTaken[];
  readonly notCarried: ReadonlyMap<string, number>;
}

/** The report before anything is imported: only the results of reading the file. */
export function newReport(graph: ImportedGraph): ImportReport {
  return {
    memories: { ...graph.memories, created: 0, updated: 0, existing: 0 },
    relationships: { ...graph.relationships, created: 0, existing: 0 },
    others: graph.others,
    notTaken: [...graph.notTaken],
    ignored: graph.ignored,
    notCarried: graph.notCarried,
  };
}

interface RunOptions {
  readonly store: GraphStore;
  /** Updated during the run, so that it is correct even if the run ends early. */
  readonly report: ImportReport;
  readonly onStep: () => void;
  /** Called with the number of requests to come, when the existing memories are known. */
  readonly onPlan?: (requests: number) => void;
}

/** Concurrent requests: enough to hide network latency, few enough to leave capacity to others. */
const CONCURRENCY = 4;

/** Imports a graph into the store: keeps what exists, creates what is missing, updates what has grown. */
export async function runImport(graph: ImportedGraph, { store, report, onStep, onPlan }: RunOptions): Promise<void> {
  const stored = await storedByTitle(graph, store);
  const sameOf = (note: Note) => stored.get(note.title)?.find((memory) => isSame(note, memory));
  const changes = [...graph.notes.values()].filter((note) => {
    const same = sameOf(note);
    return !same || changeOf(note, same) !== undefined;
  });
  onPlan?.(changes.length + graph.links.size);
  const ids = new Map<string, string>();
  /** Reports what the service refuses, and continues. */
  const step = async (kind: Kind, what: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      report.notTaken.push({ kind, what, reason: error.message });
    }
    onStep();
  };

  await inParallel(graph.notes.values(), (note) =>
    step("memory", labelOf(note), async () => {
      const same = sameOf(note);
      if (same) ids.set(note.key, same.id);
      else ids.set(note.key, await store.createMemory(note));
      report.memories[same ? await grow(note, same, store) : "created"]++;
    }),
  );
  const idOf = (key: string): string => {
    const id = ids.get(key);
    if (id === undefined) throw new Refused(`the memory ${quote(graph.notes.get(key)?.title ?? key)} was not imported`);
    return id;
  };
  await inParallel(graph.links.values(), (link) =>
    step("relationship", link.label, async () => {
      report.relationships[await store.createRelationship(idOf(link.from), idOf(link.to), link)]++;
    }),
  );
}

/** The stored memories that have the title of a note. */
async function storedByTitle({ notes, tag }: ImportedGraph, store: GraphStore): Promise<Map<string, StoredMemory[]>> {
  const stored = new Map<string, StoredMemory[]>();
  for (const { title } of notes.values()) stored.set(title, []);
  if (stored.size === 0) return stored;
  for await (const memory of store.memories(tag)) stored.get(memory.title)?.push(memory);
  return stored;
}

/**
 * Whether a stored memory with the same title came from this note. A note that grows is identified by its title; if that
 * was cut, by the full title at the start of the content. Any other note is identified by its whole content.
 */
function isSame({ key, type, title, content, lines }: Note, memory: StoredMemory): boolean {
  if (!lines) return memory.type === type && memory.content === content;
  return title === key || memory.content === key || memory.content.startsWith(`${key}\n`);
}

/** Adds missing lines and tags to a memory. */
async function grow(note: Note, memory: StoredMemory, store: GraphStore): Promise<"updated" | "existing"> {
  const change = changeOf(note, memory);
  if (!change) return "existing";
  try {
    await store.update(memory, fitChange(change));
  } catch (error) {
    if (!(error instanceof Refused && error.reason === "version_mismatch")) throw error;
    // It was changed since it was read: keeps the change, and adds the lines to it.
    const present = await store.memory(memory.id);
    const rest = changeOf(note, present);
    if (rest) await store.update(present, fitChange(rest));
  }
  return "updated";
}

/** What to add to a memory; undefined for nothing. */
function changeOf(note: Note, memory: StoredMemory): Change | undefined {
  const content = grownContent(note, memory.content);
  const has = new Set(memory.tags);
  const gained = note.tags.filter((tag) => !has.has(tag.trim().toLowerCase().normalize("NFC")));
  if (content === memory.content && gained.length === 0) return undefined;
  return {
    ...(content === memory.content ? {} : { content }),
    ...(gained.length === 0 ? {} : { tags: [...memory.tags, ...gained] }),
  };
}

/** @throws Refused when the content would be too long: cutting it would lose existing text. */
function fitChange(change: Change): Change {
  if (change.content === undefined || !isLonger(change.content, CONTENT_MAX)) return change;
  throw new Refused(`with what the file adds, its content would have more than ${CONTENT_MAX} characters`);
}

/** Lines that tools rewrite each time, such as times: the last one replaces the earlier one. */
const VOLATILE = /^(?:_?(?:last|updated|accessed|access|modified)[\w .-]*|timestamp): /i;

/** Lines are only added: one that is not in the file may have been written by a user of the service. */
function grownContent({ key, lines = [] }: Note, content: string): string {
  const gained = lines.filter((line) => !`\n${content}\n`.includes(`\n${line}\n`));
  if (gained.length === 0) return content;
  // A memory without lines has its name as content, which is then replaced.
  const grown = content === key && !lines.includes(key) ? [] : content.split("\n");
  for (const line of gained) {
    const label = VOLATILE.exec(line)?.[0];
    const at = label === undefined ? -1 : grown.findIndex((present) => present.startsWith(label));
    if (at === -1) grown.push(line);
    else grown[at] = line;
  }
  return grown.join("\n");
}

/** Works on all items, a few at once. After the first error it only waits for the running ones. */
async function inParallel<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items].values();
  let failed = false;
  const worker = async () => {
    for (const item of queue) {
      if (failed) return;
      try {
        await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: CONCURRENCY }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
