import {
  type ImportedGraph,
  type Kind,
  type Link,
  type NotTaken,
  type Note,
  isDated,
  bytesIn,
  labelOf,
} from "./graph.js";
import { storeAll } from "./batches.js";
import { type ImportWork, requestsFor } from "./estimate.js";
import {
  type Change,
  type GraphStore,
  type PlacedLink,
  Refused,
  type StoredLink,
  type StoredMemory,
  isDatedLink,
} from "./graph-store.js";
import { IMPORTED, nameNotes } from "./imported-id.js";
import { StoredAlike } from "./stored-alike.js";
import { LIMITS } from "../limits.js";
import { isLonger, quote } from "./text.js";

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
  /** Called with the number of items that are done, by default 1. */
  readonly onStep: (items?: number) => void;
  /** Called with the work to do, once the existing memories are known. */
  readonly onPlan?: (work: Required<ImportWork>) => void;
}

/** Concurrent updates: enough to hide network latency, few enough to leave capacity to others. */
const CONCURRENCY = 4;

/** How often memories that another import has stored meanwhile are looked up. After that they are left out. */
const MEETINGS_MAX = 3;

/**
 * Imports a graph into the store: keeps what exists, creates what is missing, updates what has grown. Another import of
 * the same notes may run at the same time: by their client ids, each note is stored once.
 */
export async function runImport(file: ImportedGraph, options: RunOptions): Promise<void> {
  const graph = { ...file, notes: nameNotes(file.notes) };
  const ids = new Map<string, string>();
  const leaveOut = (kind: Kind, what: string, reason: string) => {
    options.report.notTaken.push({ kind, what, reason });
    options.onStep();
  };
  const run: Run = { ...options, ids, leaveOut };
  const { fresh, existing } = await compareWithStored(graph, run);
  const updates = existing.filter(({ note, same }) => changeOf(note, same) !== undefined).length;
  const found = new Map([...ids, ...existing.map(({ note, same }) => [note.key, same.id] as const)]);
  const stored = await storedLinks(graph.links.values(), found, run.store);
  options.onPlan?.({ items: fresh.length + graph.links.size - stored.size, bytes: bytesIn(fresh), updates });
  await inParallel(existing, (one) => updateExisting(one, run));
  let waiting = await createMemories(fresh, run);
  for (let meetings = 1; waiting.length > 0; meetings++) {
    const rest = { notes: new Map(waiting.map((note) => [note.key, note])), tag: undefined };
    const compared = await compareWithStored(rest, run);
    await inParallel(compared.existing, (one) => updateExisting(one, run));
    waiting = await createMemories(compared.fresh, run, { isLast: meetings >= MEETINGS_MAX });
  }
  options.report.relationships.existing += stored.size;
  options.onStep(stored.size);
  const rest = [...graph.links.values()].filter((link) => !stored.has(link));
  await createRelationships(placeLinks(rest, graph, run), run);
}

/** An import while it runs. */
interface Run extends RunOptions {
  /** The ids of the memories in the store, by the keys of their notes. */
  readonly ids: Map<string, string>;
  /** Reports what the service does not take; the import continues. */
  leaveOut(kind: Kind, what: string, reason: string): void;
}

type NotesToFind = Pick<ImportedGraph, "notes" | "tag">;

interface Existing {
  readonly note: Note;
  readonly same: StoredMemory;
}

/** Finds out which notes the store has. A memory that has a note's client id, but not its text, is left as it is. */
async function compareWithStored(graph: NotesToFind, { store, ids, leaveOut }: Run) {
  const stored = await storedAlike(graph, store);
  const [fresh, existing]: [Note[], Existing[]] = [[], []];
  for (const note of graph.notes.values()) {
    const same = stored.alike.find(note);
    const ofClientId = stored.byClientId.get(note.kept?.clientId ?? "");
    if (same) existing.push({ note, same });
    else if (ofClientId === undefined) fresh.push(note);
    else {
      leaveOut("memory", labelOf(note), changedAs(ofClientId));
      ids.set(note.key, ofClientId);
    }
  }
  return { fresh, existing };
}

async function updateExisting({ note, same }: Existing, { store, report, ids, onStep, leaveOut }: Run): Promise<void> {
  ids.set(note.key, same.id);
  try {
    report.memories[await grow(note, same, store)]++;
    onStep();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    leaveOut("memory", labelOf(note), error.message);
  }
}

/** Returns the notes whose client ids are taken, except at the last attempt, which leaves them out. */
async function createMemories(
  notes: readonly Note[],
  { store, report, ids, onStep, leaveOut }: Run,
  { isLast = false } = {},
): Promise<Note[]> {
  const taken: Note[] = [];
  const createAll = <Some extends Note>(
    all: readonly Some[],
    create: (some: readonly Some[]) => Promise<readonly string[]>,
  ) => {
    const createSome = async (some: readonly Some[]) => {
      const created = await create(some).catch((error: unknown) => {
        if (isLast || !(error instanceof Refused && error.reason === "memory_exists")) throw error;
        return undefined;
      });
      if (!created) return void taken.push(...some);
      for (const [index, { key }] of some.entries()) ids.set(key, created[index] ?? "");
      report.memories.created += some.length;
      onStep(some.length);
    };
    return storeAll(all, createSome, (note, { message }) => leaveOut("memory", labelOf(note), message));
  };
  await createAll(notes.filter(isDated), (some) => store.createDated(some));
  await createAll(
    notes.filter((note) => !isDated(note)),
    (some) => store.createMemories(some),
  );
  return taken;
}

