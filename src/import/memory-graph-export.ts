import { GraphDraft, type Note } from "./graph.js";
import { type JsonObject, TITLE_MAX, cut, isObject, numberOf, quote, textOf, textsOf } from "./text.js";
import { lostInType, memoryType, relationshipType } from "./type-names.js";

interface MemoryGraphExport {
  readonly memories: readonly unknown[];
  readonly relationships: readonly unknown[];
}

/** Reads MemoryGraph's export, format 2.0; that of 1.0 differs only in what is not read here. */
export function readMemoryGraphExport({ memories, relationships }: MemoryGraphExport): GraphDraft {
  const draft = new GraphDraft("id", undefined);
  const keys = new KeyBook();
  for (const [index, value] of memories.entries()) {
    const note = noteOf(value);
    const place = `memory ${index + 1}`;
    if (!note) draft.refuse(place, "a memory needs the texts id, title and content");
    else if (keys.has(note.key)) draft.refuse(place, `the id ${quote(note.key)} is another memory's already`);
    else if (keys.add(note)) draft.addNote(note);
    else draft.merged.memories++;
  }
  for (const [index, value] of relationships.entries()) {
    readRelationship({ place: `relationship ${index + 1}`, value }, keys, draft);
  }
  return draft;
}

/** Memories of one type, title and content are one, since a later import could not tell them apart. */
class KeyBook {
  readonly #keys = new Map<string, string>();
  readonly #firstOf = new Map<string, string>();

  has(id: string): boolean {
    return this.#keys.has(id);
  }

  /** Whether it is the first of its kind; else its id stands for the first one from now on. */
  add({ key, type, title, content }: Note): boolean {
    const identity = JSON.stringify([type, title, content]);
    const first = this.#firstOf.get(identity) ?? key;
    this.#firstOf.set(identity, first);
    this.#keys.set(key, first);
    return first === key;
  }

  keyOf(id: string): string {
    return this.#keys.get(id) ?? id;
  }
}

function noteOf(value: unknown): Note | undefined {
  if (!isObject(value)) return undefined;
  const [key, whole, text] = ["id", "title", "content"].map((field) => textOf(value, field));
  if (key === undefined || whole === undefined || text === undefined) return undefined;
  const type = textOf(value, "type") ?? "";
  const known = memoryType(type);
  const title = cut(whole, TITLE_MAX);
  return {
    key,
    type: known ?? "general",
    title,
    content: [...(title === whole ? [] : [whole]), text, ...contextLines(value["context"])].join("\n"),
    summary: textOf(value, "summary"),
    tags: textsOf(value["tags"]),
    importance: numberOf(value, "importance"),
  };
}

/** Where a memory was made has no field of its own here; in the content it is kept, and found by search. */
function contextLines(context: unknown): string[] {
  if (!isObject(context)) return [];
  const lines = Object.entries(context).flatMap(([field, value]) => {
    const text = plainText(value);
    return text === "" ? [] : [`${field}: ${text}`.normalize("NFC")];
  });
  return lines.length > 0 ? ["", ...lines] : [];
}

function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(plainText).filter(Boolean).join(", ");
  if (value === null || (isObject(value) && Object.keys(value).length === 0)) return "";
  return JSON.stringify(value);
}

function readRelationship(
  { place, value }: { readonly place: string; readonly value: unknown },
  keys: KeyBook,
  draft: GraphDraft,
): void {
  const link: JsonObject = isObject(value) ? value : {};
  const [from, to, text] = ["from_memory_id", "to_memory_id", "type"].map((field) => textOf(link, field));
  if (from === undefined || to === undefined || text === undefined) {
    return draft.refuse(place, "a relationship needs from_memory_id, to_memory_id and type");
  }
  const properties: JsonObject = isObject(link["properties"]) ? link["properties"] : {};
  const type = relationshipType(text) ?? "RELATED_TO";
  const titleOf = (id: string) => quote(draft.notes.get(keys.keyOf(id))?.title ?? id);
  draft.addLink({
    from: keys.keyOf(from),
    to: keys.keyOf(to),
    type,
    context: [lostInType(text, type), textOf(properties, "context")].filter(Boolean).join("; ") || undefined,
    strength: numberOf(properties, "strength"),
    confidence: numberOf(properties, "confidence"),
    label: `relationship ${titleOf(from)} ${quote(text)} ${titleOf(to)}`,
  });
}
