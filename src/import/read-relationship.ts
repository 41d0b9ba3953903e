import type { GraphDraft } from "./draft.js";
import { type Field, Fields, asKey, asPast, asShare, asText, showValue } from "./fields.js";
import { FROM, IDS, NAMES, OBJECT, OTHER_END, RELATION_TYPES, SUBJECT, TARGETS, TO, shapeOf } from "./names.js";
import type { Entry } from "./note.js";
import { type JsonObject, isObject, quote } from "./text.js";
import type { ObjectRecord } from "./record-reader.js";
import { leaveToService } from "./service-fields.js";

/** The end of a relationship: a name or id, or an object with one. */
export const asEnd = (value: unknown): string | undefined =>
  isObject(value) ? new Fields(value).take([...NAMES, ...IDS], asKey) : asKey(value);

interface Owner {
  readonly place: string;
  readonly draft: GraphDraft;
  readonly entry: Entry | undefined;
  readonly name: string;
}

/** Reads the relationships inside a memory: objects, names, or names by type. */
export function readNested({ label, value }: Field, owner: Owner): void {
  const { place, draft, entry } = owner;
  const readNames = (type: string, names: unknown) => {
    for (const to of Array.isArray(names) ? names : [names]) {
      const key = asKey(to);
      if (isObject(to)) readEnds(to, { ...owner, place: `${place}.${label}` }, type);
      else if (key !== undefined && entry) {
        const line = { of: entry, text: `${type}: ${key}` };
        draft.addRelationship({ place, from: entry, to: key, type, context: [], line });
      } else if (showValue(to) !== "") {
        draft.refuse("relationship", `${place}.${label}: ${quote(JSON.stringify(to))}`, "it names no memory");
      }
    }
  };
  if (!isObject(value)) return readNames(label, value);
  if (new Fields(value).has(OTHER_END, asEnd)) return readEnds(value, { ...owner, place: `${place}.${label}` }, label);
  for (const [type, names] of Object.entries(value)) readNames(type, names);
}

function readEnds(value: JsonObject, { place, draft, entry, name }: Owner, type: string): void {
  const fields = new Fields(value);
  fields.takeAll((field) => field.name === "type" && shapeOf(field.value) !== undefined);
  readRelationship({ place, value }, fields, draft, { end: entry ?? name, type });
}

/**
 * Adds a relationship to the draft.
 * @param owner the memory that contains it, or its name if it is not stored, and the name of the list there.
 */
export function readRelationship(
  { place, value }: ObjectRecord,
  fields: Fields,
  draft: GraphDraft,
  owner?: { readonly end: string | Entry; readonly type: string },
): void {
  const { from, to } = takeEnds(fields, owner !== undefined);
  const [fromKey, toKey] = [from?.key ?? owner?.end, to?.key ?? owner?.end];
  if (fromKey === undefined || toKey === undefined || (!from && !to)) {
    const missing = [from ? "" : "from", to ? "" : "to"].filter(Boolean).join(" and ");
    return draft.refuse("relationship", `${place}: ${quote(JSON.stringify(value))}`, `it has no field ${missing}`);
  }
  const said = fields.take(RELATION_TYPES, asText);
  const strength = fields.take(["strength", "weight", "similarity"], asShare);
  const confidence = fields.take(["confidence", "certainty"], asShare);
  const context = fields.take(["context"], asText);
  const createdAt = fields.take(["createdat"], asPast);
  leaveToService(fields, draft);
  for (const { label } of fields.takeAll(saysNothing)) draft.notCarry(label);
  draft.addRelationship({
    place,
    from: fromKey,
    to: toKey,
    type: said ?? owner?.type ?? "related to",
    strength,
    confidence,
    createdAt,
    context: [context ?? [], from?.rest ?? [], to?.rest ?? [], fields.rest()].flat(),
  });
}

/** Whether a field says nothing here: an id, or the count 1 that MemoryGraph gives every relationship at first. */
const saysNothing = ({ name, value, isInner }: Field): boolean =>
  (["id", "uuid"].includes(name) && !isInner) || (name === "evidencecount" && value === 1);

/** @param isOwned whether a memory contains it, which is one of the ends by default. */
function takeEnds(fields: Fields, isOwned: boolean) {
  // Beside a subject and an object, a source without a target is where the statement was found.
  const isStatement = [SUBJECT, OBJECT].every((name) => fields.has([name], asEnd)) && !fields.has(TARGETS, asEnd);
  const ends = isStatement ? { from: [SUBJECT], to: [OBJECT] } : { from: FROM, to: TO };
  const from = takeEnd(fields, ends.from, "from");
  return { from, to: takeEnd(fields, isOwned && !from ? OTHER_END : ends.to, "to") };
}

/** Takes an end; its other fields stay with the relationship. */
function takeEnd(fields: Fields, names: readonly string[], label: string) {
  return fields.take(names, (value) => {
    const end = isObject(value) ? new Fields(value) : undefined;
    const key = end ? end.take([...NAMES, ...IDS], asKey) : asKey(value);
    return key === undefined ? undefined : { key, rest: end?.rest().map((line) => `${label}.${line}`) ?? [] };
  });
}
