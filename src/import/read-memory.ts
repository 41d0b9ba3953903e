import { DAY_MS } from "../durations.js";
import type { FoundMemory, GraphDraft } from "./draft.js";
import {
  type Field,
  Fields,
  asKey,
  asPast,
  asShare,
  asSummary,
  asText,
  asTexts,
  asTime,
  plainName,
  showValue,
} from "./fields.js";
import { CLAUDE_MEM, ENGRAM } from "./formats/agent-log.js";
import { BEADS_ISSUE } from "./formats/beads.js";
import { GOOGLE_KEEP } from "./formats/google-keep.js";
import { LETTA_BLOCK } from "./formats/letta.js";
import { MCP_MEMORY_BACKUP, MCP_MEMORY_SERVICE } from "./formats/mcp-memory-service.js";
import { MEM0, MEM0_POINT } from "./formats/mem0.js";
import { OWN_MEMORY } from "./formats/own-records.js";
import type { ToolFormat } from "./formats/tool-format.js";
import { CREATED, IDS, NAMES, NESTED_RELATIONS, TAGS, TEXTS, TYPES, UPDATED, shapeOf } from "./names.js";
import { type Kept, timesOf } from "./graph.js";
import { fitsContext } from "./note.js";
import { type JsonObject, UUID, cut, isObject, quote, toNfc } from "./text.js";
import type { ObjectRecord } from "./record-reader.js";
import { isEmbedding, leaveToService } from "./service-fields.js";
import { readNested } from "./read-relationship.js";

const TOOLS: readonly ToolFormat[] = [
  MEM0,
  MEM0_POINT,
  // It has a hash of its content, too.
  CLAUDE_MEM,
  MCP_MEMORY_SERVICE,
  MCP_MEMORY_BACKUP,
  LETTA_BLOCK,
  BEADS_ISSUE,
  ENGRAM,
  GOOGLE_KEEP,
  OWN_MEMORY,
];

/** Fields that name a record itself, and not what it tells of. */
const OWN_NAMES = new Set(["name", "title", "label"]);

/** How many characters of a text without a name become its title. */
const TITLE_FROM_TEXT = 100;

/** Adds a memory to the draft, with the relationships inside it. */
export function readMemory({ place, value }: ObjectRecord, fields: Fields, draft: GraphDraft): void {
  const kind = kindOf(value, fields);
  const { tool } = kind;
  const { called, found, identifier } = takeSaid(fields, kind);
  const id = identifier?.value;
  const named = called?.value ?? (found && titleOf(found.lines)) ?? (tool ? undefined : id);
  if (named === undefined) {
    return draft.refuse("other", `${place}: ${quote(JSON.stringify(value))}`, "it has no name, no title and no text");
  }
  if (isDeleted(value)) return draft.refuseMemory({ place, name: named, id }, "it is marked as deleted");
  const filed = takeFiled(fields);
  const nested = fields.takeAll((field) => NESTED_RELATIONS.has(field.name) && typeof field.value === "object");
  // Of a record that has only an id for a name, the first text says more than a UUID.
  const first = named === id && UUID.test(id) ? fields.firstText() : undefined;
  const name = first === undefined ? named : titleOf([first]);
  const grows = first === undefined && (!found?.isProse || (called !== undefined && kind.isNamed));
  const kept = takeKept(value, fields, { clientId: takeClientId(fields, tool, id), grows });
  leaveToService(fields, draft);
  if (tool) leaveOutDerived(tool, fields, draft);
  if (identifier && id !== name && kept.clientId !== id) draft.notCarry(identifier.label);
  const tellsApart = !kind.isKnownByName && OWN_NAMES.has(plainName(called?.label ?? ""));
  const entry = draft.addMemory({
    place,
    name,
    id,
    ownId: tellsApart ? id : undefined,
    otherId: tool?.alsoNamed === undefined ? undefined : new Fields(value).take([tool.alsoNamed], asKey),
    ...filed,
    kept,
    grows,
    ...contentsOf(found?.lines ?? [], fields.rest(), grows && kind.isFact),
  });
  for (const field of nested) readNested(field, { place, draft, entry, name });
}

type Kind = ReturnType<typeof kindOf>;

/** What a record is, by the fields that it has before any is taken. */
const kindOf = (value: JsonObject, fields: Fields) => ({
  tool: toolOf(value),
  /** Whether it has a text of its own. A name in the metadata is not its name then: several texts may have that. */
  hasText: hasText(value),
  /** A text with a topic is one of several; so is one with a title. */
  isNamed: fields.has(["name", "entityname", "entity", "observation", "fact"], asKey),
  /** Memory servers know their entities by name, and several texts may be about one thing: then an id says nothing. */
  isKnownByName: fields.has(["observations", "entitytype", "observation", "fact"], (field) => field),
  isFact: fields.has(["observation", "fact"], asText),
});

/** Takes what a record is called, its text and its id. */
function takeSaid(fields: Fields, { tool, hasText: isOwn }: Kind) {
  const called = fields.takeLabelled(NAMES, asKey, { isOwn });
  const found =
    fields.take(tool?.text === undefined ? [] : [tool.text], asLines) ??
    fields.take(TEXTS, asLines) ??
    (called ? undefined : fields.take(["summary"], asLines, { isOwn: true }));
  if (found) fields.takeAll((field) => isRepeat(field, found));
  return { called, found, identifier: fields.takeLabelled(IDS, asKey, { isOwn }) };
}

