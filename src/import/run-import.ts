import { type ImportedGraph, type NotTaken, type Note, labelOf } from "./graph.js";
import { type GraphStore, Refused, type StoredMemory } from "./graph-store.js";
import { quote } from "./text.js";

export interface ImportReport {
  readonly memories: { created: number; updated: number; merged: number; existing: number };
  readonly relationships: { created: number; merged: number; existing: number };
  readonly notTaken: NotTaken[];
}

/** What has been done of an import that has done nothing yet: only what reading the file found. */
export function newReport({ merged, notTaken }: ImportedGraph): ImportReport {
  return {
    memories: { created: 0, updated: 0, merged: merged.memories, existing: 0 },
    relationships: { created: 0, merged: merged.relationships, existing: 0 },
    notTaken: [...notTaken],
  };
}

interface RunOptions {
  readonly store: GraphStore;
  /** Filled as the run goes, so that it holds what was done even if the run ends early. */
  readonly report: ImportReport;
  readonly onStep: () => void;
}

/** Requests under way at once: enough to hide the network's delay, few enough to leave the service to others. */
const CONCURRENCY = 4;

/** Brings a graph into the store: what is there stays, what is missing is made, what has grown is updated. */
export async function runImport(graph: ImportedGraph, { store, report, onStep }: RunOptions): Promise<void> {
  const stored = await storedByTitle(graph, store);
  const ids = new Map<string, string>();
  /** What the service refuses is reported, and the rest goes on. */
  const step = async (what: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      report.notTaken.push({ what, reason: error.message });
    }
    onStep();
  };

  await inParallel(graph.notes.values(), (note) =>
    step(labelOf(note), async () => {
      const same = stored.get(note.title)?.find((memory) => isSame(note, memory));
      if (same) ids.set(note.key, same.id);
      else ids.set(note.key, await store.createMemory(note));
      report.memories[same ? await grow(note, same, store) : "created"]++;
    }),
  );
  await inParallel(graph.links.values(), (link) =>
    step(link.label, async () => {
      const made = await store.createRelationship(idOf(link.from, ids), idOf(link.to, ids), link);
      report.relationships[made]++;
    }),
  );
}

function idOf(key: string, ids: ReadonlyMap<string, string>): string {
  const id = ids.get(key);
  if (id === undefined) throw new Refused(`the memory ${quote(key)} was not taken`);
  return id;
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

/** Adds the lines that a memory does not have yet. */
async function grow(note: Note, memory: StoredMemory, store: GraphStore): Promise<"updated" | "existing"> {
  const content = grownContent(note, memory.content);
  if (content === memory.content) return "existing";
  try {
    await store.updateContent(memory, content);
  } catch (error) {
    if (!(error instanceof Refused && error.reason === "version_mismatch")) throw error;
    // Somebody changed it since it was read: what they wrote stays, and the lines are added to that.
    const present = await store.memory(memory.id);
    const grown = grownContent(note, present.content);
    if (grown !== present.content) await store.updateContent(present, grown);
  }
  return "updated";
}

/** Lines are only added: what the file no longer has may have been written by somebody in the service. */
function grownContent({ key, lines = [] }: Note, content: string): string {
  const gained = lines.filter((line) => !`\n${content}\n`.includes(`\n${line}\n`));
  if (gained.length === 0) return content;
  // A memory without lines has its name for content, to which nothing needs to be added.
  return [...(content === key && !lines.includes(key) ? [] : [content]), ...gained].join("\n");
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
