import type { GraphDraft } from "./draft.js";
import { Fields, asKey, asText, plainName, showValue } from "./fields.js";
import { readAgentLog } from "./formats/agent-log.js";
import { readIssue } from "./formats/beads.js";
import { isChat, isMessage } from "./formats/chat.js";
import { readClaudeMemory } from "./formats/claude-ai.js";
import { decodeTexts } from "./formats/encoded.js";
import { readKeepNote } from "./formats/google-keep.js";
import { readAgentFile } from "./formats/letta.js";
import { isMem0Change } from "./formats/mem0.js";
import { readOpenMemory } from "./formats/openmemory.js";
import { isOwnMarker } from "./formats/own-records.js";
import { countOthers } from "./formats/tool-file.js";
import {
  AMBIGUOUS_LISTS,
  FILE_FIELDS,
  FOLLOWING,
  FROM,
  IDS,
  MEMORY_LISTS,
  NAMES,
  PAGE_COUNTS,
  RELATION_LISTS,
  TEXTS,
  TO,
  WRAPPERS,
  shapeOf,
} from "./names.js";
import { type JsonObject, UUID, isObject, quote } from "./text.js";
import type { FileRecord, ObjectRecord } from "./record-reader.js";
import { asEnd, readRelationship } from "./read-relationship.js";
import { readMemory } from "./read-memory.js";

type Shape = "memory" | "relationship" | undefined;

/** Adds a value of a file to the draft, by its fields. @param shape the kind of list that contains it. */
export function readRecord({ place, value }: FileRecord, draft: GraphDraft, shape?: Shape): void {
  const decoded = shape ? undefined : decodeTexts(value);
  if (decoded) {
    for (const [name, count] of countOthers(decoded.others)) draft.notCarry(name, count);
    for (const inner of decoded.values) readRecord({ place, value: inner }, draft);
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) readRecord({ place: `${place}[${index}]`, value: item }, draft, shape);
  } else if (isObject(value)) readObject({ place, value }, draft, shape);
  // A list of texts, or a text in a line.
  else if (shape !== "relationship" && asText(value) !== undefined)
    readObject({ place, value: { text: value } }, draft, "memory");
  else draft.refuse("other", `${place}: ${quote(JSON.stringify(value))}`, "it is not an object with fields");
}

function readObject({ place, value: found }: ObjectRecord, draft: GraphDraft, shape?: Shape): void {
  const value = shape === "relationship" ? found : (readIssue(found) ?? readKeepNote(found) ?? unwrapHit(found));
  if (!shape) {
    const file = readOpenMemory(value) ?? readAgentFile(value) ?? readClaudeMemory(value) ?? readAgentLog(value);
    if (file) {
      for (const [name, count] of file.others) draft.notCarry(name, count);
      return readRecord({ place: file.place ?? place, value: file.memories }, draft, "memory");
    }
    if (isContainer(value)) return readContainer({ place, value }, draft);
  }
  const advice = adviseInstead(value, shape);
  if (advice) return draft.refuse("other", `${place}: ${quote(advice.shown)}`, advice.reason);
  if (!shape && hasListsByName(value)) return readListsByName({ place, value }, draft);
  readItem({ place, value }, draft, shape);
}

/** Reads a memory or a relationship, or a map of memories. */
function readItem({ place, value }: ObjectRecord, draft: GraphDraft, shape: Shape): void {
  const fields = new Fields(value);
  // Beside `record`, as in exports of this service, `type` is the type of the memory itself.
  const marker = shapeOf(value["record"]) === undefined ? "type" : "record";
  const markers = fields.takeAll(({ name, value }) => name === marker && shapeOf(value) !== undefined);
  const said = shape ?? shapeOf(markers[0]?.value);
  const hasEnds = fields.has(FROM, asEnd) && fields.has(TO, asEnd);
  const isMemory = ["observations", "title", "entitytype", "content"].some((name) => fields.has([name], asSomething));
  if (said === "relationship" || (said === undefined && hasEnds && !isMemory)) {
    readRelationship({ place, value }, fields, draft);
  } else if (isMarker(value)) {
    draft.ignore(`${place}: ${quote(JSON.stringify(value))}`, "it only marks the file, and contains no memory");
  } else if (isMapOfMemories(value)) readList({ place, value }, draft, "memory");
  else readMemory({ place, value }, fields, draft);
}

/**
 * The memory of a hit of a search, `{"memory": {"content", …}, "similarity_score"}`, with the other fields of the hit;
 * any other object as it is.
 */