/** Takes by what a memory is filed. */
function takeFiled(fields: Fields): Pick<FoundMemory, "type" | "tags" | "summary" | "importance"> {
  const labels = fields.take(["labels"], asTexts) ?? [];
  return {
    type: fields.take(TYPES, asText) ?? labels.find((label) => shapeOf(label.toLowerCase()) === undefined),
    tags: [...labels, ...(fields.take(TAGS, asTexts) ?? [])],
    summary: fields.take(["summary"], asSummary),
    importance: fields.take(["importance"], asShare),
  };
}

/** The id that the tool says is the client's, otherwise the record's own if it is a UUID. */
function takeClientId(fields: Fields, tool: ToolFormat | undefined, id: string | undefined): string | undefined {
  const own = tool?.clientId === undefined ? undefined : fields.take([tool.clientId], asText);
  return own ?? (id !== undefined && UUID.test(id) ? id : undefined);
}

/** Of several facts about one thing, each keeps its own fields. */
const contentsOf = (texts: readonly string[], details: readonly string[], isFact: boolean) =>
  isFact ? { texts: [besideText(texts.join("\n"), details)], details: [] } : { texts, details };

/** A tool rewrites the times of an entity, so they are those of its last change, and stay in its lines. */
const UPDATED_ENTITY = ["updatedat", "updatedatiso"];

/** What marks a record that its tool has deleted, and only still has or tells of, as mem0 when it adds others. */
const DELETED: ReadonlyMap<string, readonly unknown[]> = new Map([
  ["isdeleted", [true, 1]],
  ["state", ["deleted"]],
  ["event", ["DELETE"]],
]);

const isDeleted = (value: JsonObject): boolean =>
  Object.entries(value).some(([label, field]) => {
    const name = plainName(label);
    return name === "deletedat" ? asTime(field) !== undefined : DELETED.get(name)?.includes(field);
  });

/** A memory that grows keeps its context and confidence as lines, so that a later import can add others. */
function takeKept(value: JsonObject, fields: Fields, { clientId, grows }: Kept & { grows: boolean }): Kept {
  const context = value["context"];
  const isContext = isObject(context) && !grows && hasText(value) && fitsContext(context);
  if (isContext) fields.takeWithin("context");
  const times = timesOf(
    fields.take(CREATED, asPast) ?? (grows ? undefined : takeTime(fields)),
    fields.take(grows ? UPDATED_ENTITY : UPDATED, asPast),
  );
  // The service lets nobody store what has expired already, except together with the time when it was stored.
  const isKept = (end: Date) => times.createdAt !== undefined || end.getTime() > Date.now();
  const asExpiry = (value: unknown) => [asEnd(value)].find((end) => end && isKept(end));
  return {
    context: isContext && Object.keys(context).length > 0 ? context : undefined,
    clientId,
    confidence: grows ? undefined : fields.take(["confidence"], asShare),
    ...times,
    expiresAt: fields.take(["expiresat", "expirationdate"], asExpiry),
  };
}

/** A time, or the end of a day: what mem0 lets expire on a day holds until that day is over. */
const asEnd = (value: unknown): Date | undefined => {
  const time = asTime(value);
  return typeof value === "string" && /^\s*\d{4}-\d\d-\d\d\s*$/.test(value) && time
    ? new Date(time.getTime() + DAY_MS - 1_000)
    : time;
};

/** The time of a text. A date may also be that of an event, so it stays in the text. */
const takeTime = (fields: Fields): Date | undefined =>
  fields.take(["timestamp", "ts", "datetime"], asPast, { isOwn: true }) ?? fields.first(["date"], asPast);

/** A field of another name with so few characters may say the same by chance, as an author does of a text "Ann". */
const REPEATED_LEAST = 40;

/** Whether a nested object has the text of the record once more. */
const isRepeat = ({ name, value, isInner }: Field, { lines }: Lines): boolean => {
  if (!isInner) return false;
  const text = lines.join("\n");
  return (TEXTS.includes(name) || text.length >= REPEATED_LEAST) && asText(value) === text;
};

/** Whether a record itself has a text, not only a nested object of it. */
const hasText = (value: JsonObject): boolean => new Fields(value).has(TEXTS, asLines);

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
  return text === undefined ? rest : [besideText(text, rest)];
}

const besideText = (text: string, fields: readonly string[]): string =>
  fields.length > 0 ? `${text} (${fields.join("; ")})` : text;

/** The first line of a text, without the mark of a heading. */
const titleOf = (lines: readonly string[]): string => {
  const line = lines.join("\n").trim().split("\n")[0] ?? "";
  return cut(line.replace(/^#{1,6}\s+(?=\S)/, ""), TITLE_FROM_TEXT).trim();
};

function toolOf(value: JsonObject): ToolFormat | undefined {
  const names = new Set(Object.keys(value).map(plainName));
  return TOOLS.find(({ recognises }) => recognises(names));
}

function leaveOutDerived({ derived, isNested = false }: ToolFormat, fields: Fields, draft: GraphDraft): void {
  const isDerived = ({ name, value, isInner }: Field) =>
    (isNested || !isInner) && derived.has(name) && showValue(value) !== "";
  for (const { label } of fields.takeAll(isDerived)) draft.notCarry(label);
}
