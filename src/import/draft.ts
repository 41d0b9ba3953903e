import { isDeepStrictEqual } from "node:util";
import { type ImportedGraph, type Kept, type Kind, type Link, type Note, type NotTaken, labelOf } from "./graph.js";
import { type Entry, TAG, fitsContext, makeNote, noteProblem } from "./note.js";
import { type JsonObject, cut, isLonger, quote, textProblem } from "./text.js";
import { betterTypeFor } from "../relationship-types.js";
import { lostInType, relationshipType } from "./type-names.js";
import { LIMITS } from "../limits.js";

const { relationshipContext: CONTEXT_MAX, tags: TAGS_MAX } = LIMITS.memory;

/** A memory as it is described in the file. */
export interface FoundMemory {
  readonly place: string;
  readonly name: string;
  /** Another name that relationships may use for it. */
  readonly id?: string | undefined;
  /**
   * The same id, if memories with the same name but other ids are other memories. Not set where each of several texts
   * about one thing has its own id.
   */
  readonly ownId?: string | undefined;
  /** A further id, which need not be unique: relationships then mean the first memory that has it. */
  readonly otherId?: string | undefined;
  readonly type?: string | undefined;
  readonly texts: readonly string[];
  /** Fields that a memory does not have, as lines of text. */
  readonly details: readonly string[];
  readonly tags: readonly string[];
  readonly summary?: string | undefined;
  readonly importance?: number | undefined;
  readonly kept?: Kept | undefined;
  /** Whether further texts with the same name are added to the same memory. */
  readonly grows: boolean;
}

/** A relationship as it is described in the file. Its ends are names or ids, or the memory that contains it. */
export interface FoundRelationship {
  readonly place: string;
  readonly from: string | Entry;
  readonly to: string | Entry;
  readonly type: string;
  readonly context: readonly string[];
  readonly strength?: number | undefined;
  readonly confidence?: number | undefined;
  readonly createdAt?: Date | undefined;
  /**
   * Set if the text is a relationship only if a memory has the name `to`; otherwise it is a line of the memory `of`.
   */
  readonly line?: { readonly of: Entry; readonly text: string };
}

/** The graph of a file while it is read. It reports what cannot be stored. */
export class GraphDraft {
  readonly #entries: Entry[] = [];
  /** The first memory of each name. One that grows comes before others. */
  readonly #byName = new Map<string, Entry>();
  /** Memories that grow and share their name with another one that grows, by that name and their own ids. */
  readonly #namesakes = new Map<string, Map<string | undefined, Entry>>();
  readonly #byId = new Map<string, Entry>();
  readonly #byClientId = new Map<string, Entry>();
  readonly #found: FoundRelationship[] = [];
  /** Names of memories that cannot be stored. */
  readonly #refused = new Set<string>();
  readonly #memories = { read: 0, merged: 0 };
  readonly #relationships = { read: 0, merged: 0 };
  readonly #others = { read: 0 };
  readonly #notTaken: NotTaken[] = [];
  readonly #ignored: NotTaken[] = [];
  readonly #notCarried = new Map<string, number>();
  /** What `finish` makes: the keys of notes by their entries, the notes, and the links by their ends and types. */
  readonly #keys = new Map<Entry, string>();
  readonly #notes = new Map<string, Note>();
  readonly #links = new Map<string, Link>();

  /** Reports something that was read and is not in the graph. A part is reported but not counted. */
  refuse(kind: Kind, what: string, reason: string): void {
    if (kind === "memory") this.#memories.read++;
    if (kind === "relationship") this.#relationships.read++;
    if (kind === "other") this.#others.read++;
    this.#notTaken.push({ kind, what, reason });
  }

  ignore(what: string, reason: string): void {
    this.#others.read++;
    this.#ignored.push({ kind: "other", what, reason });
  }

  notCarry(field: string, times = 1): void {
    this.#notCarried.set(field, (this.#notCarried.get(field) ?? 0) + times);
  }

