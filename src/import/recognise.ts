import type { GraphDraft } from "./draft.js";
import { type Field, Fields, asKey, asPast, asShare, asText, asTexts, asTime, plainName, showValue } from "./fields.js";
import { MCP_MEMORY_BACKUP, MCP_MEMORY_SERVICE } from "./formats/mcp-memory-service.js";
import { MEM0, MEM0_POINT, isMem0Change } from "./formats/mem0.js";
import { readOpenMemory } from "./formats/openmemory.js";
import type { ToolFormat } from "./formats/tool-format.js";
import {
  AMBIGUOUS_LISTS,
  FILE_FIELDS,
  FROM,
  IDS,
  MEMORY_LISTS,
  NAMES,
  NESTED_RELATIONS,
  OTHER_END,
  RELATION_LISTS,
  RELATION_TYPES,
  TAGS,
  TEXTS,
  TO,
  TYPES,
  WRAPPERS,
  shapeOf,
} from "./names.js";
import { type Kept, timesOf } from "./graph.js";
import { type Entry, fitsContext } from "./note.js";
import type { FileRecord } from "./record-reader.js";
import { type JsonObject, SUMMARY_MAX, UUID, cut, isLonger, isObject, quote, toNfc } from "./text.js";

type Shape = "memory" | "relationship" | undefined;

const TOOLS: readonly ToolFormat[] = [MEM0, MEM0_POINT, MCP_MEMORY_SERVICE, MCP_MEMORY_BACKUP];

/** How many characters of a text without a name become its title. */
const TITLE_FROM_TEXT = 100;

/** Adds a value of a file to the draft, by its fields. @param shape the kind of list that contains it. */
export function readRecord({ place, value }: FileRecord, draft: GraphDraft, shape?: Shape): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) readRecord({ place: `${place}[${index}]`, value: item }, draft, shape);
  } else if (isObject(value)) readObject({ place, value }, draft, shape);
  else if (shape === "memory" && asText(value) !== undefined)
    readObject({ place, value: { text: value } }, draft, shape);
  else draft.refuse("other", `${place}: ${quote(JSON.stringify(value))}`, "it is not an object with fields");
}

interface ObjectRecord extends FileRecord {
  readonly value: JsonObject;
}

function readObject({ place, value }: ObjectRecord, draft: GraphDraft, shape?: Shape): void {
  const backup = readOpenMemory(value);
  if (backup) {
    for (const [name, count] of backup.others) draft.notCarry(name, count);
    return readRecord({ place: "memories", value: backup.memories }, draft, "memory");
  }
  if (!shape && isContainer(value)) return readContainer({ place, value }, draft);
  if (isMem0Change(value)) {
    const reason = "a change in the history of mem0, which is no memory: import what get_all answers";
    return draft.refuse("other", `${place}: ${quote(JSON.stringify(value))}`, reason);
  }
  const fields = new Fields(value);
  const markers = fields.takeAll(({ name, value }) => name === "type" && shapeOf(value) !== undefined);
  const said = shape ?? shapeOf(markers[0]?.value);
  const hasEnds = fields.has(FROM, asEnd) && fields.has(TO, asEnd);
  const isMemory = ["observations", "title", "entitytype", "content"].some((name) => fields.has([name], asSomething));
  if (said === "relationship" || (said === undefined && hasEnds && !isMemory)) {
    readRelationship({ place, value }, fields, draft);
  } else if (isMarker(value)) {
    draft.ignore(`${place}: ${quote(JSON.stringify(value))}`, "it only marks the file, and contains no memory");
  } else readMemory({ place, value }, fields, draft);
}

const asSomething = (value: unknown) => showValue(value) || undefined;

/** A line by which a tool recognises its own files, such as `{"type":"_aim","source":"mcp-knowledge-graph"}`. */
function isMarker(value: JsonObject): boolean {
  const type = value["type"] ?? value["_type"];
  const isScalar = (field: unknown) => typeof field !== "object" || field === null;
  return typeof type === "string" && type.startsWith("_") && Object.values(value).every(isScalar) && !("name" in value);
}

/** The end of a relationship: a name or id, or an object with one. */
const asEnd = (value: unknown): string | undefined =>
  isObject(value) ? new Fields(value).take([...NAMES, ...IDS], asKey) : asKey(value);