async function createRelationships(links: readonly PlacedLink[], run: Run): Promise<void> {
  const { store, report, onStep, leaveOut } = run;
  const createAll = <Some extends PlacedLink>(
    all: readonly Some[],
    create: (some: readonly Some[]) => Promise<number>,
  ) => {
    const createSome = async (some: readonly Some[]) => {
      const existing = await create(some);
      report.relationships.existing += existing;
      report.relationships.created += some.length - existing;
      onStep(some.length);
    };
    return storeAll(all, createSome, (link, { message }) => leaveOut("relationship", link.label, message));
  };
  await createAll(links.filter(isDatedLink), (some) => store.createDatedRelationships(some));
  await createAll(
    links.filter((link) => !isDatedLink(link)),
    (some) => store.createRelationships(some),
  );
}

/** How many types a list of relationships can be narrowed to. */
const TYPES_MAX = 50;

/**
 * Finds the links that the store has already, of those between stored memories: all of them if reading the graph's
 * relationships takes no more requests than storing them again; otherwise those that an earlier import stored by the
 * type that the file has, before that was taken for a well-known one.
 * @param found the ids of stored memories, by the keys of their notes.
 */
async function storedLinks(
  links: Iterable<Link>,
  found: ReadonlyMap<string, string>,
  store: GraphStore,
): Promise<ReadonlySet<Link>> {
  const byPlace = new Map<string, Link>();
  const between: Link[] = [];
  const types = new Set<string>();
  for (const link of links) {
    const [from, to] = [found.get(link.from), found.get(link.to)];
    if (from === undefined || to === undefined) continue;
    between.push(link);
    byPlace.set(placeOf({ from, to, type: link.type }), link);
    for (const { type, isTurned } of link.earlier ?? []) {
      byPlace.set(placeOf(isTurned ? { from: to, to: from, type } : { from, to, type }), link);
      types.add(type);
    }
  }
  const stored = new Set<Link>();
  const look = async (some: AsyncIterable<StoredLink>) => {
    for await (const one of some) {
      const link = byPlace.get(placeOf(one));
      if (link) stored.add(link);
    }
  };
  const all = between.length > 0 ? await store.relationshipsWithin(requestsFor({ items: between.length })) : undefined;
  if (all) await look(all);
  else {
    for (let some = [...types]; some.length > 0; some = some.slice(TYPES_MAX))
      await look(store.relationships(some.slice(0, TYPES_MAX)));
  }
  return stored;
}

const placeOf = ({ from, type, to }: StoredLink): string => `${from} ${type} ${to}`;

/** Finds the stored memories of relationships; reports relationships without them. */
function placeLinks(links: readonly Link[], graph: ImportedGraph, { ids, leaveOut }: Run): PlacedLink[] {
  return links.flatMap((link) => {
    const [fromId, toId] = [ids.get(link.from), ids.get(link.to)];
    if (fromId !== undefined && toId !== undefined) return [{ ...link, fromId, toId }];
    const key = fromId === undefined ? link.from : link.to;
    const what = quote(graph.notes.get(key)?.title ?? key);
    leaveOut("relationship", link.label, `the memory ${what} was not imported`);
    return [];
  });
}

/** Names the stored memory: it may have another title, or somebody may have given it the id of a note of others. */
const changedAs = (id: string): string =>
  `the graph has this memory by its id, with another title, type or content: the memory ${id} is left as it is`;

/** Reads the stored memories that have the title of a note, and the ids of those that have the client id of one. */
async function storedAlike({ notes, tag }: NotesToFind, store: GraphStore) {
  const alike = new StoredAlike(notes.values());
  const byClientId = new Map<string, string>();
  const wanted = new Set<string>();
  for (const { kept: { clientId } = {} } of notes.values()) if (clientId !== undefined) wanted.add(clientId);
  // Any memory may have an id from a file, so then all are read, not only those with the tag.
  const hasOwnIds = [...wanted].some((id) => !id.startsWith(IMPORTED));
  for await (const memory of notes.size === 0 ? [] : store.memories(hasOwnIds ? undefined : tag)) {
    alike.add(memory);
    if (memory.client_id != null && wanted.has(memory.client_id)) byClientId.set(memory.client_id, memory.id);
  }
  return { alike, byClientId };
}

/** Adds missing lines and tags to a memory. */
async function grow(note: Note, memory: StoredMemory, store: GraphStore): Promise<"updated" | "existing"> {
  const change = changeOf(note, memory);
  if (!change) return "existing";
  try {
    await store.update(memory, fitChange(change));
  } catch (error) {
    if (!(error instanceof Refused && error.reason === "version_mismatch")) throw error;
    // The memory was changed since it was read: keeps that change, and adds the missing lines to it.
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
  const { content: most } = LIMITS.memory;
  if (change.content === undefined || !isLonger(change.content, most)) return change;
  throw new Refused(`with what the file adds, its content would have more than ${most} characters`);
}

/** Lines that tools rewrite each time, such as times: the last one replaces the earlier one. */
const VOLATILE = /^(?:_?(?:last|updated|accessed|access|modified)[\w .-]*|timestamp): /i;

/** Adds the missing lines to a content, and removes none: users of the service may have written the others. */
function grownContent({ key, lines = [] }: Note, content: string): string {
  const [present, whole] = [new Set(content.split("\n")), `\n${content}\n`];
  const has = (line: string) => (line.includes("\n") ? whole.includes(`\n${line}\n`) : present.has(line));
  const gained = lines.filter((line) => !has(line));
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
