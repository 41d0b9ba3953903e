import { type ImportedGraph, type Kind, type NotTaken, type Note, labelOf } from "./graph.js";
import { type Change, type GraphStore, Refused, type StoredMemory } from "./graph-store.js";
import { CONTENT_MAX, isLonger, quote } from "./text.js";

/** What has become of what was read: at the end, the sum of the others is `read`. */
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

/** What has been done of an import that has done nothing yet: only what reading the file found. */
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
  /** Filled as the run goes, so that it holds what was done even if the run ends early. */
  readonly report: ImportReport;
  readonly onStep: () => void;
  /** Told how many requests are still to come, once it is known what is there already. */
  readonly onPlan?: (requests: number) => void;
}

/** Requests under way at once: enough to hide the network's delay, few enough to leave the service to others. */
const CONCURRENCY = 4;

/** Brings a graph into the store: what is there stays, what is missing is made, what has grown is updated. */
export async function runImport(graph: ImportedGraph, { store, report, onStep, onPlan }: RunOptions): Promise<void> {
  const stored = await storedByTitle(graph, store);
  const sameOf = (note: Note) => stored.get(note.title)?.find((memory) => isSame(note, memory));
  const changes = [...graph.notes.values()].filter((note) => {
    const same = sameOf(note);
    return !same || changeOf(note, same) !== undefined;
  });
  onPlan?.(changes.length + graph.links.size);
  const ids = new Map<string, string>();
  /** What the service refuses is reported, and the rest goes on. */
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
    if (id === undefined) throw new Refused(`the memory ${quote(graph.notes.get(key)?.title ?? key)} was not taken`);
    return id;
  };
  await inParallel(graph.links.values(), (link) =>
    step("relationship", link.label, async () => {
      report.relationships[await store.createRelationship(idOf(link.from), idOf(link.to), link)]++;
    }),
  );
}

/** What is in the store and may be what a note of this graph made. */
async function storedByTitle({ notes, tag }: ImportedGraph, store: GraphStore): Promise<Map<string, StoredMemory[]>> {
  const stored = new Map<string, StoredMemory[]>();
  for (const { title } of notes.values()) stored.set(title, []);
  if (stored.size === 0) return stored;
  for await (const memory of store.memories(tag)) stored.get(memory.title)?.push(memory);
  return stored;
}

/**
 * Whether a stored memory of the same title is what this note made. A note that grows is known by its title alone; if
 * that was cut, the content begins with all of it. Any other is known by all of its text.
 */
function isSame({ key, type, title, content, lines }: Note, memory: StoredMemory): boolean {
  if (!lines) return memory.type === type && memory.content === content;
  return title === key || memory.content === key || memory.content.startsWith(`${key}\n`);
}

/** Adds the lines and tags that a memory does not have yet. */
async function grow(note: Note, memory: StoredMemory, store: GraphStore): Promise<"updated" | "existing"> {
  const change = changeOf(note, memory);
  if (!change) return "existing";
  try {
    await store.update(memory, fitChange(change));
  } catch (error) {
    if (!(error instanceof Refused && error.reason === "version_mismatch")) throw error;
    // Somebody changed it since it was read: what they wrote stays, and the lines are added to that.
    const present = await store.memory(memory.id);
    const rest = changeOf(note, present);
    if (rest) await store.update(present, fitChange(rest));
  }
  return "updated";
}

/** What a memory would gain; undefined for nothing. */
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

/** @throws Refused where there is more than a memory holds: cutting it would lose what somebody wrote. */
function fitChange(change: Change): Change {
  if (change.content === undefined || !isLonger(change.content, CONTENT_MAX)) return change;
  throw new Refused(`with what the file adds, its content would have more than ${CONTENT_MAX} characters`);
}

/** Lines that a file writes anew each time: the last one counts. */
const VOLATILE = /^(?:_?(?:last|updated|accessed|access|modified)[\w .-]*|timestamp): /i;

/** Lines are only added: what the file no longer has may have been written by somebody in the service. */
function grownContent({ key, lines = [] }: Note, content: string): string {
  const gained = lines.filter((line) => !`\n${content}\n`.includes(`\n${line}\n`));
  if (gained.length === 0) return content;
  // A memory without lines has its name for content, to which nothing needs to be added.
  const grown = content === key && !lines.includes(key) ? [] : content.split("\n");
  for (const line of gained) {
    const label = VOLATILE.exec(line)?.[0];
    const at = label === undefined ? -1 : grown.findIndex((present) => present.startsWith(label));
    if (at === -1) grown.push(line);
    else grown[at] = line;
  }
  return grown.join("\n");
}

/** Works on all items, a few at once. The first error ends it, once what is under way has ended. */
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