function isContainer(value: JsonObject): boolean {
  const fields = new Fields(value);
  const isOne = fields.has([...NAMES, ...TEXTS, "summary"], asKey) || fields.has([...IDS, "entitytype"], asKey);
  return Object.entries(value).some(([label, list]) => {
    const name = plainName(label);
    if (MEMORY_LISTS.has(name)) return isOne ? !AMBIGUOUS_LISTS.has(name) && hasObjects(list) : holdsObjects(list);
    if (RELATION_LISTS.has(name)) return Array.isArray(list) && !isOne && !fields.has(["observations"], asSomething);
    if (name === "observations") return Array.isArray(list) && list.some(isOfEntity);
    return WRAPPERS.has(name) && !isOne && (isObject(list) ? isContainer(list) : holdsObjects(list));
  });
}

const hasObjects = (list: unknown) => Array.isArray(list) && list.some(isObject);
/** An observation that names its memory. */
const isOfEntity = (item: unknown) => isObject(item) && new Fields(item).has(["entityname"], asKey);

const holdsObjects = (list: unknown): boolean =>
  Array.isArray(list)
    ? list.length === 0 || list.some((item) => isObject(item) || typeof item === "string")
    : isObject(list) && Object.values(list).every((item) => isObject(item) || Array.isArray(item));

/** Reads an object whose fields are lists of memories and relationships, and reports its other fields. */
function readContainer({ place, value }: ObjectRecord, draft: GraphDraft): void {
  const isWhole = /^lines? 1\b/.test(place);
  for (const [label, list] of Object.entries(value)) {
    const name = plainName(label);
    const path = isWhole ? label : `${place} ${label}`;
    const isList = MEMORY_LISTS.has(name) || RELATION_LISTS.has(name);
    if (showValue(list) === "") continue;
    if (isList || name === "observations") {
      readList({ place: path, value: list }, draft, RELATION_LISTS.has(name) ? "relationship" : "memory");
    } else if (WRAPPERS.has(name) && typeof list === "object") readRecord({ place: path, value: list }, draft);
    else if (FILE_FIELDS.has(name) || typeof list !== "object") {
      draft.notCarry(label, Array.isArray(list) ? list.length : 1);
    } else {
      draft.refuse("other", `the field ${quote(path)} of the file`, "it is not a list of memories or relationships");
    }
  }
}

/** Reads a list, or an object with memories by name. */
function readList({ place, value }: FileRecord, draft: GraphDraft, shape: "memory" | "relationship"): void {
  if (!isObject(value)) return readRecord({ place, value }, draft, shape);
  for (const [name, item] of Object.entries(value)) {
    readRecord({ place: `${place}.${name}`, value: shape === "memory" ? withName(item, name) : item }, draft, shape);
  }
}

/** A memory that is listed by its name, with this name as a field unless it has one. */
function withName(item: unknown, name: string): JsonObject {
  if (!isObject(item)) return { name, observations: item };
  return new Fields(item).has(NAMES, asKey) ? item : { name, ...item };
}

function readMemory({ place, value }: ObjectRecord, fields: Fields, draft: GraphDraft): void {
  if (readMapOfMemories({ place, value }, draft)) return;
  // A text with a topic is one of several; so is one with a title.
  const isNamed = fields.has(["name", "entityname", "entity", "observation", "fact"], asKey);
  // A name in the metadata is not the name of a text: several texts may have the same one.
  const isOwn = hasText(value);
  const called = fields.take(NAMES, asKey, { isOwn });
  const found =
    fields.take(TEXTS, asLines) ??
    (called === undefined ? fields.take(["summary"], asLines, { isOwn: true }) : undefined);
  const identifier = fields.takeLabelled(IDS, asKey, { isOwn });
  const id = identifier?.value;
  const tool = toolOf(value);
  const named = called ?? (found && titleOf(found.lines)) ?? (tool ? undefined : id);
  if (named === undefined) {
    return draft.refuse("other", `${place}: ${quote(JSON.stringify(value))}`, "it has no name, no title and no text");
  }
  if (isDeleted(value)) return draft.refuseMemory({ place, name: named, id }, "it is marked as deleted");
  const labels = fields.take(["labels"], asTexts) ?? [];
  const type = fields.take(TYPES, asText) ?? labels.find((label) => shapeOf(label.toLowerCase()) === undefined);
  const tags = [...labels, ...(fields.take(TAGS, asTexts) ?? [])];
  const summary = fields.take(["summary"], asSummary);
  const importance = fields.take(["importance"], asShare);
  const nested = fields.takeAll((field) => NESTED_RELATIONS.has(field.name) && typeof field.value === "object");
  // Of a record that has only an id for a name, the first text says more than a UUID.
  const first = named === id && UUID.test(id) ? fields.firstText() : undefined;
  const name = first === undefined ? named : titleOf([first]);
  const grows = first === undefined && (!found?.isProse || (called !== undefined && isNamed));
  const kept = takeKept(value, fields, { id, grows });
  leaveToService(fields, draft);
  if (tool) leaveOutDerived(tool, fields, draft);
  if (identifier && id !== name && kept.clientId === undefined) draft.notCarry(identifier.label);
  const memory = { place, name, id, type, tags, summary, importance, kept, grows, texts: found?.lines ?? [] };
  const entry = draft.addMemory({ ...memory, details: fields.rest() });
  for (const field of nested) readNested(field, { place, draft, entry, name });
}