  /** Returns undefined if the memory cannot be stored. */
  addMemory(found: FoundMemory): Entry | undefined {
    const problem = textProblem(found.name);
    if (problem !== undefined) {
      this.refuseMemory(found, problem);
      return undefined;
    }
    const known = found.grows ? this.#growingAs(found) : this.#byId.get(found.id ?? "");
    if (known && !found.grows && !isRepeat(known, found)) {
      this.refuse("memory", found.place, `another memory already has the id ${quote(found.id ?? "")}`);
      return undefined;
    }
    this.#memories.read++;
    if (known && known.grows === found.grows) {
      this.#memories.merged++;
      return this.#extend(known, found);
    }
    const { name, grows } = found;
    const entry: Entry = { name, type: "", texts: new Set(), details: new Set(), tags: new Set(), kept: {}, grows };
    this.#extend(entry, found);
    this.#entries.push(entry);
    this.#nameEntry(entry);
    return entry;
  }

  /** The memory to which this text is added. Without an own id, that is the first one of the name. */
  #growingAs({ name, ownId }: FoundMemory): Entry | undefined {
    const first = this.#byName.get(name);
    if (!first?.grows) return undefined;
    const isFirst = first.ownId === undefined || (ownId ?? first.ownId) === first.ownId;
    return isFirst ? first : this.#namesakes.get(name)?.get(ownId);
  }

  #nameEntry(entry: Entry): void {
    const { name, grows, ownId } = entry;
    const first = this.#byName.get(name);
    if (!first || (grows && !first.grows)) this.#byName.set(name, entry);
    else if (grows) {
      const namesakes = this.#namesakes.get(name) ?? new Map([[first.ownId, first]]);
      this.#namesakes.set(name, namesakes.set(ownId, entry));
    }
  }

  /** Reports a memory that is not imported; so are its relationships. */
  refuseMemory({ place, name, id }: Pick<FoundMemory, "place" | "name" | "id">, reason: string): void {
    for (const one of [name, id]) if (one !== undefined) this.#refused.add(one);
    this.refuse("memory", `${labelOf({ title: name })} (${place})`, reason);
  }

  addRelationship(found: FoundRelationship): void {
    this.#found.push(found);
  }

  /** Call it once. @param createMissing whether names that occur only in relationships become memories. */
  finish({ createMissing = false }: FinishOptions = {}): ImportedGraph {
    for (const entries of this.#namesakes.values()) for (const entry of entries.values()) this.#tellApart(entry);
    const missing = this.#found.flatMap(({ from, to, line }) =>
      line ? [] : [from, to].filter((end): end is string => !this.#entryOf(end)),
    );
    for (const name of createMissing ? new Set(missing) : []) {
      this.addMemory({ place: name, name, texts: [], details: [], tags: [], grows: true });
    }
    for (const { to, line } of this.#found) if (line && !this.#entryOf(to)) line.of.details.add(line.text);
    this.#makeNotes();
    for (const found of this.#found) if (!found.line || this.#entryOf(found.to)) this.#makeLink(found);
    return {
      tag: this.#entries.every(({ grows }) => grows) ? TAG : undefined,
      notes: this.#notes,
      links: this.#links,
      memories: this.#memories,
      relationships: this.#relationships,
      others: this.#others,
      notTaken: this.#notTaken,
      ignored: this.#ignored,
      notCarried: this.#notCarried,
    };
  }

  /** The memory at an end of a relationship: by name, otherwise by id; by id first if several have the name. */
  #entryOf(end: string | Entry): Entry | undefined {
    if (typeof end !== "string") return end;
    const [named, ofId] = [this.#byName.get(end), this.#byId.get(end)];
    return this.#namesakes.has(end) ? (ofId ?? named) : (named ?? ofId);
  }

  /** Adds its id to the name of a namesake: a later import, too, knows memories that grow only by their names. */
  #tellApart(entry: Entry): void {
    const end = ` (${entry.ownId})`;
    do entry.name += end;
    while (this.#byName.has(entry.name));
    this.#byName.set(entry.name, entry);
  }

  /** A further line for the same name adds its content, and replaces nothing. */
  #extend(entry: Entry, found: FoundMemory): Entry {
    const { id, ownId, otherId, type, texts, details, tags, summary, importance, kept } = found;
    const also = (what: string, value: unknown) => void entry.details.add(`${what}: ${String(value)}`);
    if (entry.grows) entry.ownId ??= ownId;
    for (const one of [id, otherId]) if (one !== undefined && !this.#byId.has(one)) this.#byId.set(one, entry);
    if (entry.type === "") entry.type = type ?? "";
    else if (type !== undefined && type !== entry.type) also("type", type);
    if (entry.summary === undefined) entry.summary = summary;
    else if (summary !== undefined && summary !== entry.summary) also("summary", summary);
    if (entry.importance === undefined) entry.importance = importance;
    else if (importance !== undefined && importance !== entry.importance) also("importance", importance);
    entry.kept = firstOf(entry.kept, this.#withOwnId(entry, kept));
    for (const text of texts) entry.texts.add(text);
    for (const line of details) entry.details.add(line);
    for (const tag of tags) entry.tags.add(tag);
    return entry;
  }

  /**
   * Drops a client id if another memory has it, as with copies of a note, or if the memory already has another one.
   */
  #withOwnId(entry: Entry, kept: Kept = {}): Kept {
    const { clientId, ...others } = kept;
    if (clientId === undefined) return kept;
    const owner = this.#byClientId.get(clientId) ?? entry;
    if (owner === entry && (entry.kept.clientId ?? clientId) === clientId) {
      this.#byClientId.set(clientId, entry);
      return kept;
    }
    this.notCarry("id");
    return others;
  }

  /** Memories that grow have their names as keys. Others with the same type, title and content are merged. */
  #makeNotes(): void {
    const identities = new Map<string, string>();
    for (const entry of [...this.#entries].sort((one, other) => Number(other.grows) - Number(one.grows))) {
      // No name has a NUL, so the key of another memory is none of these names.
      const key = entry.grows ? entry.name : `${entry.name}\0${this.#keys.size}`;
      const note = makeNote(key, entry, (what, reason) => this.refuse("part", what, reason));
      const identity = JSON.stringify([note.type, note.title, note.content]);
      const same = entry.grows ? undefined : this.#notes.get(identities.get(identity) ?? "");
      this.#keys.set(entry, same?.key ?? key);
      const problem = noteProblem(note);
      if (same) {
        this.#memories.merged++;
        this.#notes.set(same.key, { ...same, ...this.#united(same, note) });
      } else if (problem === undefined) {
        this.#notes.set(key, note);
        identities.set(identity, key);
      } else this.#notTaken.push({ kind: "memory", what: labelOf(note), reason: problem });
    }
  }

  /** Merges the other fields of two memories with the same content; where they differ, the first one is kept. */
  #united(first: Note, second: Note): Partial<Note> {
    const lose = (field: string, value: unknown, reason = "the first one is kept") =>
      this.refuse("part", `the ${field} of a repeat of ${labelOf(first)}: ${String(value)}`, reason);
    for (const field of ["summary", "importance"] as const) {
      if (differ(first[field], second[field])) lose(field, second[field]);
    }
    const tags = [...new Set([...first.tags, ...second.tags])];
    for (const tag of tags.slice(TAGS_MAX)) lose("tag", quote(tag), `a memory has at most ${TAGS_MAX} tags`);
    const context = uniteContexts(first.kept?.context ?? {}, second.kept?.context ?? {}, (lost, reason) =>
      lose("context", quote(JSON.stringify(lost)), reason),
    );
    if (first.kept?.clientId !== undefined && second.kept?.clientId !== undefined) this.notCarry("id");
    return {
      kept: {
        ...firstOf(first.kept, second.kept ?? {}),
        ...(context && { context }),
      },
      tags: tags.slice(0, TAGS_MAX),
      summary: first.summary ?? second.summary,
      importance: first.importance ?? second.importance,
    };
  }

  #makeLink(found: FoundRelationship): void {
    this.#relationships.read++;
    const { named, type, isTurned } = typeOf(found);
    const [first, second] = [this.#endOf(found.from), this.#endOf(found.to)];
    const said = [first.name, found.type, second.name];
    const label = `relationship ${said.map(quote).join(" ")} (${found.place})`;
    const [from, to] = isTurned ? [second, first] : [first, second];
    const texts = [lostInType(found.type, named), ...found.context].filter((text) => text !== undefined);
    const problem = this.#linkProblem(from, to) ?? textProblem(texts.join(" "));
    if (problem !== undefined || from.key === undefined || to.key === undefined) {
      this.#notTaken.push({ kind: "relationship", what: label, reason: problem ?? "" });
      return;
    }
    const { strength, confidence, createdAt } = found;
    const earlier = named === type ? [] : [{ type: named, isTurned }];
    this.#putLink({ earlier, from: from.key, to: to.key, type, label, strength, confidence, createdAt }, texts);
  }

  /**
   * Adds a link. If there is one of the same type between the same notes, that one is kept, with the texts of both: a
   * strength or confidence that differs becomes a text.
   */
  #putLink(link: Omit<Link, "context">, texts: readonly string[]): void {
    const place = JSON.stringify([link.from, link.type, link.to]);
    const same = this.#links.get(place);
    if (same) this.#relationships.merged++;
    const lost = (["strength", "confidence"] as const)
      .filter((name) => differ(same?.[name], link[name]))
      .map((name) => `${name}: ${link[name]}`);
    this.#links.set(place, {
      ...firstOf(same, link),
      earlier: [...(same?.earlier ?? []), ...(link.earlier ?? [])],
      context: this.#cutContext(joinTexts(same?.context, [...texts, ...lost]), link.label),
    });
  }

  #endOf(end: string | Entry): End {
    const entry = this.#entryOf(end);
    const name = typeof end === "string" ? (entry?.name ?? end) : end.name;
    return { name, entry, key: entry && this.#keys.get(entry) };
  }

  #cutContext(context: string | undefined, label: string): string | undefined {
    if (context === undefined || !isLonger(context, CONTEXT_MAX)) return context;
    const kept = cut(context, CONTEXT_MAX);
    const reason = `a context has at most ${CONTEXT_MAX.toLocaleString("en")} characters`;
    this.refuse("part", `the end of the context of ${label}: ${quote(context.slice(kept.length))}`, reason);
    return kept;
  }

  #linkProblem(from: End, to: End): string | undefined {
    for (const { name, entry, key } of [from, to]) {
      const isRefused = entry ? key === undefined || !this.#notes.has(key) : this.#refused.has(name);
      if (isRefused) return `the memory ${quote(name)} was not imported`;
      if (!entry) return `the file has no memory called ${quote(name)}: --create-missing creates one`;
    }
    return from.key === to.key ? "it links a memory to itself" : undefined;
  }
}

