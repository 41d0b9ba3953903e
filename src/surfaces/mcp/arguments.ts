import { LIMITS } from "../../limits.js";
import { assertJsonFits } from "../json-bounds.js";
import type { JsonSchema, PlainField } from "../json-schema.js";

/**
 * Converts arguments as an agent's model writes them to what the tool takes, wherever only one meaning is possible:
 * each refusal costs the agent a call, and some models repeat the same form. All else is refused with a message.
 */

type Arguments = Readonly<Record<string, unknown>>;

/**
 * The arguments of a call, also if they are sent as one text: some clients pass on what the model wrote, or what it
 * wrote as JSON within JSON. Anything else is returned as it is, to be refused.
 */
export function wholeArguments(given: unknown): unknown {
  if (typeof given !== "string") return given ?? {};
  return given.trim() === "" ? {} : (parse(given) ?? given);
}

interface Reading {
  /** Whether the tool only reads. Then empty values are left out; in a change they may clear a field. */
  readonly isReading: boolean;
}

/** Converts arguments to the forms of their fields, without those that are empty. Keeps unknown ones, to be refused. */
export function readArguments(args: Arguments, fields: readonly PlainField[], reading: Reading): Arguments {
  const known = new Map(fields.map((field) => [field.name, field]));
  const read = Object.entries(args).map(([name, value]) => {
    const field = known.get(name);
    return [name, field ? readValue(value, field, reading) : value, field] as const;
  });
  // Null for a field that has no null shows that the client sends null for everything that its model has left out.
  const isFilledUp = read.some(([, value, field]) => value === null && field?.nullable === false);
  const clears = !reading.isReading && !isFilledUp;
  const said = read.filter(
    ([, value, field]) => !field || field.required || !saysNothing(value, field, { ...reading, clears }),
  );
  return Object.fromEntries(said.map(([name, value]) => [name, value]));
}

interface Saying extends Reading {
  /** Whether null clears a field that may be null. */
  readonly clears: boolean;
}

/** Some clients send every field that exists: null, `""`, `[]` or `[""]` stands for one that the model has left out. */
function saysNothing(value: unknown, { nullable, schema }: PlainField, { isReading, clears }: Saying): boolean {
  if (value === null) return !nullable || !clears;
  if (value === "") return isReading || !isFreeText(schema);
  return isReading && Array.isArray(value) && value.every((item) => typeof item === "string" && item.trim() === "");
}

/** Whether a text may say anything, also `null`. */
const isFreeText = (schema: JsonSchema): boolean =>
  schema.type === "string" && !("enum" in schema) && !("format" in schema);

function readValue(given: unknown, { name, schema }: PlainField, { isReading }: Reading): unknown {
  const value = asText(isListOfOne(given, schema) ? given[0] : given, schema);
  const read = typeof value === "string" ? readText(value, schema) : value;
  if (schema["format"] === "date-time") return isReading ? completeTime(read) : completeEnd(read);
  if (isIdName(name)) return bareId(read);
  if (!Array.isArray(read)) return inForm(read, schema);
  // Too long: refused later, whatever its items are.
  if (read.length > LIMITS.text.itemsUnlessDeclared) return read;
  const { items = {} } = schema;
  return read.map((item) => inForm(asText(item, items), items));
}

/** `["a"]` for an input that takes one value. */
const isListOfOne = (value: unknown, { type }: JsonSchema): value is readonly unknown[] =>
  Array.isArray(value) && value.length === 1 && type !== "array" && type !== "object";

/** `404` for an input that takes a text, or a list of them. Fractions stay: `1.10` has become 1.1. */
const asText = (value: unknown, { type }: JsonSchema): unknown =>
  (type === "string" || type === "array") && Number.isSafeInteger(value) ? String(value) : value;

/** Reads a text as null, or the list, object or number that the tool takes; returns it as it is if that fails. */
function readText(text: string, schema: JsonSchema): unknown {
  if (isFreeText(schema) || text.length > LIMITS.mcp.otherFormLength) return text;
  const plain = text.trim();
  if (plain === "") return text;
  const parsed = parse(plain);
  if (parsed === null) return null;
  const { type } = schema;
  if (type === "string") return text;
  if (type === "array") return Array.isArray(parsed) ? parsed : splitList(plain);
  const isFitting = type === "object" ? typeof parsed === "object" : typeof parsed === "number";
  return isFitting ? parsed : text;
}

/** Parses JSON within the bounds of a body, which did not see inside this text; undefined if that fails. */
function parse(text: string): unknown {
  try {
    assertJsonFits(Buffer.from(text));
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const splitList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);

/** Other words for a choice: which way to follow relationships. */
const OTHER_CHOICES: ReadonlyMap<string, string> = new Map(
  Object.entries({ both: "any", all: "any", outgoing: "out", incoming: "in", outbound: "out", inbound: "in" }),
);

/** Converts a name such as `Code Pattern` or `solves` to the tool's own form of it. */
function inForm(value: unknown, { pattern, enum: choices }: JsonSchema): unknown {
  if (typeof value !== "string") return value;
  if (value.length > LIMITS.mcp.otherNameLength) return value;
  const isRight = (text: string): boolean =>
    choices ? choices.includes(text) : typeof pattern !== "string" || new RegExp(pattern).test(text);
  const name = value.trim().replaceAll(/[\s-]+/g, "_");
  const meant = OTHER_CHOICES.get(name.toLowerCase());
  return [value, name.toLowerCase(), name.toUpperCase(), ...(choices && meant ? [meant] : [])].find(isRight) ?? value;
}

/** Whether an argument is the id of a memory. */
export const isIdName = (name: string): boolean => /(^|_)id$/.test(name);

const QUOTED_ID = /^\W*([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\W*$/i;

/** Removes the quotes, brackets or spaces that a model has copied together with an id. */
const bareId = (value: unknown): unknown =>
  (typeof value === "string" && value.length <= LIMITS.mcp.otherNameLength && QUOTED_ID.exec(value)?.[1]) || value;

const DAY = /^\d{4}-\d\d-\d\d$/;
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)? ?(?:(Z|UTC)|([+-]\d\d):?(\d\d))?)?$/i;

/** Completes a day, and a time without seconds or zone, as UTC. */
function completeTime(value: unknown, zoneUnlessGiven = "Z"): unknown {
  const [, day, time = "00:00", seconds = ":00", utc, hours, minutes] =
    (typeof value === "string" && TIME.exec(value.trim())) || [];
  if (day === undefined) return value;
  const zone = hours === undefined ? utc && "Z" : `${hours}:${minutes}`;
  return `${day}T${time}${seconds}${zone ?? zoneUnlessGiven}`;
}

/** In a change, a day is its end: what holds until a day holds to its end. A time must have its zone there. */
const completeEnd = (value: unknown): unknown =>
  typeof value === "string" && DAY.test(value.trim()) ? `${value.trim()}T23:59:59Z` : completeTime(value, "");