interface Kind {
  readonly id: string | undefined;
  readonly grows: boolean;
}

const CREATED = ["createdat", "createdatiso"];
const UPDATED = ["updatedat", "updatedatiso"];

/** Whether its tool has deleted a record, and only still has it. */
function isDeleted(value: JsonObject): boolean {
  return Object.entries(value).some(([label, field]) => {
    const name = plainName(label);
    if (name === "deletedat") return asTime(field) !== undefined;
    return name === "isdeleted" ? field === true || field === 1 : name === "state" && field === "deleted";
  });
}

/** A memory that grows keeps its context and confidence as lines, so that a later import can add others. */
function takeKept(value: JsonObject, fields: Fields, { id, grows }: Kind): Kept {
  const context = value["context"];
  const isContext = isObject(context) && !grows && hasText(value) && fitsContext(context);
  if (isContext) fields.takeWithin("context");
  const times = timesOf(
    // Tools rewrite the time of an entity that grows, which is then that of its last change.
    fields.take(CREATED, asPast) ?? (grows ? undefined : fields.take(["timestamp", "ts"], asPast, { isOwn: true })),
    fields.take(UPDATED, asPast),
  );
  // The service lets nobody store what has expired already, except together with the time when it was stored.
  const isKept = (end: Date) => times.createdAt !== undefined || end.getTime() > Date.now();
  const asEnd = (value: unknown) => [asTime(value)].find((end) => end && isKept(end));
  return {
    context: isContext && Object.keys(context).length > 0 ? context : undefined,
    clientId: id !== undefined && UUID.test(id) ? id : undefined,
    confidence: grows ? undefined : fields.take(["confidence"], asShare),
    ...times,
    expiresAt: fields.take(["expiresat", "expirationdate"], asEnd),
  };
}

/** Whether a record itself has a text, not only a nested object of it. */
const hasText = (value: JsonObject): boolean => new Fields(value).has(TEXTS, asLines);

/** Reads memories by name, such as `{"Alice": {"observations": […]}, …}`; false if it is something else. */
function readMapOfMemories({ place, value }: ObjectRecord, draft: GraphDraft): boolean {
  const items = Object.values(value);
  const isMemory = (item: unknown) => isObject(item) && ("observations" in item || "entityType" in item);
  if (items.length === 0 || !items.every(isMemory)) return false;
  readList({ place, value }, draft, "memory");
  return true;
}

interface Lines {
  readonly lines: string[];
  /** Whether it is one text instead of a list. */
  readonly isProse: boolean;
}

/** The content of a memory: a text, a list of texts or of objects, or an object. */
function asLines(value: unknown): Lines | undefined {
  const lines = isObject(value) ? linesOfObject(value) : linesOf(value);
  return lines.length > 0 ? { lines, isProse: typeof value === "string" } : undefined;
}

function linesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(linesOf);
  if (isObject(value)) return [linesOfObject(value).join("; ")].filter(Boolean);
  const text = toNfc(showValue(value));
  return text === "" ? [] : [text];
}

/** The object's text with its other fields in brackets; without a text, one line for each field. */
function linesOfObject(value: JsonObject): string[] {
  const fields = new Fields(value);
  fields.takeAll(isEmbedding);
  const text = fields.take(TEXTS, asKey);
  const rest = fields.rest();
  if (text === undefined) return rest;
  return [rest.length > 0 ? `${text} (${rest.join("; ")})` : text];
}