/** The type that the file gives a relationship, and the well-known one that says the same, maybe the other way. */
function typeOf({ type: text }: FoundRelationship) {
  const named = relationshipType(text) ?? "RELATED_TO";
  const better = betterTypeFor(named);
  if (!better || better.mayBeNoun) return { named, type: named, isTurned: false };
  return { named, type: better.name, isTurned: better.isTurned };
}

/** Whether both are given, and the second is lost. */
const differ = (first: unknown, second: unknown): boolean =>
  first !== undefined && second !== undefined && first !== second;

/** The fields of both, those of the first where they differ. The first alone where both are too large. */
function uniteContexts(
  first: JsonObject,
  second: JsonObject,
  lose: (lost: JsonObject, reason?: string) => void,
): JsonObject | undefined {
  const both = { ...second, ...first };
  if (!fitsContext(both)) {
    lose(second, "with it, the context would be too large");
    return first;
  }
  for (const [name, value] of Object.entries(second)) {
    if (name in first && !isDeepStrictEqual(first[name], value)) lose({ [name]: value });
  }
  return Object.keys(both).length > 0 ? both : undefined;
}

/** The fields of the first; from the second, those that the first does not have. */
function firstOf<Value extends object>(first: Value | undefined, second: Value): Value {
  const said = Object.entries(first ?? {}).filter(([, value]) => value !== undefined);
  return { ...second, ...Object.fromEntries(said) };
}

export interface FinishOptions {
  readonly createMissing?: boolean | undefined;
}

interface End {
  readonly name: string;
  readonly entry: Entry | undefined;
  readonly key: string | undefined;
}

/** Whether a memory with a known id contains nothing new. */
const isRepeat = ({ name, texts, details }: Entry, found: FoundMemory): boolean =>
  name === found.name &&
  [...found.texts].every((text) => texts.has(text)) &&
  found.details.every((line) => details.has(line));

/** Adds texts to a context that does not contain them yet. */
function joinTexts(context: string | undefined, texts: readonly string[]): string | undefined {
  let whole = context;
  const beyond: string[] = [];
  for (const text of texts) {
    if (whole === undefined) whole = text;
    // Cut off later, so there is no need to look for repeats.
    else if (whole.length > 2 * CONTEXT_MAX) beyond.push(text);
    else if (!`; ${whole}; `.includes(`; ${text}; `)) whole = `${whole}; ${text}`;
  }
  return beyond.length === 0 ? whole : [whole, ...beyond].join("; ");
}