function unwrapHit(value: JsonObject): JsonObject {
  const { memory, ...others } = value;
  if (!isObject(memory) || !new Fields(memory).has(TEXTS, asSomething) || isContainer(memory)) return value;
  const beside = Object.entries(others).map(([label, field]) => [label in memory ? `found.${label}` : label, field]);
  return { ...memory, ...(Object.fromEntries(beside) as JsonObject) };
}

/** What a record of another program is, and what to import instead; undefined for any other record. */
function adviseInstead(
  value: JsonObject,
  shape: Shape,
): { readonly shown: string; readonly reason: string } | undefined {
  if (isMem0Change(value)) {
    const reason = "a change in the history of mem0, which is no memory: import what get_all answers";
    return { shown: JSON.stringify(value), reason };
  }
  if (!shape && isMessage(value)) return { shown: JSON.stringify(value), reason: `a message of a chat, ${NO_MEMORY}` };
  const shown = asText(value["title"] ?? value["name"]) ?? "";
  if (isRoamPage(value)) return { shown, reason: "a page of Roam: export all pages as Markdown instead" };
  if (!isChat(value)) return undefined;
  return { shown, reason: `a whole chat, ${NO_MEMORY}` };
}

const NO_MEMORY = "which is no memory: ask its program what it remembers, and import a list of that";

/** In Roam's JSON, a page has blocks, each with its text in `string`. */
const isRoamPage = (value: JsonObject): boolean =>
  typeof value["title"] === "string" &&
  Array.isArray(value["children"]) &&
  value["children"].some((block) => isObject(block) && typeof block["string"] === "string");

const asSomething = (value: unknown) => showValue(value) || undefined;

/** A line by which a tool recognises its own files, such as `{"type":"_aim","source":"mcp-knowledge-graph"}`. */
function isMarker(value: JsonObject): boolean {
  const type = value["type"] ?? value["_type"];
  const isScalar = (field: unknown) => typeof field !== "object" || field === null;
  const isMarked = typeof type === "string" && type.startsWith("_");
  return (isMarked || isOwnMarker(value)) && Object.values(value).every(isScalar) && !("name" in value);
}

/** Whether an object has lists of memories or relationships, or the answer of a program that has them. */
function isContainer(value: JsonObject): boolean {
  const fields = new Fields(value);
  const isMemoryItself =
    fields.has([...NAMES, ...TEXTS, "summary"], asKey) || fields.has([...IDS, "entitytype"], asKey);
  return Object.entries(value).some(([label, list]) => {
    const name = plainName(label);
    if (MEMORY_LISTS.has(name))
      return isMemoryItself ? !AMBIGUOUS_LISTS.has(name) && isListWithObjects(list) : mayListMemories(list);
    if (RELATION_LISTS.has(name))
      return Array.isArray(list) && !isMemoryItself && !fields.has(["observations"], asSomething);
    if (name === "observations") return Array.isArray(list) && list.some(namesItsMemory);
    return WRAPPERS.has(name) && !isMemoryItself && (isObject(list) ? isContainer(list) : mayListMemories(list));
  });
}

const isListWithObjects = (list: unknown) => Array.isArray(list) && list.some(isObject);
/** An observation that names its memory. */
const namesItsMemory = (item: unknown) => isObject(item) && new Fields(item).has(["entityname"], asKey);

const mayListMemories = (list: unknown): boolean =>
  Array.isArray(list)
    ? list.length === 0 || list.some((item) => isObject(item) || typeof item === "string")
    : isObject(list) && Object.values(list).every((item) => isObject(item) || Array.isArray(item));

/** Reads an object whose fields are lists of memories and relationships, and reports its other fields. */
function readContainer({ place, value }: ObjectRecord, draft: GraphDraft): void {
  const nextPage = describeNextPage(value);
  if (nextPage !== undefined) {
    const reason = "get the other pages too, and import each file";
    draft.refuse("other", `what follows this page of a longer list (${place}, ${nextPage})`, reason);
  }
  const hasMemories = Object.keys(value).some((label) => LISTED.has(plainName(label)));
  for (const [label, list] of Object.entries(value)) {
    const name = plainName(label);
    const path = pathIn(place, label);
    // Beside relationships alone, other lists are what these connect: `{"persons", "places", "relationships"}`.
    const isListOfEnds = !hasMemories && Array.isArray(list) && list.every(isNamed);
    const isList = MEMORY_LISTS.has(name) || RELATION_LISTS.has(name) || isListOfEnds;
    if (showValue(list) === "") continue;
    if (isList || name === "observations") {
      readList({ place: path, value: list }, draft, RELATION_LISTS.has(name) ? "relationship" : "memory");
    } else if (WRAPPERS.has(name) && typeof list === "object") readRecord({ place: path, value: list }, draft);
    else if (FILE_FIELDS.has(name) || typeof list !== "object") {
      draft.notCarry(label, Array.isArray(list) ? list.length : 1);
    } else {
      draft.refuse("other", `the field ${quote(path)} of the file`, NO_LIST);
    }
  }
}