/** The first line of a text, without the mark of a heading. */
const titleOf = (lines: readonly string[]): string => {
  const line = lines.join("\n").trim().split("\n")[0] ?? "";
  return cut(line.replace(/^#{1,6}\s+(?=\S)/, ""), TITLE_FROM_TEXT).trim();
};

const asSummary = (value: unknown) => {
  const text = asText(value);
  return text === undefined || isLonger(text, SUMMARY_MAX) ? undefined : text;
};

const isEmbedding = ({ name, value }: Field) =>
  ["embedding", "embeddings", "vector"].includes(name) && (Array.isArray(value) || isObject(value));

/** Fields that the service sets itself, and embeddings. */
function isOfService(field: Field): boolean {
  const { name, value, isInner } = field;
  if (isEmbedding(field)) return true;
  if (isInner) return false;
  if (["createdat", "updatedat", "savedat"].includes(name)) return typeof value !== "object";
  if (["version", "relationshipstotal"].includes(name)) return Number.isInteger(value);
  return name === "createdby" && typeof value === "string" && UUID.test(value);
}

function leaveToService(fields: Fields, draft: GraphDraft): void {
  for (const { label } of fields.takeAll(isOfService)) draft.notCarry(label);
}

function toolOf(value: JsonObject): ToolFormat | undefined {
  const names = new Set(Object.keys(value).map(plainName));
  return TOOLS.find(({ recognises }) => recognises(names));
}

function leaveOutDerived({ derived, isNested = false }: ToolFormat, fields: Fields, draft: GraphDraft): void {
  const isDerived = ({ name, value, isInner }: Field) =>
    (isNested || !isInner) && derived.has(name) && showValue(value) !== "";
  for (const { label } of fields.takeAll(isDerived)) draft.notCarry(label);
}

interface Owner {
  readonly place: string;
  readonly draft: GraphDraft;
  readonly entry: Entry | undefined;
  readonly name: string;
}

/** Reads the relationships inside a memory: objects, names, or names by type. */
function readNested({ label, value }: Field, owner: Owner): void {
  const { place, draft, name, entry } = owner;
  const readNames = (type: string, names: unknown) => {
    for (const to of Array.isArray(names) ? names : [names]) {
      if (isObject(to)) readEnds(to, { ...owner, place: `${place}.${label}` }, type);
      else if (asKey(to) !== undefined && entry) {
        const line = { of: entry, text: `${type}: ${asKey(to)}` };
        draft.addRelationship({ place, from: name, to: asKey(to) ?? "", type, context: [], line });
      } else if (showValue(to) !== "") {
        draft.refuse("relationship", `${place}.${label}: ${quote(JSON.stringify(to))}`, "it names no memory");
      }
    }
  };
  if (!isObject(value)) return readNames(label, value);
  if (new Fields(value).has(OTHER_END, asEnd)) return readEnds(value, { ...owner, place: `${place}.${label}` }, label);
  for (const [type, names] of Object.entries(value)) readNames(type, names);
}

function readEnds(value: JsonObject, { place, draft, name }: Owner, type: string): void {
  const fields = new Fields(value);
  fields.takeAll((field) => field.name === "type" && shapeOf(field.value) !== undefined);
  readRelationship({ place, value }, fields, draft, { name, type });
}

/** @param owner the memory that contains it, and the name of the list there. */
function readRelationship(
  { place, value }: ObjectRecord,
  fields: Fields,
  draft: GraphDraft,
  owner?: { readonly name: string; readonly type: string },
): void {
  const from = takeEnd(fields, FROM, "from");
  const to = takeEnd(fields, owner && !from ? OTHER_END : TO, "to");
  const [fromKey, toKey] = [from?.key ?? owner?.name, to?.key ?? owner?.name];
  if (fromKey === undefined || toKey === undefined || (!from && !to)) {
    const missing = [from ? "" : "from", to ? "" : "to"].filter(Boolean).join(" and ");
    return draft.refuse("relationship", `${place}: ${quote(JSON.stringify(value))}`, `it has no field ${missing}`);
  }
  const said = fields.take(RELATION_TYPES, asText);
  const strength = fields.take(["strength", "weight"], asShare);
  const confidence = fields.take(["confidence", "certainty"], asShare);
  const context = fields.take(["context"], asText);
  const createdAt = fields.take(["createdat"], asPast);
  leaveToService(fields, draft);
  for (const { label } of fields.takeAll(({ name, isInner }) => ["id", "uuid"].includes(name) && !isInner)) {
    draft.notCarry(label);
  }
  draft.addRelationship({
    ...{ place, from: fromKey, to: toKey, type: said ?? owner?.type ?? "related to" },
    ...{ strength, confidence, createdAt },
    context: [
      ...(context === undefined ? [] : [context]),
      ...(from?.rest ?? []),
      ...(to?.rest ?? []),
      ...fields.rest(),
    ],
  });
}

/** Takes an end; its other fields stay with the relationship. */
function takeEnd(fields: Fields, names: readonly string[], label: string) {
  return fields.take(names, (value) => {
    const end = isObject(value) ? new Fields(value) : undefined;
    const key = end ? end.take([...NAMES, ...IDS], asKey) : asKey(value);
    return key === undefined ? undefined : { key, rest: end?.rest().map((line) => `${label}.${line}`) ?? [] };
  });
}