/** A field of a file, or of what is at a place in one that has several values. */
const pathIn = (place: string, label: string): string => (/^lines? 1\b/.test(place) ? label : `${place} ${label}`);

/** Names of fields that have the memories of a file, themselves or inside. */
const LISTED = new Set([...MEMORY_LISTS, ...WRAPPERS, "observations"]);
const isNamed = (item: unknown) => isObject(item) && new Fields(item).has([...NAMES, ...TEXTS], asSomething);

/** The field and value by which an answer says that it is not the last page of a list; undefined if none does. */
function describeNextPage(value: JsonObject): string | undefined {
  const fields = new Map(Object.entries(value).map(([label, field]) => [plainName(label), { label, field }]));
  const page = Number(fields.get("page")?.field ?? 1);
  const found = [...fields].find(([name, { field }]) =>
    PAGE_COUNTS.has(name) ? typeof field === "number" && field > page : FOLLOWING.has(name) && isFollowing(field),
  );
  return found && `${found[1].label}: ${quote(showValue(found[1].field))}`;
}

const isFollowing = (field: unknown): boolean => field !== false && field !== 0 && showValue(field) !== "";

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

/**
 * Whether a file has memories by names of its own: lists of them, as claude-flow by namespace
 * (`{"default": [{"key", "value", …}]}`), or one at each name (`{"city": {"value", "updated_at"}}`).
 */
function hasListsByName(value: JsonObject): boolean {
  const fields = new Fields(value);
  // Observations are of one memory.
  if (fields.has(["observations"], asSomething)) return false;
  if (fields.first([...NAMES, ...IDS, ...TEXTS, "summary"], asKey) !== undefined) return false;
  const parts = Object.entries(value).filter(([, part]) => typeof part === "object" && showValue(part) !== "");
  const isOfTexts = ([label, part]: [string, unknown]) => TEXTS.includes(plainName(label)) && isListOfTexts(part);
  if (parts.some(isOfTexts)) return true;
  // The text of one memory may be an object: `{"note": {"text", …}}`.
  const isByName = parts.some(([label]) => !TEXTS.includes(plainName(label)));
  return isByName && parts.every(([, part]) => isListOfTexts(part) || hasText(part));
}

/** Whether an object has a text itself. */
const hasText = (item: unknown): item is JsonObject => isObject(item) && new Fields(item).has(TEXTS, asText);
const isListOfTexts = (list: unknown): boolean => Array.isArray(list) && list.length > 0 && list.every(hasText);

function readListsByName({ place, value }: ObjectRecord, draft: GraphDraft): void {
  for (const [label, part] of Object.entries(value)) {
    const isList = isListOfTexts(part);
    const what = `the field ${quote(pathIn(place, label))} of the file`;
    const leaveOut = (reason: string) => draft.refuse("other", what, reason);
    if (showValue(part) === "") continue;
    if (typeof part !== "object") draft.notCarry(label);
    else if (isList && /^(?:trash|deleted)/i.test(label)) leaveOut("it is marked as deleted");
    else if (isList) readRecord({ place: `${place} ${label}`, value: part }, draft, "memory");
    else if (hasText(part)) {
      const own = new Fields(part);
      const isCalled = own.has(NAMES, asKey) || own.first(IDS, asKey) === label;
      readRecord(
        { place: `${place} ${label}`, value: isCalled ? part : { [UUID.test(label) ? "id" : "key"]: label, ...part } },
        draft,
        "memory",
      );
    } else leaveOut(NO_LIST);
  }
}

const NO_LIST = "it is not a list of memories or relationships";

/** Whether it has memories by name, such as `{"Alice": {"observations": […]}, …}`. */
function isMapOfMemories(value: JsonObject): boolean {
  const items = Object.values(value);
  const isMemory = (item: unknown) => isObject(item) && ("observations" in item || "entityType" in item);
  return items.length > 0 && items.every(isMemory);
}
